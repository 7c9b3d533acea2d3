import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Interposer } from '@tiered/interpose';
import { expect, it } from 'vitest';
import {
  describeShim,
  makeDataset,
  opensOf,
  run,
  serve,
  temporaryDirectory,
  type Dataset,
} from './helpers.js';

/**
 * Opens a copy, asks about it, and closes it inside of the C library, where no shim sees it. What comes next
 * gets its number.
 */
const REUSED = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.fileno.argtypes = libc.fclose.argtypes = [ctypes.c_void_p]
name = sys.argv[1].encode()
# The first time it is not known yet that this process asks.
for _ in range(2):
  stream = libc.fopen(name, b"r")
  fd = libc.fileno(stream)
  asked = os.fstat(fd)
  libc.fclose(stream)
  other = os.memfd_create("other")
  os.ftruncate(other, asked.st_size)
  found, real = os.fstat(other), os.stat(f"/proc/self/fd/{other}")
  print(other == fd, asked.st_ino == os.stat(name).st_ino, found.st_ino == real.st_ino, found.st_mtime_ns == real.st_mtime_ns)
  os.close(other)
`;

/** Says whether a descriptor is one of a copy, and what it is told of it. */
const TELL = `
import os, socket, subprocess, sys
def tell(fd):
  s = os.fstat(fd)
  print(os.readlink(f"/proc/self/fd/{fd}") != sys.argv[1], s.st_ino, s.st_mode, s.st_mtime_ns, flush=True)
`;
const PYTHON_OPEN = `${TELL}
fd = os.open(sys.argv[1], os.O_RDONLY)
`;

/** Descriptors of copies that were not opened where they are used. */
const GIVEN: Readonly<Record<string, string>> = {
  'a descriptor that it inherits': `${PYTHON_OPEN}
subprocess.run([sys.executable, "-c", ${JSON.stringify(`${TELL}tell(int(sys.argv[2]))`)}, sys.argv[1], str(fd)], pass_fds=[fd])`,
  'a descriptor that it was sent, with the number of another one': `${PYTHON_OPEN}
# Takes a number, so that the one that comes is known to be of another file.
(one, other), low = socket.socketpair(), os.open("/etc/passwd", os.O_RDONLY)
os.close(low)
socket.send_fds(one, [b"-"], [fd])
received = socket.recv_fds(other, 1, 1)[1][0]
assert received == low
tell(received)`,
  'its standard input, after a child with another one': `${PYTHON_OPEN}
