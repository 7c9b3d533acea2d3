import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Interposer } from '@tiered/interpose';
import { expect, it, onTestFinished } from 'vitest';
import {
  describeShim,
  makeDataset,
  serve,
  temporaryDirectory,
} from '../../packages/interpose/test/helpers.js';
import { debianWith, INSTALL, pythonOf } from '../../tools/frameworks/environments.js';
import { LineProcess } from '../../tools/processes/line-process.js';

const KEYS = ['held', 'other'];
const BYTES = 10_000;
/** Seconds since 1970. */
const LONG_AGO = 1e9;

/** Answers each line with the value of the expression that it is. */
const EVALUATE = 'import ctypes, os, sys\nfor line in sys.stdin: print(repr(eval(line)), flush=True)';
/** Opens a file, and gives its bytes at the offset 100. */
const OPEN = (file: string) => `(fd := os.open("${file}", os.O_RDONLY))`;
const READ = 'os.pread(fd, 20, 100).hex()';
/** What a process has open on the tier. */
const TWINS = (tier: string) =>
  `sum(os.path.realpath(f"/proc/self/fd/{n}").startswith("${tier}/") for n in os.listdir("/proc/self/fd"))`;

interface Holding {
  readonly interposer: Interposer;
  readonly source: string;
  readonly tier: string;
  readonly ask: (expression: string) => Promise<string>;
  /** What `READ` gives of the source, as it was when it was copied, and as it is now. */
  readonly copied: string;
  readonly changed: string;
  /** Places the file; then changes the source's file, as nobody should, so that it shows who reads what. */
  readonly place: () => Promise<void>;
}

/** A program that has opened a file in the source, as `fd`. */
async function holding(open = OPEN): Promise<Holding> {
  const { source, tiers, contents } = makeDataset(KEYS, { bytes: BYTES });
  const [tier = ''] = tiers;
  // So that the time can be what it was, to the nanosecond, when the file was changed.
  const hide = () => fs.utimesSync(path.join(source, 'held'), LONG_AGO, LONG_AGO);
  hide();
  const interposer = await serve({ source, tiers });
  const child = await LineProcess.start({
    command: 'python3',
    arguments: ['-c', EVALUATE],
    environment: interposer.environment(),
  });
  onTestFinished(() => child.close());
  const ask = (expression: string) => child.ask(expression);
  await ask(open(path.join(source, 'held')));
  const copied = `'${contents.get('held')?.subarray(100, 120).toString('hex') ?? ''}'`;
  const changed = `'${Buffer.alloc(20, '-').toString('hex')}'`;
  const place = async () => {
    await interposer.hierarchy.place('held');
    await interposer.idle();
    const writable = fs.openSync(path.join(source, 'held'), 'r+');
    fs.writeSync(writable, Buffer.alloc(BYTES, '-'));
    fs.closeSync(writable);
    hide();
  };
  return { interposer, source, tier, ask, copied, changed, place };
}

/** The same, when the copy is being read. */
async function switched(): Promise<Holding> {
  const made = await holding();
  await made.place();
  expect(await made.ask(READ)).toBe(made.copied);
  expect(await made.ask(TWINS(made.tier))).toBe('1');
  return made;
}

