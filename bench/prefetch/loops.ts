import type { Hierarchy, StorageDriver } from '@tiered/core';
import { listSequence, Prefetcher, type PrefetcherOptions } from '@tiered/prefetch';
import * as tfdata from '@tensorflow/tfjs-data';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';

/**
 * What a loop reads: objects of one size, in an order that was shuffled before, through what is open already.
 */
export interface Work {
  readonly directory: string;
  readonly keys: readonly string[];
  readonly size: number;
  readonly driver: StorageDriver;
  readonly hierarchy: Hierarchy;
}

/**
 * Reads all objects of some work, one after the other or many at a time; whoever consumes them looks at one
 * byte of each.
 */
export type Loop = (work: Work) => Promise<void>;

/** Looks at an object, so that none is left out. */
export function consume(bytes: Uint8Array, size: number): void {
  if (bytes.byteLength !== size) throw new Error(`${bytes.byteLength} of ${size} bytes came`);
  if (bytes[size >> 1] === undefined) throw new Error('a byte is missing');
}

/** How one reads an object without the SDK; where only a driver knows how slow the source is, that driver. */
function byHand({ directory, driver, size }: Work, isDirect: boolean): (key: string) => Promise<Uint8Array> {
  if (isDirect) return (key) => fs.readFile(path.join(directory, key));
  return (key) => driver.read(key, { offset: 0, length: size });
}

export const sequentialReadFile: Loop = async ({ directory, keys, size }) => {
  for (const key of keys) consume(await fs.readFile(path.join(directory, key)), size);
};

/** So many reads at a time, by p-limit. */
export function limited(concurrency: number, isDirect: boolean): Loop {
  return async (work) => {
    const { keys, size } = work;
    const limit = pLimit(concurrency);
    const read = byHand(work, isDirect);
    await Promise.all(keys.map((key) => limit(async () => consume(await read(key), size))));
  };
}

/**
 * A pool of worker threads as one writes it by hand: `files` at a time to each, two requests ahead, memory
 * handed over.
 */
export function workerPool(files: number): Loop {
  return async ({ directory, keys, size }) => {
    const remaining = keys.map((key) => path.join(directory, key));
    const workers = Array.from(
      { length: os.availableParallelism() },
      () => new Worker(new URL('pool-worker.mjs', import.meta.url)),
    );
    const serve = async (worker: Worker) => {
      let ahead = 0;
      const ask = () => {
        const batch = remaining.splice(0, files);
        if (batch.length === 0) return;
        ahead += 1;
        worker.postMessage(batch);
      };
      ask();
      ask();
      while (ahead > 0) {
        const [buffers] = (await once(worker, 'message')) as [ArrayBuffer[]];
        ahead -= 1;
        ask();
        for (const buffer of buffers) consume(new Uint8Array(buffer), size);
      }
    };
    await Promise.all(workers.map(serve));
    await Promise.all(workers.map((worker) => worker.terminate()));
  };
}

/**
 * What TF.js offers: an asynchronous map, read ahead by so many. The bytes go by the side of the pipeline,
 * which would look into each element of an array (1 MB/s).
 */
export function tfjsPrefetch(ahead: number, isDirect: boolean): Loop {
  return async (work) => {
    const { keys, size } = work;
    const readOne = byHand(work, isDirect);
    const read = new Map<number, Uint8Array>();
    const samples = tfdata
      .array(keys.map((_, place) => place))
      .mapAsync(async (place) => {
        read.set(place, await readOne(keys[place] ?? ''));
        return place;
      })
      .prefetch(ahead);
    await samples.forEachAsync((place) => {
      consume(read.get(place) ?? new Uint8Array(0), size);
      read.delete(place);
    });
  };
}

/** What a run of the prefetcher shows beside its time. */
export interface Seen {
  readonly prefetcher: Prefetcher;
  /** Changes of the tuning, in milliseconds since the beginning, and the producers from then on. */
  readonly changes: { readonly atMs: number; readonly producers: number }[];
}

/** The prefetcher, sample by sample or in batches. */
export function prefetched(
  options: PrefetcherOptions & { readonly batch?: number; readonly epochs?: number } = {},
  onSeen: (seen: Seen) => void = () => undefined,
): Loop {
  const { batch = 1, epochs = 1, ...rest } = options;
  return async ({ keys, size, hierarchy }) => {
    await using prefetcher = new Prefetcher(hierarchy, listSequence(keys, { epochs }), rest);
    if (batch === 1) for await (const { data } of prefetcher) consume(data, size);
    else {
      for await (const samples of prefetcher.batches(batch))
        for (const { data } of samples) consume(data, size);
    }
    const changes: { atMs: number; producers: number }[] = [];
    for (const { atMs, decision } of prefetcher.profile().decisions) {
      const { producers } = decision.tuning;
      if (changes.at(-1)?.producers !== producers) changes.push({ atMs, producers });
    }
    onSeen({ prefetcher, changes });
  };
}

/** So many consumers at the same time, each taking lists of samples. */
export function consumers(count: number, options: PrefetcherOptions = {}): Loop {
  return async ({ keys, size, hierarchy }) => {
    await using prefetcher = new Prefetcher(hierarchy, listSequence(keys), options);
    const consumer = async () => {
      for (;;) {
        const samples = await prefetcher.take(8);
        if (samples.length === 0) return;
        for (const sample of samples) {
          consume(sample.data, size);
          sample.release();
        }
      }
    };
    await Promise.all(Array.from({ length: count }, consumer));
  };
}
