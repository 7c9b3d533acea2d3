import { systemClock } from '@tiered/core';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SlowMount, type SlowMountCounts, type SlowMountOptions } from '../tools/fuse/slow-mount.js';

const HOUR_MS = 3_600_000;
/** As many as libuv has threads. */
const FILES = ['a', 'b', 'c', 'd'];

const missing = await SlowMount.missing();
let mirrored: string;

beforeEach(async () => {
  mirrored = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  await fs.mkdir(path.join(mirrored, 'train'));
  for (const name of FILES) await fs.writeFile(path.join(mirrored, 'train', name), name.repeat(1000));
});

afterEach(() => fs.rm(mirrored, { recursive: true }));

/** The kernel tells a mount of a file that was closed in the background. */
async function allReleased(mount: SlowMount): Promise<void> {
  const isReleased = ({ open, release }: SlowMountCounts) => release === open;
  while (!isReleased(mount.counts())) await systemClock.turn();
}

const pathsOf = ({ directory }: SlowMount) => FILES.map((name) => path.join(directory, 'train', name));

describe.skipIf(missing !== undefined && process.env['CI'] !== 'true')('a slow mount', () => {
  it('shows the directory as it is now, and cannot be written', async () => {
    await using mount = await SlowMount.start(mirrored, { cacheSeconds: 0 });
    expect(readdirSync(mount.directory)).toEqual(['train']);
    expect(readdirSync(path.join(mount.directory, 'train')).sort()).toEqual(FILES);
    for (const [i, file] of pathsOf(mount).entries()) {
      const original = path.join(mirrored, 'train', FILES[i] ?? '');
      expect(readFileSync(file, 'utf8')).toBe(readFileSync(original, 'utf8'));
      const { size, mtimeMs, ino } = statSync(original);
      expect(statSync(file)).toMatchObject({ size, mtimeMs, ino });
    }
    await fs.writeFile(path.join(mirrored, 'train/a'), 'new');
    await fs.rm(path.join(mirrored, 'train/b'));
    expect(readFileSync(path.join(mount.directory, 'train/a'), 'utf8')).toBe('new');
    expect(existsSync(path.join(mount.directory, 'train/b'))).toBe(false);
    await expect(fs.writeFile(path.join(mount.directory, 'train/a'), 'x')).rejects.toThrow('EROFS');
    await expect(fs.rm(path.join(mount.directory, 'train/a'))).rejects.toThrow('EROFS');
  });

  it('counts every open, read and stat, and from 0 again after a reset', async () => {
    await using mount = await SlowMount.start(mirrored, { cacheSeconds: 0 });
    const [file = ''] = pathsOf(mount);
    const before = mount.counts();
    for (let i = 0; i < 3; i++) readFileSync(file);
    await allReleased(mount);
    // Each asks for the size first, and reads once: the kernel keeps nothing.
    expect(mount.counts()).toMatchObject({ open: 3, read: 3, bytes: 3000, release: 3 });
    expect(mount.counts().getattr - before.getattr).toBe(3);
    mount.reset();
    expect(mount.counts()).toEqual({ lookup: 0, getattr: 0, open: 0, read: 0, bytes: 0, release: 0 });
  });

  it('lets the kernel answer stat itself, if it may', async () => {
    await using mount = await SlowMount.start(mirrored, { cacheSeconds: 3600 });
    const [file = ''] = pathsOf(mount);
    for (let i = 0; i < 3; i++) readFileSync(file);
    expect(mount.counts()).toMatchObject({ lookup: 2, getattr: 0, open: 3, bytes: 3000 });
  });

  const waits: [keyof SlowMountOptions, number, Partial<SlowMountCounts>][] = [
    ['openMs', HOUR_MS, { open: 4, read: 0 }],
    ['readMs', HOUR_MS, { open: 4, read: 4, bytes: 0 }],
    ['bytesPerSecond', 1, { read: 4, bytes: 4000 }],
  ];
  it.each(waits)('%s: calls wait at the same time, and not for close', async (option, value, reached) => {
    await using mount = await SlowMount.start(mirrored, { [option]: value });
    const reads = Promise.allSettled(pathsOf(mount).map((file) => fs.readFile(file)));
    while (!isDeepStrictEqual({ ...mount.counts(), ...reached }, mount.counts())) await systemClock.turn();
    await mount.close();
    expect((await reads).map(({ status }) => status)).toEqual(FILES.map(() => 'rejected'));
    expect(existsSync(mount.directory)).toBe(false);
  });

  it('is gone when the process that mounted it was killed', async () => {
    // A temporary directory of its own, in which nobody else makes changes.
    const temporary = path.join(mirrored, 'temporary');
    await fs.mkdir(temporary);
    const child = fork(path.join(import.meta.dirname, 'children/mount-and-wait.ts'), [`${mirrored}/train`], {
      execArgv: ['--conditions=tiered-source', '--import', 'tsx'],
      env: { ...process.env, TMPDIR: temporary },
    });
    const [directory] = (await once(child, 'message')) as [string];
    expect(readdirSync(directory).sort()).toEqual(FILES);
    const changes = fs.watch(temporary);
    const gone = (async () => {
      for await (const { filename } of changes) if (filename === path.basename(directory)) return;
    })();
    child.kill('SIGKILL');
    await gone;
    expect(existsSync(directory)).toBe(false);
  });

  it('leaves nothing behind when its own process was killed', async () => {
    const mount = await SlowMount.start(mirrored);
    process.kill(mount.pid, 'SIGKILL');
    await mount.close();
    expect(existsSync(mount.directory)).toBe(false);
  });

  it('says why it cannot be mounted', async () => {
    await expect(SlowMount.start(path.join(mirrored, 'missing'))).rejects.toThrow('No such file');
  });
});
