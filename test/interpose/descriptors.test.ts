import type { Interposer } from '@tiered/interpose';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { bucket, LEAVES_ALL } from '../../packages/interpose/test/bucket.js';
import { describeShim, makeDataset, run, serve } from '../../packages/interpose/test/helpers.js';
import { LineProcess } from '../../tools/processes/line-process.js';

/** Answers each line with the value of the expression that it is. */
const EVALUATE = `
import ctypes, errno, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
def error_of(work, *arguments):
    try: return work(*arguments)
    except OSError as e: return errno.errorcode[e.errno]
def creat(path):
    return os.strerror(ctypes.get_errno()) if libc.creat(path.encode(), 0o600) < 0 else 'made'
# Takes all the numbers that there are, and says what is open below the limit.
def take_all(limit):
    while error_of(os.dup, 0) != 'EMFILE': pass
    return [os.readlink(f'/proc/self/fd/{n}') for n in range(limit)]
for line in sys.stdin: print(repr(eval(line)), flush=True)
`;

const asking = async (interposer: Interposer, limits?: string) => {
  const python = ['python3', '-c', EVALUATE];
  const [command = '', ...args] =
    limits === undefined ? python : ['prlimit', `--nofile=${limits}`, ...python];
  const environment = interposer.environment();
  const child = await LineProcess.start({ command, arguments: args, environment });
  onTestFinished(() => child.close());
  return (expression: string) => child.ask(expression);
};

describeShim('the copy that a program has open', () => {
  it('[I11] is not written to by a name of its descriptor, but the file of the source is', async () => {
    const { source, tiers, contents } = makeDataset(['truncated', 'created']);
    const interposer = await serve({ source, tiers });
    for (const key of ['truncated', 'created']) await interposer.hierarchy.place(key);
    await interposer.idle();
    const ask = await asking(interposer);
    const open = (key: string) => ask(`(fd := os.open("${path.join(source, key)}", os.O_RDONLY))`);
    const read = () => ask('os.pread(fd, 10000, 0).hex()');
    const copied = (key: string) => `'${contents.get(key)?.toString('hex') ?? ''}'`;
    await open('truncated');
    expect(await ask('os.readlink(f"/proc/self/fd/{fd}")')).toContain(tiers[0]);
    expect(await ask('os.truncate(f"/dev/fd/{fd}", 7)')).toBe('None');
    expect([await read(), fs.statSync(path.join(source, 'truncated')).size]).toEqual([
      copied('truncated'),
      7,
    ]);
    await open('created');
    expect(await ask('creat(f"/proc/self/fd/{fd}")')).toBe("'made'");
    expect([await read(), fs.statSync(path.join(source, 'created')).size]).toEqual([copied('created'), 0]);
  });

  it.each([
    ['on a tier', {}],
    ['in the spool', { policy: LEAVES_ALL }],
  ])('[I11] is not written to where it is of an object %s', async (_, options) => {
    const { interposer, root, bytesOf } = await bucket(options);
    const ask = await asking(interposer);
    await ask(`(fd := os.open("${root}/top.txt", os.O_RDONLY))`);
    expect(await ask('error_of(os.open, f"/dev/fd/{fd}", os.O_RDWR)')).toBe("'EROFS'");
    expect(await ask('error_of(os.truncate, f"/dev/fd/{fd}", 7)')).toBe("'EROFS'");
    expect(await ask('error_of(open, f"/proc/self/fd/{fd}", "w")')).toBe("'EROFS'");
    expect(await ask('creat(f"/proc/self/fd/{fd}")')).toBe("'Read-only file system'");
    expect(await ask(`error_of(os.truncate, "${root}/top.txt", 7)`)).toBe("'EROFS'");
    expect(await ask(`creat("${root}/top.txt")`)).toBe("'Read-only file system'");
    expect(await ask('os.pread(fd, 10000, 0).hex()')).toBe(`'${bytesOf('top.txt').toString('hex')}'`);
  });

  it.each([
    ['on a tier', {}],
    ['in the spool', { policy: LEAVES_ALL }],
  ])('[I7] is the object to its duplicates, and to who inherits it, %s', async (_, options) => {
    const { interposer, root } = await bucket(options);
    const ask = await asking(interposer);
    await ask(`(fd := os.open("${root}/top.txt", os.O_RDONLY))`);
    const told = await ask(`os.stat("${root}/top.txt")`);
    for (const duplicate of ['fd', 'os.dup(fd)', 'os.dup2(fd, 20)', 'os.dup(os.dup(fd))'])
      expect(await ask(`os.fstat(${duplicate})`)).toBe(told);
    const script = 'import os; print(os.fstat(0))';
    const inherits = ['-c', `exec python3 -c '${script}' < "$0"`, `${root}/top.txt`];
    expect(await run(interposer, 'sh', inherits)).toBe(`${told}\n`);
  });
});

describeShim('a program that needs all descriptors that it may have', () => {
  const LIMIT = 100;

  it.each([
    ['can be raised', `${LIMIT}:400`, 1],
    ['cannot be raised', `${LIMIT}:${LIMIT}`, 0],
  ])('[I12] gets them all, and still reads copies, where the limit %s', async (_, limits, twins) => {
    const { source, tiers, contents } = makeDataset(['held', 'other']);
    const interposer = await serve({ source, tiers });
    const ask = await asking(interposer, limits);
    const pathOf = (key: string) => path.join(source, key);
    await ask(`(fd := os.open("${pathOf('held')}", os.O_RDONLY))`);
    for (const key of ['held', 'other']) await interposer.hierarchy.place(key);
    await interposer.idle();
    await ask('os.pread(fd, 10, 0)');
    const onTier = `[p for n in range(${LIMIT}, 400) if (p := error_of(os.readlink, f"/proc/self/fd/{n}")).startswith("${tiers[0] ?? ''}/")]`;
    expect(await ask(`len(${onTier})`)).toBe(String(twins));
    expect(await ask(`take_all(${LIMIT})`)).not.toContain(tiers[0]);
    expect(await ask(`error_of(os.open, "${pathOf('other')}", os.O_RDONLY)`)).toBe("'EMFILE'");
    // The last number, for a copy.
    await ask('os.close(50)');
    expect(await ask(`os.open("${pathOf('other')}", os.O_RDONLY)`)).toBe('50');
    expect(await ask('os.readlink("/proc/self/fd/50")')).toContain(tiers[0]);
    const bytes = contents.get('other')?.toString('hex') ?? '';
    expect(await ask('os.read(50, 10000).hex()')).toBe(`'${bytes}'`);
    expect(await ask('resource.getrlimit(resource.RLIMIT_NOFILE)')).toBe(`(${limits.replace(':', ', ')})`);
  });

  it('[I12] opens objects with the last number', async () => {
    const { interposer, root, bytesOf } = await bucket();
    const ask = await asking(interposer, `${LIMIT}:400`);
    await ask(`take_all(${LIMIT})`);
    expect(await ask(`error_of(os.open, "${root}/top.txt", os.O_RDONLY)`)).toBe("'EMFILE'");
    await ask('os.close(50)');
    expect(await ask(`os.open("${root}/top.txt", os.O_RDONLY)`)).toBe('50');
    expect(await ask('os.read(50, 10000).hex()')).toBe(`'${bytesOf('top.txt').toString('hex')}'`);
  });
});