os.dup2(fd, 0)
subprocess.run(["true"], input=b"-", close_fds=False)
tell(0)`,
};

const NODE = `
const fs = require('node:fs');
const told = ({ ino, mode, mtimeNs }) => [ino, mode, mtimeNs].join();
const names = process.argv.slice(1);
console.log(names.map((name) => told(fs.fstatSync(fs.openSync(name), { bigint: true }))).join());
(async () => {
  const blobs = await Promise.all(names.map((name) => fs.openAsBlob(name)));
  const read = await Promise.all(blobs.map((blob) => blob.arrayBuffer()));
  console.log(Buffer.concat(read.map((bytes) => Buffer.from(bytes))).toString('hex'));
})();
`;

const KEYS = ['a.bin', 'Train/Image 1.JPG', 'train/é.png', 'deep/er/b.bin'];

/** Programs that every machine has. Each gives the bytes that it read, one file behind the other. */
const PROGRAMS: Readonly<
  Record<string, (run: Run, files: readonly string[], dataset: Dataset) => Promise<Buffer>>
> = {
  cat: (call, files) => call('cat', files),
  dd: async (call, files) =>
    Buffer.concat(await all(files, (file) => call('dd', [`if=${file}`, 'status=none', 'bs=4096']))),
  cp: async (call, files) => {
    const to = temporaryDirectory();
    await call('cp', ['--', ...files, to]);
    return Buffer.concat(files.map((file) => fs.readFileSync(path.join(to, path.basename(file)))));
  },
  'cp --preserve': async (call, files) => {
    const to = temporaryDirectory();
    await call('cp', ['--preserve=mode,timestamps', '--', ...files, to]);
    for (const file of files) {
      const [copy, source] = [fs.statSync(path.join(to, path.basename(file))), fs.statSync(file)];
      expect([copy.mode, copy.mtimeMs]).toEqual([source.mode, source.mtimeMs]);
    }
    return Buffer.concat(files.map((file) => fs.readFileSync(path.join(to, path.basename(file)))));
  },
  'python open': (call, files) => python(call, 'sys.stdout.buffer.write(open(name, "rb").read())', files),
  'python mmap': (call, files) =>
    python(
      call,
      'import mmap; f = open(name, "rb"); sys.stdout.buffer.write(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))',
      files,
    ),
  'python os.pread': (call, files) =>
    python(call, 'import os; sys.stdout.buffer.write(os.pread(os.open(name, os.O_RDONLY), 10**6, 0))', files),
  'python shutil.copyfile': (call, files) => {
    const to = path.join(temporaryDirectory(), 'copy');
    return python(
      call,
      `import shutil; shutil.copyfile(name, ${JSON.stringify(to)}); sys.stdout.buffer.write(open(${JSON.stringify(to)}, "rb").read())`,
      files,
    );
  },
  'python multiprocessing': (call, files) =>
    call('python3', [
      '-c',
      'import sys, multiprocessing as m\ndef read(name): return open(name, "rb").read()\nif __name__ == "__main__":\n  with m.get_context("fork").Pool(2) as pool: [sys.stdout.buffer.write(b) for b in pool.map(read, sys.argv[1:])]',
      ...files,
    ]),
  'python subprocess': (call, files) =>
    python(
      call,
      'import subprocess; sys.stdout.buffer.write(subprocess.run(["cat", name], stdout=subprocess.PIPE).stdout)',
      files,
    ),
  node: (call, files) =>
    call(process.execPath, [
      '-e',
      'for (const name of process.argv.slice(1)) process.stdout.write(require("fs").readFileSync(name))',
      ...files,
    ]),
  'node promises': (call, files) =>
    call(process.execPath, [
      '-e',
      '(async () => { for (const name of process.argv.slice(1)) process.stdout.write(await require("fs").promises.readFile(name)); })()',
      ...files,
    ]),
  'sh redirection': (call, files) => call('sh', ['-c', 'for name; do cat < "$name"; done', 'sh', ...files]),
};

type Run = (file: string, args: readonly string[]) => Promise<Buffer>;

const all = async <T, R>(items: readonly T[], one: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  for (const item of items) results.push(await one(item));
  return results;
};

const python = (call: Run, statement: string, files: readonly string[]): Promise<Buffer> =>
  call('python3', ['-c', `import sys\nfor name in sys.argv[1:]:\n  ${statement}`, ...files]);

async function served(): Promise<{
  dataset: Dataset;
  interposer: Interposer;
  files: string[];
  bytes: Buffer;
}> {
  const dataset = makeDataset(KEYS, { bytes: 70_000 });
  const interposer = await serve(dataset);
  const files = KEYS.map((key) => path.join(dataset.source, key));
  return { dataset, interposer, files, bytes: Buffer.concat(files.map((file) => fs.readFileSync(file))) };
}

describeShim('a program that was not changed', () => {
  it.each(Object.entries(PROGRAMS))('[I1] reads the same bytes from copies: %s', async (_, program) => {
    const { dataset, interposer, files, bytes } = await served();
    const call: Run = async (file, args) => Buffer.from(await run(interposer, file, args), 'latin1');
    const first = await opensOf(interposer, () => program(call, files, dataset));
    expect(Buffer.compare(first.result, bytes)).toBe(0);
    expect([first.source, first.copies]).toEqual([4, 0]);
    await interposer.idle();
    // Now from copies; and once more, when what is said of them is known.
    for (let epoch = 0; epoch < 2; epoch++) {
      const later = await opensOf(interposer, () => program(call, files, dataset));
      expect(Buffer.compare(later.result, bytes)).toBe(0);
      expect([later.source, later.copies]).toEqual([0, 4]);
    }
  });

  it('[I1] is told of the file that it asks about, also where a number of a copy was used again', async () => {
    const { interposer, files } = await served();
    for (const key of KEYS) await interposer.hierarchy.place(key);
    await interposer.idle();
    // What is known of files is told after the first open of their copies.
    for (let epoch = 0; epoch < 2; epoch++) await run(interposer, 'cat', files);
    await interposer.idle();
    expect(await run(interposer, 'python3', ['-c', REUSED, files[0] ?? ''])).toBe(
      'True True True True\n'.repeat(2),
    );
  });

  it('[I1] is told of the source by Node, which reads blobs of copies', async () => {
    const { interposer, files, bytes } = await served();
    for (const key of KEYS) await interposer.hierarchy.place(key);
    await interposer.idle();
    const { result, copies } = await opensOf(interposer, () =>
      run(interposer, process.execPath, ['-e', NODE, ...files]),
    );
    const [told = '', read = ''] = result.split('\n');
    const asked = files.map((file) => fs.statSync(file, { bigint: true }));
    expect(told).toBe(asked.map(({ ino, mode, mtimeNs }) => [ino, mode, mtimeNs].join()).join());
    expect(read).toBe(bytes.toString('hex'));
    expect(copies).toBeGreaterThanOrEqual(2 * KEYS.length);
  });

  it.each(Object.entries(GIVEN))('[I1] is told of the source by %s', async (_, script) => {
    const { interposer, files } = await served();
    await interposer.hierarchy.place(KEYS[0] ?? '');
    await interposer.idle();
    const [file = ''] = files;
    const told = await run(interposer, 'python3', ['-c', `${script}\n`, file]);
    const { ino, mode, mtimeNs } = fs.statSync(file, { bigint: true });
    expect(told).toBe(`True ${ino} ${mode} ${mtimeNs}\n`);
  });

  it('[I1] is told the same of a file for as long as it is open, also when its copy goes', async () => {
    const { dataset, interposer, files } = await served();
    await interposer.hierarchy.place(KEYS[0] ?? '');
    const script = `
