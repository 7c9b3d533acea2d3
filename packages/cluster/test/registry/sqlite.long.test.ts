import { ManualClock } from '@tiered/core/testing';
import Database from 'libsql';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Random } from '@tiered/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SqliteRegistry } from '../../src/registry/index.js';
import { entryOf, SHORT_MS, until } from './suite.js';

const put = { ttlMs: SHORT_MS };
const isRoot = process.getuid?.() === 0;

/** A directory that goes with the test. */
function directory(): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'registry-'));
  onTestFinished(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

const newFile = () => path.join(directory(), 'registry.db');

function registryAt(file: string, clock = new ManualClock(), now = () => clock.now()): SqliteRegistry {
  const registry = new SqliteRegistry({ path: file, clock, now });
  onTestFinished(() => registry.close());
  return registry;
}

async function opened(file: string, ...rest: [ManualClock?, (() => number)?]): Promise<SqliteRegistry> {
  const registry = registryAt(file, ...rest);
  await registry.open();
  return registry;
}

/** Starts a program of `test/children`. */
function child(name: string, ...args: string[]) {
  const execArgv = ['--conditions=tiered-source', '--import', 'tsx'];
  const started = fork(path.join(import.meta.dirname, '../children', name), args, { execArgv });
  onTestFinished(() => void started.kill('SIGKILL'));
  return started;
}

describe('the file of a registry', () => {
  it('[Y4] is for its owner alone, and so is its directory', async () => {
    const file = path.join(directory(), 'made/here/registry.db');
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const registry = await opened(file);
    await registry.put(entryOf('rank-0', 'a'), put);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(fs.statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
  });

  it.each([
    ['others may write to its directory', (file: string) => fs.chmodSync(path.dirname(file), 0o702)],
    ['others may read it', (file: string) => fs.writeFileSync(file, '', { mode: 0o644 })],
    ['it is a link', (file: string) => fs.symlinkSync('/etc/hostname', file)],
    ['it is a directory', (file: string) => fs.mkdirSync(file)],
  ])('[Y4] is refused if %s', async (_, spoil) => {
    const file = newFile();
    spoil(file);
    await expect(registryAt(file).open()).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
  });

  it.skipIf(!isRoot)('[Y4] is refused if it belongs to another user (skipped without root)', async () => {
    const file = newFile();
    fs.writeFileSync(file, '', { mode: 0o600 });
    fs.chownSync(file, 65_534, 65_534);
    await expect(registryAt(file).open()).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
    fs.rmSync(file);
    fs.chownSync(path.dirname(file), 65_534, 65_534);
    await expect(registryAt(file).open()).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
  });

  it('is refused if it is the database of something else, and left as it is', async () => {
    const file = newFile();
    const other = new Database(file);
    other.exec('CREATE TABLE orders (number INTEGER)');
    other.close();
    fs.chmodSync(file, 0o600);
    const before = fs.readFileSync(file);
    await expect(registryAt(file).open()).rejects.toMatchObject({ code: 'TIERED_DIRECTORY_NOT_OURS' });
    expect(fs.readFileSync(file)).toEqual(before);
  });

  it('has a name in a directory of the user', () => {
    vi.stubEnv('XDG_RUNTIME_DIR', '/run/user/7');
    const user = process.getuid?.() ?? 'run';
    expect(SqliteRegistry.named('a.b').name).toBe(`sqlite:/run/user/7/tiered-${user}/a.b.db`);
    vi.stubEnv('XDG_RUNTIME_DIR', '');
    expect(SqliteRegistry.named('x').name).toBe(`sqlite:${os.tmpdir()}/tiered-${user}/x.db`);
    for (const name of ['', '.', '../x', 'a/b', '.x'])
      expect(() => SqliteRegistry.named(name)).toThrow(
        expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
      );
  });
});

describe('a file that is damaged', () => {
  it.each([
    ['not a database', () => Buffer.from('this is not a database, and never was. '.repeat(200))],
    ['cut off', (bytes: Buffer) => bytes.subarray(0, 5000)],
    ['without a beginning', (bytes: Buffer) => Buffer.concat([Buffer.alloc(100), bytes.subarray(100)])],
    ['without its table', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(8192, 7)])],
  ])('[Y3] is put aside and begun anew: %s', async (_, damage) => {
    const file = newFile();
    const first = await opened(file);
    await first.put(entryOf('rank-0', 'a', 'x'.repeat(10_000)), put);
    await first.close();
    const damaged = damage(fs.readFileSync(file));
    fs.writeFileSync(file, damaged);
    const [one, other] = [await opened(file), await opened(file)];
    expect(fs.readFileSync(`${file}.damaged`)).toEqual(damaged);
    expect(await one.put(entryOf('rank-0', 'b'), put)).toBe(true);
    expect(await other.all()).toEqual([entryOf('rank-0', 'b')]);
  });

  it('[Y3] is found while it is used, by all who use it', async () => {
    const file = newFile();
    const registries = [await opened(file), await opened(file), await opened(file)];
    const random = new Random(1);
    for (let round = 0; round < 20; round++) {
      const bytes = fs.readFileSync(file);
      for (let i = 0; i < 200; i++) bytes[random.below(bytes.length)] = random.below(256);
      fs.writeFileSync(file, bytes);
      // Members of the old file find each other in the new one.
      for (const [i, registry] of registries.entries())
        await until(() => registry.put(entryOf(`rank-${round}-${i}`, 'a'), { ttlMs: 60_000 }));
      for (const [i, registry] of registries.entries())
        await registry.put(entryOf(`rank-${round}-${i}`, 'a'), { ttlMs: 60_000 });
      for (const registry of registries)
        expect((await registry.all()).map(({ slot }) => slot)).toEqual(
          expect.arrayContaining([0, 1, 2].map((i) => `rank-${round}-${i}`)),
        );
    }
  });

  it('[Y3] is begun anew by all who use it if it is deleted', async () => {
    const file = newFile();
    const [one, other] = [await opened(file), await opened(file)];
    await one.put(entryOf('rank-0', 'a'), put);
    fs.rmSync(path.dirname(file), { recursive: true });
    expect(await other.put(entryOf('rank-1', 'b'), put)).toBe(true);
    expect(await one.put(entryOf('rank-0', 'a'), put)).toBe(true);
    expect(await other.all()).toHaveLength(2);
  });
});