describeShim('a file that is open when its copy comes', () => {
  it('[I9] is read there at offsets, and in the source else', async () => {
    const { ask, copied, changed, tier, place } = await holding();
    expect(await ask(TWINS(tier))).toBe('0');
    await place();
    for (let i = 0; i < 2; i++) expect(await ask(READ)).toBe(copied);
    expect(await ask('os.preadv(fd, [one := bytearray(7), two := bytearray(13)], 100)')).toBe('20');
    expect(await ask('(one + two).hex()')).toBe(copied);
    // What has an offset of its own stays where it is.
    expect(await ask('os.lseek(fd, 100, os.SEEK_SET)')).toBe('100');
    expect(await ask('os.read(fd, 20).hex()')).toBe(changed);
    expect(await ask('os.pread(fd, 20, os.fstat(fd).st_size)')).toBe("b''");
    expect(await ask(TWINS(tier))).toBe('1');
    expect(await ask('os.close(fd)')).toBe('None');
    expect(await ask(TWINS(tier))).toBe('0');
  });

  it('[I9] is the one of the source where somebody may write', async () => {
    const { ask, changed, place, tier } = await holding((file) => `(fd := os.open("${file}", os.O_RDWR))`);
    await place();
    expect(await ask(READ)).toBe(changed);
    expect(await ask(TWINS(tier))).toBe('0');
  });

  it.each([
    ['with a number of its own', '(fd := os.dup(fd))'],
    ['that gets its number', 'os.dup2(os.dup(fd), fd)'],
  ])('[I9] is read in the source by a duplicate %s', async (_, duplicate) => {
    const { ask, changed, tier } = await switched();
    await ask(duplicate);
    expect(await ask(READ)).toBe(changed);
    expect(await ask(TWINS(tier))).toBe(duplicate.includes('dup2') ? '0' : '1');
  });

  it('[I9] is read in the source once somebody has written to it', async () => {
    const { ask, source, copied } = await switched();
    expect(await ask(READ)).toBe(copied);
    fs.writeFileSync(path.join(source, 'held'), Buffer.alloc(BYTES, '+'));
    expect(await ask(READ)).toBe(`'${Buffer.alloc(20, '+').toString('hex')}'`);
  });

  it('[I9] is forgotten when its number is another file, though nobody saw it closed', async () => {
    const { ask, source } = await switched();
    const other = fs.readFileSync(path.join(source, 'other')).subarray(100, 120).toString('hex');
    await ask('(libc := ctypes.CDLL(None))');
    await ask('libc.syscall(3, fd)');
    // At the lowest number that is free.
    expect(await ask(`libc.syscall(2, b"${source}/other", 0) - fd`)).toBe('0');
    expect(await ask(READ)).toBe(`'${other}'`);
  });

  it('[I9] is read in the source when the program closed what it did not open', async () => {
    const { ask, source, changed, tier } = await switched();
    const twin = await ask(
      `next(int(n) for n in os.listdir("/proc/self/fd") if os.path.realpath(f"/proc/self/fd/{n}").startswith("${tier}/"))`,
    );
    await ask(`os.closerange(${twin}, ${twin} + 1)`);
    expect(await ask(READ)).toBe(changed);
    // Another file gets that number, and is neither read in its place nor closed.
    await ask(`os.dup2(os.open("${source}/other", os.O_RDONLY), ${twin})`);
    expect(await ask(READ)).toBe(changed);
    await ask('os.close(fd)');
    expect(await ask(`len(os.pread(${twin}, 5, 0))`)).toBe('5');
  });

  it('[I9] is read there by children too, and closed by each for itself', async () => {
    const { ask, copied, tier } = await switched();
    const child = `os.write(pipe[1], os.pread(fd, 20, 100)) and os.close(fd) or os._exit(${TWINS(tier)})`;
    await ask('(pipe := os.pipe())');
    await ask(`(child := os.fork()) or (${child})`);
    expect(await ask('os.waitpid(child, 0)[1]')).toBe('0');
    expect(await ask('os.read(pipe[0], 20).hex()')).toBe(copied);
    expect(await ask(READ)).toBe(copied);
    expect(await ask(TWINS(tier))).toBe('1');
  });

  it('[I9] is read in the source without a copy, and without a daemon', async () => {
    const { ask, copied, changed, place, interposer } = await holding();
    expect(await ask(READ)).toBe(copied);
    await place();
    await interposer.close();
    expect(await ask(READ)).toBe(changed);
  });

  const python = debianWith('numpy', 'h5py') ?? pythonOf('tensorflow');
  it.skipIf(python === undefined && process.env['CI'] !== 'true')(
    `[I9] is read there by h5py (needs ${INSTALL})`,
    async () => {
      const source = path.join(temporaryDirectory(), 'source');
      const file = path.join(source, 'a.h5');
      fs.mkdirSync(source);
      const make = `h5py.File("${file}", "w").create_dataset("x", data=numpy.arange(100_000)).file.close()`;
      await promisify(execFile)(python ?? INSTALL, ['-c', `import h5py, numpy; ${make}`]);
      // So that nobody sees that it is changed below.
      const hide = () => fs.utimesSync(file, LONG_AGO, LONG_AGO);
      hide();
      const interposer = await serve({ source, tiers: [path.join(path.dirname(source), 'tier')] });
      const child = await LineProcess.start({
        command: python ?? INSTALL,
        arguments: ['-c', EVALUATE.replace('import ', 'import h5py, ')],
        environment: interposer.environment(),
      });
      onTestFinished(() => child.close());
      expect(await child.ask(`(x := h5py.File("${file}")["x"]).size`)).toBe('100000');
      await interposer.hierarchy.place('a.h5');
      await interposer.idle();
      const bytes = fs.readFileSync(file);
      const at = bytes.indexOf(Buffer.from(BigInt64Array.of(77_777n, 77_778n).buffer));
      const writable = fs.openSync(file, 'r+');
      fs.writeSync(writable, Buffer.alloc(8), 0, 8, at);
      fs.closeSync(writable);
      hide();
      expect(await child.ask('int(x[77_777])')).toBe('77777');
    },
  );
});
