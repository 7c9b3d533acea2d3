import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  childCommand,
  descriptorsBelow,
  keysOf,
  place,
  put,
  temporaryFiles,
  textOf,
  withCode,
  type Place,
} from './helpers.js';

/** Runs `run-out.ts` in a shell that sets the limit first, and returns how its steps ended. */
async function runOut(
  what: string,
  limit: string,
  root: string,
  wrap: readonly string[] = [],
): Promise<unknown> {
  const [node, args] = childCommand('run-out.ts', what, root);
  const [command = '', ...rest] = [...wrap, 'sh', '-c', `${limit} && exec "$@"`, root, node, ...args];
  return JSON.parse((await promisify(execFile)(command, rest)).stdout) as unknown;
}

/** A mount namespace of one's own, gone with its last process; some containers forbid it even to root. */
const IN_OWN_MOUNTS = ['unshare', '-rm'] as const;
const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', os.tmpdir()]).status === 0;

describe.skipIf(process.platform === 'win32')('limits of the system', () => {
  it.skipIf(!canMount)(
    'a full disk is TIERED_NO_SPACE, and keeps neither parts nor less than before',
    async () => {
      const { root } = await place();
      expect(await runOut('space', 'mount -t tmpfs -o size=1m tmpfs "$0"', root, IN_OWN_MOUNTS)).toEqual({
        fits: 'done',
        'too large': 'TIERED_NO_SPACE',
        'too large, in place of an object': 'TIERED_NO_SPACE',
        'temporary files': 0,
        'the object of before': 10_000,
        'fits again': 'done',
        'open files': 0,
      });
    },
  );

  it('a write beyond the limit on the size of files is TIERED_IO, and keeps nothing either', async () => {
    const { root } = await place();
    expect(await runOut('space', 'ulimit -f 1024', root)).toEqual({
      fits: 'done',
      'too large': 'TIERED_IO',
      'too large, in place of an object': 'TIERED_IO',
      'temporary files': 0,
      'the object of before': 10_000,
      'fits again': 'done',
      'open files': 0,
    });
  });

  it.skipIf(!canMount)(
    'a disk that turns read-only is TIERED_READ_ONLY for writes, and goes on serving',
    async () => {
      const { root } = await place();
      expect(await runOut('read-only', 'mount -t tmpfs tmpfs "$0"', root, IN_OWN_MOUNTS)).toEqual({
        write: 'TIERED_READ_ONLY',
        delete: 'TIERED_READ_ONLY',
        read: 10,
        'write when it is writable again': 'done',
        'open files': 0,
      });
    },
  );

  it('no descriptor left is TIERED_TOO_MANY_OPEN, worth another try, and over after close()', async () => {
    const { root } = await place();
    expect(await runOut('descriptors', 'ulimit -n 100', root)).toEqual({
      'too many': 'TIERED_TOO_MANY_OPEN, retryable',
      'kinds of failure': 1,
      'read after that': 10,
      'open files': 0,
    });
  });
});

const NOBODY = 65534;

