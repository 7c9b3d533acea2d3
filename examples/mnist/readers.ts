import type { Hierarchy, StorageDriver } from '@tiered/core';
import { Prefetcher } from '@tiered/prefetch';
import pLimit from 'p-limit';

/** A shard that came, and its place in the epoch. The bytes are lent until the next one is asked for. */
interface ReadShard {
  readonly position: number;
  readonly data: Uint8Array;
}

/** Reads the shards of an epoch in an order. */
export type ReadEpoch = (keys: readonly string[], signal: AbortSignal) => AsyncIterable<ReadShard>;

/** The most shards that are read ahead, in both ways: they have 1 MB each. */
const AHEAD = 8;

/** Reads through a hierarchy. A prefetcher for each epoch, so that what was read belongs to this one. */
export function byPrefetcher(hierarchy: Hierarchy): ReadEpoch {
  return async function* (keys, signal) {
    await using shards = new Prefetcher(hierarchy, [...keys], { memory: `${AHEAD}MiB`, signal });
    let position = 0;
    for await (const { data } of shards) yield { position: position++, data };
  };
}

/** What people have today: a loop that reads some files ahead of the training, and keeps none of them. */
export function byHand(source: StorageDriver, sizes: Readonly<Record<string, number>>): ReadEpoch {
  return async function* (keys, signal) {
    const limit = pLimit(AHEAD);
    const begin = (key: string) => {
      const reading = limit(() => source.read(key, { offset: 0, length: sizes[key] ?? 0, signal }));
      // One that fails is found when it is its turn.
      reading.catch(() => undefined);
      return reading;
    };
    const ahead = keys.slice(0, AHEAD).map(begin);
    for (const position of keys.keys()) {
      const data = await ahead.shift();
      const next = keys[position + AHEAD];
      if (next !== undefined) ahead.push(begin(next));
      if (data !== undefined) yield { position, data };
    }
  };
}
