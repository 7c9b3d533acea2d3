import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import { systemClock } from '@tiered/core';
import { outcomeOf } from '@tiered/core/testing';
import { Prefetcher, shuffledSequence } from '@tiered/prefetch';
import { ThreadPrefetchClient, threadPort } from '@tiered/sharing';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  collect,
  copyOf,
  expectIdle,
  holding,
  keys,
  next,
  objects,
  over,
  released,
  samplesOf,
  settled,
} from './prefetching.js';
import { withCode } from './helpers.js';
import type { Job, Seen } from './thread-child.js';

const SIZES = Array.from({ length: 60 }, (_, i) => 37 * i);
const sequence = shuffledSequence(keys(60), { seed: 7, epochs: 2 });
const expected = samplesOf(sequence, SIZES);
const sha = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

/** Microtasks, or turns of the event loop, after which something happens. */
const INSTANTS = Array.from({ length: 11 }, (_, i) => i).flatMap((i): [number, number][] => [
  [i, 0],
  [0, i],
]);

/** A worker thread with a port of the prefetcher, as a user starts one. */
function thread(prefetcher: Prefetcher, job: Omit<Job, 'port'>): Worker {
  const port = threadPort(prefetcher);
  const worker = new Worker(new URL('thread-child.mjs', import.meta.url), {
    workerData: { ...job, port, module: new URL('thread-child.ts', import.meta.url).href },
    transferList: [port],
    execArgv: ['--conditions=tiered-source'],
  });
  onTestFinished(() => worker.terminate().then(() => undefined));
  return worker;
}

async function resultOf(worker: Worker): Promise<Seen[]> {
  const [result] = (await once(worker, 'message')) as [Seen[]];
  return result;
}

describe('consumers in worker threads', () => {
  it.each(['loop', 'batches'] as const)(
    '[P7] get each sample once by %s, in order, where it lies in shared memory',
    async (way) => {
      const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence, { memory: '32KiB' });
      const parts = await Promise.all([1, 2, 3].map(() => resultOf(thread(prefetcher, { way }))));
      const place = (s: Pick<Seen, 'epoch' | 'position'>) => s.epoch * 60 + s.position;
      for (const part of parts) expect(part).toEqual(part.toSorted((a, b) => place(a) - place(b)));
      const all = parts.flat().sort((a, b) => place(a) - place(b));
      expect(all).toEqual(
        expected.map(({ key, epoch, position, data }) => ({
          key,
          epoch,
          position,
          sha: sha(data),
          isShared: true,
        })),
      );
      await prefetcher.close();
      expectIdle(prefetcher);
    },
  );

  it('[P7] read by name as the prefetcher does', async () => {
    const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence);
    const names = expected.slice(0, 20).map(({ key }) => key);
    const seen = await resultOf(thread(prefetcher, { way: 'names', keys: names }));
    expect(seen.map((s) => s.sha)).toEqual(expected.slice(0, 20).map(({ data }) => sha(data)));
    await prefetcher.close();
  });

  it('[P7] give back what they held when they die', async () => {
    const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence, { memory: 2000 });
    const worker = thread(prefetcher, { way: 'keep' });
    expect(await once(worker, 'message')).toEqual([expect.any(Number)]);
    expect(prefetcher.stats().lentBytes).toBeGreaterThan(0);
    const taken = prefetcher.stats().samples;
    await worker.terminate();
    expect((await collect(prefetcher)).length).toBe(120 - taken);
    expectIdle(prefetcher);
  });
});