describe('a registry of several processes', () => {
  it('[Y2] gives up a call in time while a process that writes is stopped, and goes on after it', async () => {
    const file = newFile();
    const clock = new ManualClock();
    const registry = await opened(file, clock, () => 0);
    await registry.put(entryOf('rank-0', 'a'), put);
    const holder = child('hold-registry.ts', file);
    await once(holder, 'message');
    holder.kill('SIGSTOP');
    const call = registry.put(entryOf('rank-0', 'a'), put);
    const late = expect(call).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE', retryable: true });
    // Who only reads is not kept.
    expect(await registry.all()).toHaveLength(1);
    await clock.advance(2000);
    await late;
    const exit = once(holder, 'exit');
    holder.kill('SIGKILL');
    await exit;
    expect(await registry.all()).toHaveLength(1);
    expect(await registry.put(entryOf('rank-0', 'b'), put)).toBe(false);
    expect(await registry.put(entryOf('rank-0', 'a'), put)).toBe(true);
  });

  it('[Y2] ends calls at once when it is closed while another process writes', async () => {
    const file = newFile();
    const registry = await opened(file);
    const holder = child('hold-registry.ts', file);
    await once(holder, 'message');
    const call = registry.put(entryOf('rank-0', 'a'), put);
    const closed = expect(call).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    await registry.close();
    await closed;
  });

  it.each(['exit', 'idle'])('lets a process end whose registry is open (%s)', async (how) => {
    const leaving = child('leave-registry.ts', newFile(), how);
    expect(await once(leaving, 'exit')).toEqual([0, null]);
  });

  it('[Y1] forgets records of before the machine was started anew', async () => {
    const file = newFile();
    const before = await opened(file, new ManualClock(), () => 1_000_000);
    await before.put(entryOf('rank-0', 'a'), put);
    await before.close();
    let now = 5;
    const after = await opened(file, new ManualClock(), () => now);
    // Nobody knows how long ago that was.
    expect(await after.put(entryOf('rank-0', 'b'), put)).toBe(false);
    expect(await after.all()).toHaveLength(1);
    now += SHORT_MS;
    expect(await after.all()).toEqual([]);
    expect(await after.put(entryOf('rank-0', 'b'), put)).toBe(true);
  });
});
