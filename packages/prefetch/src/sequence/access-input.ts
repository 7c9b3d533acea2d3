import { TieredError } from '@tiered/core';
import type { Access, AccessSequence } from './access-sequence.js';

/**
 * What a prefetcher reads: a sequence, which can be resumed, or accesses from a list or a stream. At most 256
 * accesses of a stream are taken ahead of their reads. A string is a key; its epoch is 0, and its position is
 * the one in which it comes.
 */
export type AccessInput = AccessSequence | Iterable<Access | string> | AsyncIterable<Access | string>;

/**
 * Returns the accesses as a sequence, which can be resumed in its middle.
 * @throws TieredError `TIERED_CONFIG_INVALID` if they are not a sequence.
 */
export function sequenceOf(accesses: AccessInput): AccessSequence {
  if (isSequence(accesses)) return accesses;
  throw new TieredError(
    'TIERED_CONFIG_INVALID',
    'Only an AccessSequence can be resumed: make one with shuffledSequence or listSequence.',
  );
}

/** Whether accesses can be read from it at all. A string is refused, although it is iterable. */
export function isIterable(accesses: unknown): boolean {
  if (typeof accesses !== 'object' || accesses === null) return false;
  return Symbol.iterator in accesses || Symbol.asyncIterator in accesses;
}

function isSequence(accesses: object): accesses is AccessSequence {
  return 'from' in accesses && 'epochLength' in accesses;
}