describe('a client of a port', () => {
  /** In this thread: what it does is the same. */
  async function client(options: { held?: boolean; memory?: number } = {}) {
    const driver = holding(await objects(SIZES));
    const prefetcher = new Prefetcher(await over(driver), sequence, {
      producers: 1,
      memory: options.memory ?? 1e6,
    });
    const reader = new ThreadPrefetchClient(threadPort(prefetcher));
    const close = () => released(driver, Promise.all([reader.close(), prefetcher.close()]));
    return { driver, prefetcher, reader, close };
  }

  /** Lets the ports of this thread exchange what they have. */
  async function exchanged(): Promise<void> {
    for (let turns = 0; turns < 10; turns++) await settled();
  }

  it('[P3] leaves a wait at an abort, and the sample goes to the next who asks', async () => {
    const { driver, reader, close } = await client();
    const controller = new AbortController();
    const first = outcomeOf(reader.take(1, controller));
    await exchanged();
    const reason = new Error('enough');
    controller.abort(reason);
    await exchanged();
    expect(first).toEqual({ error: reason });
    const second = outcomeOf(next(reader));
    while (driver.held.length > 0) await driver.release();
    await exchanged();
    expect(second).toEqual({ value: expected[0] });
    await close();
  });

  it('[P3] gets the error of a read as it was', async () => {
    const hierarchy = await over(await objects([1]));
    const prefetcher = new Prefetcher(hierarchy, [{ key: 'missing', epoch: 0, position: 0 }]);
    const reader = new ThreadPrefetchClient(threadPort(prefetcher));
    await expect(reader.take(1)).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
    await reader.close();
    await expect(reader.take(1)).rejects.toEqual(withCode('TIERED_CLOSED'));
    await prefetcher.close();
  });

  it('[P2] rings when memory is waited for: a prefetcher of one sample at a time gives all of them', async () => {
    const hierarchy = await over(await objects(SIZES));
    const prefetcher = new Prefetcher(hierarchy, sequence, { memory: 0 });
    const reader = new ThreadPrefetchClient(threadPort(prefetcher));
    expect(await collect(reader)).toEqual(expected);
    expectIdle(prefetcher);
    await reader.close();
    await prefetcher.close();
  });

  it('[P7] takes no more than it may hold, and says what to do', async () => {
    const many = Array.from({ length: 9000 }, (_, i) => ({ key: '0', epoch: 0, position: i }));
    const prefetcher = new Prefetcher(await over(await objects([1])), many);
    const reader = new ThreadPrefetchClient(threadPort(prefetcher));
    const held = [];
    while (held.length < 8192) held.push(...(await reader.take(9000)));
    expect(held).toHaveLength(8192);
    await expect(reader.take(1)).rejects.toEqual(withCode('TIERED_LIMIT_REACHED'));
    for (const sample of held) sample.release();
    expect(await reader.take(9000)).not.toHaveLength(0);
    await reader.close();
    await prefetcher.close();
  });

  it('[P7] is refused for what it holds, and not for what it waits for', async () => {
    const { driver, reader, close } = await client();
    const takes = Promise.all(Array.from({ length: 50 }, () => reader.take(10_000)));
    await exchanged();
    const given = await released(driver, takes);
    expect(given.flat().map(copyOf)).toEqual(expected.slice(0, given.flat().length));
    for (const samples of given) expect(samples).not.toHaveLength(0);
    await close();
  });

  it('[P3] leaves at an abort also where another take of it waits', async () => {
    const { driver, prefetcher, reader, close } = await client();
    const first = reader.take(1);
    const controller = new AbortController();
    const second = outcomeOf(reader.take(1, controller));
    await exchanged();
    const reason = new Error('enough');
    controller.abort(reason);
    await exchanged();
    expect(second).toEqual({ error: reason });
    expect((await released(driver, first)).map(copyOf)).toEqual([expected[0]]);
    await exchanged();
    expect(prefetcher.stats().samples).toBe(1);
    await close();
  });

  it('[P4] [P7] gives nothing out after it was closed, whatever has come already: at any microtask and turn after an answer', async () => {
    for (const [microtasks, turns] of INSTANTS) {
      const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence, { memory: 1e6 });
      const reader = new ThreadPrefetchClient(threadPort(prefetcher));
      while (prefetcher.stats().ready < 20) await settled();
      const closed = reader.take(1).then(async () => {
        for (let i = 0; i < microtasks; i++) await Promise.resolve();
        for (let i = 0; i < turns; i++) await systemClock.turn();
        await reader.close();
      });
      const others = Array.from({ length: 5 }, () => outcomeOf(reader.take(1)));
      await closed;
      await exchanged();
      for (const { value, error } of others) {
        // What it had given out before is taken back.
        if (value !== undefined) expect(() => value[0]?.data).toThrow(withCode('TIERED_CLOSED'));
        else expect(error).toEqual(withCode('TIERED_CLOSED'));
      }
      expect(prefetcher.stats().lentBytes).toBe(0);
      await prefetcher.close();
    }
  });

  it('[P7] takes back what it has given out also when it is closed after the other side is gone', async () => {
    const { port1, port2 } = new MessageChannel();
    const reader = new ThreadPrefetchClient(port1);
    const data = new Uint8Array(new SharedArrayBuffer(1));
    port2.on('message', ({ id }: { id: number }) =>
      port2.postMessage({ id, samples: [{ key: 'a', epoch: 0, position: 0, data, slot: 1 }] }),
    );
    port2.postMessage({ flags: new Int32Array(new SharedArrayBuffer(8)) });
    const [sample] = await reader.take(1);
    port2.close();
    await once(port1, 'close');
    expect(sample?.data).toEqual(data);
    await reader.close();
    expect(() => sample?.data).toThrow(withCode('TIERED_CLOSED'));
  });

  it('reads again into memory that it lent before, unless somebody may still write to it', async () => {
    const FAILED = 255;
    const seen: number[] = [];
    let end: (() => void) | undefined;
    const port = threadPort({
      take: () => Promise.resolve([]),
      // Writes how many reads there were, in front of what the memory had.
      readInto: async (key, target) => {
        seen.push(target[0] ?? 0);
        if (key === 'slow') await new Promise<void>((resolve) => (end = resolve));
        target.fill(key === 'failing' ? FAILED : seen.length);
        if (key === 'failing') throw new Error('no such object');
        return target.byteLength;
      },
    });
    const reader = new ThreadPrefetchClient(port);
    // As long as one is under way, nothing is left to the collector.
    const slow = reader.readInto('slow', new Uint8Array(1000));
    const read = async (bytes: number) => {
      const target = new Uint8Array(bytes);
      expect(await reader.readInto('any', target)).toBe(bytes);
      expect(new Set(target)).toEqual(new Set([seen.length]));
    };
    for (let i = 0; i < 3; i++) await read(1000 + i);
    await expect(reader.readInto('failing', new Uint8Array(1000))).rejects.toThrow('no such object');
    for (let i = 0; i < 2; i++) await read(1000);
    end?.();
    expect(await slow).toBe(1000);
    // What the first two get, and the one after the failure, somebody may have used before.
    expect(seen).toEqual([expect.any(Number), expect.any(Number), 2, 3, 4, expect.any(Number), 6]);
    expect(seen[5]).not.toBe(FAILED);
    await reader.close();
  });

  it('ends when the other side is gone', async () => {
    const { port1, port2 } = new MessageChannel();
    const reader = new ThreadPrefetchClient(port1);
    const waiting = reader.take(1);
    port2.close();
    await expect(waiting).rejects.toEqual(withCode('TIERED_CLOSED'));
  });
});
