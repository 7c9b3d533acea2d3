import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { Random } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  childCommand,
  gate,
  keysOf,
  place,
  put,
  temporaryFiles,
  textOf,
  withCode,
  type Place,
} from './helpers.js';

/**
 * Runs a child that writes, lets it write so many pieces while another driver opens its root, and kills it.
 */
async function killWhileWriting({ root }: Place, pieces: number): Promise<void> {
  const [command, args] = childCommand('write-forever.ts', root);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let written = 0;
  let opened = false;
  for await (const dots of child.stdout) {
    written += (dots as Buffer).byteLength;
    if (!opened) {
      const neighbour = new FileSystemDriver({ root, writable: true });
      await neighbour.open({});
      await neighbour.close();
      opened = true;
    }
    if (written >= pieces) break;
  }
  child.kill('SIGKILL');
  expect(await exited, 'what ended the child').toEqual([null, 'SIGKILL']);
}

/** The first byte of every object, each of which must be of one write, and complete. */
async function wholeObjects(driver: FileSystemDriver): Promise<Record<string, number>> {
  const objects: Record<string, number> = {};
  for (const key of await keysOf(driver)) {
    const bytes = await driver.read(key, { offset: 0, length: 1_000_000 });
    expect(bytes.byteLength, key).toBe(16 * 4096);
    expect(new Set(bytes).size, `writes in ${key}`).toBe(1);
    objects[key] = bytes[0] ?? -1;
    expect(`dir/${(bytes[0] ?? 0) % 4}`).toBe(key);
  }
  return objects;
}

it('[W1] a process killed in mid-write leaves whole objects, and the next open() clears up after it', async () => {
  const random = new Random(2024);
  const leftovers = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const there = await place();
      await killWhileWriting(there, 70 + random.below(500));
      const before = await wholeObjects(there.driver);
      expect(Object.keys(before)).toEqual(['dir/0', 'dir/1', 'dir/2', 'dir/3']);
      const left = await temporaryFiles(there.root);
      const next = new FileSystemDriver({ root: there.root, writable: true });
      await next.open({});
      expect(await temporaryFiles(there.root)).toEqual([]);
      expect(await wholeObjects(next)).toEqual(before);
      await next.close();
      return left.length;
    }),
  );
  expect(Math.max(...leftovers), 'writes that were under way when the process died').toBeGreaterThan(0);
});

/** Leaves a socket that nobody listens at, as a killed process does. */
async function diedListening(socketPath: string): Promise<void> {
  const script =
    'require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))';
  await once(spawn(process.execPath, ['-e', script, socketPath]), 'exit');
}

it('[W1] open() removes temporary files of dead processes, and no others', async () => {
  const { root, driver } = await place({ writable: true });
  const [reached, held] = [gate(), gate()];
  const pieces = async function* () {
    yield Buffer.from('first ');
    reached.open();
    await held.passed;
    yield Buffer.from('second');
  };
  const writing = driver.write('object', pieces(), { size: 12 });
  await reached.passed;
  const [own = ''] = await temporaryFiles(root);
  const dead = randomUUID();
  // Of one whose socket is still there, and of one of whom there is nothing else.
  await diedListening(path.join(root, '.tiered/members', dead));
  for (const name of [`${dead}.1`, `${randomUUID()}.7`, 'no-name-of-ours'])
    fs.writeFileSync(path.join(root, '.tiered/tmp', name), 'rest');
  expect(await temporaryFiles(root)).toHaveLength(4);
  const neighbour = new FileSystemDriver({ root, writable: true });
  await neighbour.open({});
  expect(await temporaryFiles(root)).toEqual([own]);
  expect(fs.readdirSync(path.join(root, '.tiered/members'))).not.toContain(dead);
  held.open();
  await writing;
  expect(await textOf(neighbour, 'object')).toBe('first second');
  await neighbour.close();
});

it('drivers on one directory write at the same time without meeting', async () => {
  const { root, driver } = await place({ writable: true });
  const other = new FileSystemDriver({ root, writable: true });
  await other.open({});
  for (let round = 0; round < 20; round++) {
    await Promise.all([
      put(driver, 'a', `a ${round}`),
      put(other, 'b', `b ${round}`),
      put(driver, 'c', `c ${round}`),
    ]);
    for (const key of ['a', 'b', 'c'])
      expect(fs.readFileSync(path.join(root, key), 'utf8')).toBe(`${key} ${round}`);
  }
  await other.close();
});

describe('a key that needs a directory where another is a file', () => {
  const conflict = withCode('TIERED_KEY_CONFLICT');

  it('is TIERED_KEY_CONFLICT both ways, loses nothing, and is possible once the other is gone', async () => {
    const { root, driver } = await place({ writable: true });
    for (const [there, refused] of [
      ['a', 'a/b'],
      ['a', 'a/b/c/d'],
      ['a/b', 'a'],
      ['a/b/c/d', 'a/b'],
      ['a/b/c/d', 'a'],
    ] as const) {
      await put(driver, there);
      await expect(put(driver, refused)).rejects.toEqual(conflict);
      expect(await keysOf(driver)).toEqual([there]);
      expect(await textOf(driver, there)).toBe(there);
      expect(await temporaryFiles(root)).toEqual([]);
      await driver.delete(there, {});
      await put(driver, refused);
      expect(await textOf(driver, refused)).toBe(refused);
      await driver.delete(refused, {});
      expect(fs.readdirSync(root)).toEqual(['.tiered']);
    }
  });

  it('loses nothing either when both are written and deleted at the same time', async () => {
    const { root, driver } = await place({ writable: true });
    const key = fc.constantFrom('a', 'a/b', 'a/b/c', 'a/d', 'a/b/e');
    const task = fc.record({ key, remove: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(key, fc.array(task, { minLength: 2, maxLength: 12 }), async (first, tasks) => {
        fs.rmSync(path.join(root, 'a'), { recursive: true, force: true });
        await put(driver, first);
        const results = await Promise.allSettled(
          tasks.map((one) => (one.remove ? driver.delete(one.key, {}) : put(driver, one.key))),
        );
        const there = await keysOf(driver);
        for (const one of there) expect(await textOf(driver, one)).toBe(one);
        for (const [i, one] of tasks.entries()) {
          const result = results[i];
          if (result?.status === 'rejected') expect(result.reason).toEqual(conflict);
          const removed = tasks.some((other) => other.remove && other.key === one.key);
          if (result?.status === 'fulfilled' && !removed) expect(there).toContain(one.key);
        }
        expect(await temporaryFiles(root)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

it('a write that fails on its name leaves no directory that stands in the way of another key', async () => {
  const { root, driver } = await place({ writable: true });
  await expect(put(driver, `dir/sub/${'x'.repeat(300)}`)).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
  expect(await temporaryFiles(root)).toEqual([]);
  await put(driver, 'dir', 'a file');
  expect(await textOf(driver, 'dir')).toBe('a file');
});

it('writes succeed while their directory comes and goes with neighbours that are deleted', async () => {
  const { root, driver } = await place({ writable: true });
  for (let round = 0; round < 100; round++) {
    const keys = Array.from({ length: 6 }, (_, i) => `dir/sub/${i}`);
    const cycle = async (key: string) => {
      await put(driver, key);
      await driver.delete(key, {});
    };
    const results = await Promise.allSettled(keys.map(cycle));
    for (const { status } of results) expect(status).toBe('fulfilled');
  }
  expect(fs.readdirSync(root)).toEqual(['.tiered']);
});
