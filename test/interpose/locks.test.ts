import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  describeShim,
  makeDataset,
  opensOf,
  run,
  serve,
  temporaryDirectory,
} from '../../packages/interpose/test/helpers.js';
import { LineProcess } from '../../tools/processes/line-process.js';

const KEY = 'train/a';
const OFFSET = 100;

/** Answers each line with the value of the expression that it is. */
const EVALUATE = `
import fcntl, os, struct, sys
def error_of(work, *arguments):
    try: return work(*arguments)
    except OSError as e: return type(e).__name__
# What the C library asks the kernel for, by way of the shim.
def record(fd, kind): return fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack('hhqqi4x', kind, 0, 0, 0, 0)) and None
for line in sys.stdin: print(repr(eval(line)), flush=True)
`;

/** A file that has a copy, and who asks about it, with the shim and without. */
async function served(tier?: string) {
  const dataset = makeDataset([KEY]);
  const tiers = tier === undefined ? dataset.tiers : [tier];
  const interposer = await serve({ source: dataset.source, tiers });
  await interposer.hierarchy.place(KEY);
  await interposer.idle();
  const asking = async (environment: NodeJS.ProcessEnv) => {
    const child = await LineProcess.start({ command: 'python3', arguments: ['-c', EVALUATE], environment });
    onTestFinished(() => child.close());
    return (expression: string) => child.ask(expression);
  };
  return {
    interposer,
    tiers,
    file: path.join(dataset.source, KEY),
    bytes: dataset.contents.get(KEY) ?? Buffer.alloc(0),
    under: () => asking(interposer.environment()),
    plain: () => asking({}),
  };
}

describeShim('a lock on a file of which a program reads the copy', () => {
  const WAYS: readonly [string, string, string][] = [
    [
      'flock',
      'fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)',
      'fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB',
    ],
    ['fcntl', 'record(fd, fcntl.F_RDLCK)', 'record, fd, fcntl.F_WRLCK'],
    [
      'lockf',
      'fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)',
      'fcntl.lockf, fd, fcntl.LOCK_EX | fcntl.LOCK_NB',
    ],
  ];

  it.each(WAYS)('[I9] is one on the file of the source: %s', async (_, lock, other) => {
    const { file, bytes, under, plain, tiers } = await served();
    const [ask, others] = [await under(), await plain()];
    await ask(`(fd := os.open("${file}", os.O_RDONLY))`);
    expect(await ask('os.readlink(f"/proc/self/fd/{fd}")')).toContain(tiers[0]);
    await ask(`os.lseek(fd, ${OFFSET}, 0)`);
    expect(await ask(lock)).toBe('None');
    await others(`(fd := os.open("${file}", os.O_RDWR))`);
    expect(await others(`error_of(${other})`)).toBe("'BlockingIOError'");
    // It is where it was, and what names an offset is read on the tier.
    expect(await ask('os.read(fd, 20).hex()')).toBe(`'${bytes.toString('hex', OFFSET, OFFSET + 20)}'`);
    const opened = `[p for n in os.listdir("/proc/self/fd") if (p := os.path.realpath(f"/proc/self/fd/{n}")).startswith("${tiers[0] ?? ''}/")]`;
    expect(await ask(`len(${opened})`)).toBe('0');
    expect(await ask('os.pread(fd, 20, 0).hex()')).toBe(`'${bytes.toString('hex', 0, 20)}'`);
    expect(await ask(`len(${opened})`)).toBe('1');
    await ask('os.close(fd)');
    expect(await others(`error_of(${other})`)).toBe('None');
  });

  it('excludes those who inherited the descriptor of a copy', async () => {
    const { interposer, file } = await served();
    const script = 'exec 8<"$0" 9<"$0"; flock -n 8 && ! flock -n 9 && flock -u 8 && flock -n 9 && echo right';
    expect(await run(interposer, 'sh', ['-c', script, file])).toBe('right\n');
  });
});

describeShim('a file of which a program reads the copy', () => {
  it('[I2] is copied within the file system of the source as without the shim', async () => {
    const tier = path.join(fs.mkdtempSync('/dev/shm/tiered-test-'), 'tier');
    onTestFinished(() => fs.rmSync(path.dirname(tier), { recursive: true }));
    const { interposer, file, bytes } = await served(tier);
    const to = path.join(path.dirname(file), '../../copied');
    const script = `
import os, sys
source, to = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o600)
print(os.readlink(f"/proc/self/fd/{source}"))
os.lseek(source, ${OFFSET}, 0)
print(os.copy_file_range(source, to, 50), os.lseek(source, 0, 1), os.copy_file_range(source, to, 10, 0), os.lseek(source, 0, 1))
`;
    const { result, copies } = await opensOf(interposer, () =>
      run(interposer, 'python3', ['-c', script, file, to]),
    );
    expect([result, copies]).toEqual([expect.stringContaining(`\n50 ${OFFSET + 50} 10 ${OFFSET + 50}\n`), 1]);
    expect(result).toContain(tier);
    const expected = Buffer.concat([bytes.subarray(OFFSET, OFFSET + 50), bytes.subarray(0, 10)]);
    expect(fs.readFileSync(to).equals(expected)).toBe(true);
  });

  it('[I2] is run as without the shim', async () => {
    const { interposer, source } = await programs();
    const script = `
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
sys.stderr.write(os.readlink(f"/proc/self/fd/{fd}"))
os.set_inheritable(fd, True)
os.execve(fd, ["it", "works"], os.environ)
`;
    for (const name of ['echo', 'script']) {
      const file = path.join(source, name);
      const read = () => run(interposer, 'python3', ['-c', script, file]);
      expect(await opensOf(interposer, read)).toMatchObject({ result: 'works\n', copies: 1 });
    }
  });

  /** A source of programs, which have copies. */
  async function programs() {
    const above = temporaryDirectory();
    const source = path.join(above, 'source');
    fs.mkdirSync(source);
    fs.copyFileSync(execFileSync('which', ['echo'], { encoding: 'utf8' }).trim(), path.join(source, 'echo'));
    fs.writeFileSync(path.join(source, 'script'), '#!/bin/sh\necho "$1"\n', { mode: 0o700 });
    const interposer = await serve({ source, tiers: [path.join(above, 'tier')] });
    for (const name of ['echo', 'script']) await interposer.hierarchy.place(name);
    await interposer.idle();
    return { interposer, source };
  }
});