/** Runs as a user whom modes of files bind: root becomes nobody for the time being. */
async function asNobody(run: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return run();
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
  try {
    await run();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}

/** A place for writing with objects `a` and `dir/b`, all of it nobody's. */
async function nobodys(): Promise<Place> {
  const there = await place({ writable: true });
  await put(there.driver, 'a');
  await put(there.driver, 'dir/b');
  for (const name of ['..', '.', ...fs.readdirSync(there.root, { recursive: true })]) {
    const at = path.join(there.root, name.toString());
    if (process.geteuid?.() === 0) fs.chownSync(at, NOBODY, NOBODY);
  }
  return there;
}

describe.skipIf(process.platform === 'win32')('files and directories whose modes forbid it', () => {
  const denied = withCode('TIERED_PERMISSION');

  it('a file that may not be read is TIERED_PERMISSION, and can still be described', async () => {
    const { root, driver } = await nobodys();
    fs.chmodSync(path.join(root, 'a'), 0o000);
    await asNobody(async () => {
      await expect(textOf(driver, 'a')).rejects.toEqual(denied);
      await expect(driver.readInto('a', new Uint8Array(1), { offset: 0 })).rejects.toEqual(denied);
      expect(await driver.stat('a', {})).toMatchObject({ size: 1 });
      expect(await textOf(driver, 'dir/b')).toBe('dir/b');
    });
    expect(driver.openFiles).toBe(1);
  });

  it('a directory that may not be entered is TIERED_PERMISSION, for listings too', async () => {
    const { root, driver } = await nobodys();
    fs.chmodSync(path.join(root, 'dir'), 0o000);
    await asNobody(async () => {
      await expect(textOf(driver, 'dir/b')).rejects.toEqual(denied);
      await expect(driver.stat('dir/b', {})).rejects.toEqual(denied);
      await expect(put(driver, 'dir/new')).rejects.toEqual(denied);
      await expect(driver.delete('dir/b', {})).rejects.toEqual(denied);
      for (const prefix of ['', 'dir/', 'dir/sub/'])
        await expect(keysOf(driver, prefix), prefix).rejects.toEqual(denied);
      await expect(driver.usage({})).rejects.toEqual(denied);
      expect(await temporaryFiles(root)).toEqual([]);
    });
    expect(await textOf(driver, 'dir/b')).toBe('dir/b');
  });

  it('[K4] a source has all but what this user may not look at, which is told', async () => {
    const { root } = await nobodys();
    for (const [name, mode] of [
      ['lost+found', 0o000],
      ['unsearchable', 0o444],
      ['readable', 0o755],
    ] as const) {
      fs.mkdirSync(path.join(root, name));
      fs.writeFileSync(path.join(root, name, 'file'), name);
      fs.symlinkSync(`../${name}/file`, path.join(root, 'dir', name));
      fs.chmodSync(path.join(root, name), mode);
    }
    const source = new FileSystemDriver({ root });
    await source.open({});
    onTestFinished(() => source.close());
    await asNobody(async () => {
      const left: Record<string, string> = {};
      const keys: string[] = [];
      const leftOut = (key: string, why: string) => void (left[key] = why);
      for await (const page of source.list({ leftOut })) keys.push(...page.map(({ key }) => key));
      expect(keys.sort()).toEqual(['a', 'dir/b', 'dir/readable', 'readable/file']);
      const all = ['dir/lost+found', 'dir/unsearchable', 'lost+found/', 'unsearchable/file'];
      expect(left).toEqual(Object.fromEntries(all.map((key) => [key, 'this user may not read it'])));
      // What was asked for by its name is missed.
      await expect(keysOf(source, 'lost+found/')).rejects.toEqual(denied);
    });
    fs.chmodSync(root, 0o000);
    await asNobody(async () => {
      await expect(keysOf(source)).rejects.toEqual(denied);
    });
  });

  it('a listing of many directories that may not be entered fails once, with nothing left open', async () => {
    const { root, driver } = await nobodys();
    for (let i = 0; i < 50; i++) fs.mkdirSync(path.join(root, `${i}`), { mode: i < 10 ? 0o755 : 0o000 });
    await asNobody(async () => {
      await expect(keysOf(driver)).rejects.toEqual(denied);
      if (process.platform === 'linux') expect(await descriptorsBelow(root)).toBe(0);
    });
  });

  it('a directory that may not be changed is TIERED_PERMISSION for writes, and loses nothing', async () => {
    for (const locked of ['dir', '.tiered/tmp']) {
      const { root, driver } = await nobodys();
      fs.chmodSync(path.join(root, locked), 0o555);
      await asNobody(async () => {
        await expect(put(driver, 'dir/b', 'new')).rejects.toEqual(denied);
        await expect(put(driver, 'dir/sub/c')).rejects.toEqual(denied);
        if (locked === 'dir') await expect(driver.delete('dir/b', {})).rejects.toEqual(denied);
        expect(await textOf(driver, 'dir/b')).toBe('dir/b');
        expect(await temporaryFiles(root)).toEqual([]);
      });
      fs.chmodSync(path.join(root, locked), 0o755);
      await put(driver, 'dir/b', 'new');
      expect(await textOf(driver, 'dir/b')).toBe('new');
    }
  });

  it('a root that cannot be made, entered or taken is TIERED_PERMISSION at open()', async () => {
    const { directory, root } = await nobodys();
    fs.chmodSync(root, 0o555);
    fs.mkdirSync(path.join(directory, 'empty'), 0o555);
    await asNobody(async () => {
      for (const at of ['root/new', 'empty'])
        await expect(
          new FileSystemDriver({ root: path.join(directory, at), writable: true }).open({}),
        ).rejects.toEqual(denied);
    });
  });
});
