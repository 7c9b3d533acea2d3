import type { Hierarchy, ObjectStat } from '@tiered/core';
import type { Lane } from './rate.js';

/** How objects are read for a measurement. */
export interface Reading {
  readonly hierarchy: Hierarchy;
  readonly objects: readonly ObjectStat[];
  /** Bytes of one read; an object is read piece by piece. Undefined for whole objects. */
  readonly readBytes: number | undefined;
  /**
   * Whether each object is read once, and to its end, because more of it may have been fetched than was read.
   * Otherwise all are read repeatedly.
   */
  readonly once: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Returns loaders that read at the same time, each its own objects. */
export function readers(reading: Reading, count: number): Lane[] {
  return Array.from({ length: count }, (_, number) => reader(reading, number, count));
}

function reader(
  { hierarchy, objects, readBytes, once, signal }: Reading,
  number: number,
  count: number,
): Lane {
  const own = objects.filter((_, i) => i % count === number);
  // With more loaders than objects, some read the same ones.
  const pieces = piecesOf(own.length === 0 && !once ? objects : own, readBytes, once);
  const target = readBytes === undefined ? undefined : new Uint8Array(readBytes);
  let isWithin = false;
  const next = async () => {
    signal?.throwIfAborted();
    const piece = pieces.next().value;
    isWithin = once && piece?.isLast === false;
    if (piece === undefined) return undefined;
    const { key, offset, length } = piece;
    return target === undefined
      ? (await hierarchy.read(key, { signal })).byteLength
      : await hierarchy.readInto(key, target.subarray(0, length), { offset, signal });
  };
  return { next, isWithin: () => isWithin };
}

interface Piece {
  readonly key: string;
  readonly offset: number;
  readonly length: number;
  readonly isLast: boolean;
}

function* piecesOf(
  objects: readonly ObjectStat[],
  readBytes = Infinity,
  once: boolean,
): Generator<Piece, undefined> {
  do {
    for (const { key, size } of objects)
      for (let offset = 0; offset < size; offset += readBytes)
        yield {
          key,
          offset,
          length: Math.min(readBytes, size - offset),
          isLast: offset + readBytes >= size,
        };
  } while (!once && objects.length > 0);
  return undefined;
}
