import { Random } from '@tiered/core';

/** Objects of one size, and how a training reads them. */
export interface Dataset {
  readonly name: string;
  readonly bucket: string;
  readonly objects: number;
  /** Bytes of an object. */
  readonly bytes: number;
  /** Bytes of a read. As many as an object has: it is read whole, without a range. */
  readonly piece: number;
  /** Reads at a time, each on a connection of its own. */
  readonly connections: number;
}

/** A read: all of an object, or a range of it. */
export interface Read {
  readonly key: string;
  readonly range: string | undefined;
}

const MIB = 2 ** 20;

/** Shards that are read from their beginning to their end, piece by piece, as a loader of shards does. */
export function shards(quick: boolean): Dataset {
  return {
    name: 'ranges of 8 MiB',
    bucket: 'shards',
    objects: quick ? 4 : 12,
    bytes: (quick ? 16 : 32) * MIB,
    piece: 8 * MIB,
    connections: 4,
  };
}

/** Samples that are objects of their own. */
export function smallObjects(quick: boolean): Dataset {
  return {
    name: 'objects of 100 KB',
    bucket: 'objects',
    objects: quick ? 400 : 4000,
    bytes: 100_000,
    piece: 100_000,
    connections: 16,
  };
}

export function bytesOf({ objects, bytes }: Dataset): number {
  return objects * bytes;
}

export function keysOf({ objects }: Dataset): string[] {
  return Array.from({ length: objects }, (_, i) => `train/${String(i).padStart(5, '0')}`);
}

/** What an epoch reads, by object, in its order. The same for whoever asks. */
export function* readsOf(dataset: Dataset, epoch: number): Generator<readonly Read[]> {
  const { objects, bytes, piece } = dataset;
  const keys = keysOf(dataset);
  for (const i of new Random(1, epoch).permutation(objects)) {
    const key = keys[i] ?? '';
    yield Array.from({ length: bytes / piece }, (_, n) => ({
      key,
      range: bytes === piece ? undefined : `bytes=${n * piece}-${(n + 1) * piece - 1}`,
    }));
  }
}
