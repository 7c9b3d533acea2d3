import { memoryFor, raceAbort } from '@tiered/core/internal';
import type { Reading } from './served-reads.js';
import type { Range } from '../source/range-reads.js';

/**
 * Where the bytes of a range are: in a copy, in a fill, in the source, or in two of these. That was decided
 * when it was made.
 */
export interface Origin {
  /**
   * Reads the range into new memory, which is the caller's. An abort lets go at once.
   * @throws As `readInto`.
   */
  read(reading: Reading): Promise<Uint8Array>;
  /**
   * Fills the target, which is as long as the range. An abort ends this as soon as nothing writes to the
   * target any more.
   * @throws TieredError `TIERED_SOURCE_CHANGED` if the object is of another version by now; nothing of the
   * old one is left in the target then. What the source throws.
   */
  readInto(target: Uint8Array, reading: Reading): Promise<void>;
}

/** Reads the range of an origin that only fills targets. The reader may leave while its memory is filled. */
export async function readInNewMemory(
  origin: Pick<Origin, 'readInto'>,
  { object, length }: Range,
  reading: Reading,
): Promise<Uint8Array> {
  const target = memoryFor(length, object.key);
  await raceAbort(origin.readInto(target, reading), reading.signal);
  return target;
}