import os, shutil, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
first = os.fstat(fd)
sys.stdin.readline()
print(os.path.realpath(f"/proc/self/fd/{fd}").startswith(sys.argv[2]), os.fstat(fd) == first, first.st_nlink)
shutil.rmtree(sys.argv[2])
print(os.fstat(fd) == first)
`;
    const running = execFile('python3', ['-c', script, files[0] ?? '', dataset.tiers[0] ?? ''], {
      env: interposer.environment(),
    });
    // When it is known what is said of its file.
    await interposer.idle();
    running.stdin?.end('\n');
    let said = '';
    for await (const text of running.stdout ?? []) said += String(text);
    expect(said).toBe('True True 1\nTrue\n');
  });

  it('[I1] packs the same archive', async () => {
    const { dataset, interposer } = await served();
    for (const key of KEYS) await interposer.hierarchy.place(key);
    await interposer.idle();
    const archive = (env: NodeJS.ProcessEnv) =>
      promisify(execFile)(
        'tar',
        ['-c', '--format=pax', '--pax-option=delete=atime,delete=ctime', '-C', dataset.source, '.'],
        { env, encoding: 'buffer', maxBuffer: 2 ** 28 },
      );
    const plain = await archive(process.env);
    const { result: under, copies } = await opensOf(interposer, () => archive(interposer.environment()));
    expect(under.stderr.toString()).toBe('');
    expect(Buffer.compare(under.stdout, plain.stdout)).toBe(0);
    expect(copies).toBe(4);
  });
});
