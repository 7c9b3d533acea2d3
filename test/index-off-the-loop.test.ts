import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { lru, PlacementHandler } from '@tiered/tiering';
import { expect, it, onTestFinished } from 'vitest';
import { indexThreads } from '../packages/tiering/src/index/index-client.js';

const OBJECTS = 40;
const SIZE = 20_000;

/**
 * Calls on files of an index in which this thread waits for the disk, from now on until the test ends: of
 * Node's own functions, which are still made.
 */
function waits(): string[] {
  const calls: string[] = [];
  const original = new Map<string, unknown>();
  for (const [name, call] of Object.entries<unknown>({ ...fs })) {
    if (!name.endsWith('Sync') || typeof call !== 'function') continue;
    original.set(name, call);
    const counted = (...given: unknown[]): unknown => {
      if (String(given[0]).includes('index.db')) calls.push(`${name} ${String(given[0])}`);
      return call.apply(fs, given);
    };
    Object.assign(fs, { [name]: Object.assign(counted, call) });
  }
  // For those who import them by name.
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, Object.fromEntries(original));
    syncBuiltinESMExports();
  });
  return calls;
}

/** Resolves when somebody has looked whether an index has changed. */
function looked(): Promise<void> {
  const { begin } = indexThreads;
  onTestFinished(() => void (indexThreads.begin = begin));
  return new Promise((resolve) => {
    indexThreads.begin = (options, gate) => {
      const thread = begin(options, gate);
      const post = thread.postMessage.bind(thread);
      return Object.assign(thread, {
        postMessage: (message: Parameters<typeof post>[0]) => {
          if (message?.call === 'changed') resolve();
          post(message);
        },
      });
    };
  });
}

it.each([
  { layout: 'files', chunk: SIZE / 2 },
  { layout: 'files', chunk: SIZE },
  { layout: 'packed', chunk: SIZE },
] as const)(
  '[B2] the event loop waits for no file of an index: at a start, a claim, a look, a removal, an end ($layout, chunks of $chunk)',
  async ({ layout, chunk }) => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-off-the-loop-'));
    onTestFinished(() => fs.rmSync(directory, { recursive: true }));
    const source = new MemoryDriver();
    const keys = Array.from({ length: OBJECTS }, (_, i) => `dir/${i}`);
    for (const key of keys) await source.write(key, new Uint8Array(SIZE), { size: SIZE });
    const calls = waits();
    const look = looked();
    // The second finds what is there.
    for (let starts = 0; starts < 2; starts++) {
      const driver = new FileSystemDriver({ root: path.join(directory, 'tier'), writable: true });
      const tiers = [{ driver, quota: '640KiB', layout } as const];
      const placement = new PlacementHandler({ chunk, policy: lru });
      const hierarchy = new Hierarchy({ source, tiers, placement });
      await hierarchy.open();
      for (const key of keys) {
        await hierarchy.read(key);
        await hierarchy.idle();
      }
      await look;
      const { placed, evicted } = hierarchy.stats().placement;
      expect(Math.min(placed, evicted)).toBeGreaterThan(0);
      await hierarchy.close();
    }
    expect(calls).toEqual([]);
  },
);
