import { memoryFor, raceAbort } from '@tiered/core/internal';
import type { Reading } from './served-reads.js';
import type { Range } from '../source/range-reads.js';

/**
 * The origin of the bytes of a range: a copy, a fill, the source, or two of these. Decided when it was made.
 */
export interface Origin {
  /**
   * Reads the range into new memory that the caller owns. An abort rejects at once.
   * @throws As `readInto`.
   */
  read(reading: Reading): Promise<Uint8Array>;
  /**
   * Fills the target, which is as long as the range. An abort ends this as soon as nothing writes to the
   * target any more.
   * @throws TieredError `TIERED_SOURCE_CHANGED` if the object has another version by now; then nothing of the
   * old one is left in the target. Errors of the source.
   */
  readInto(target: Uint8Array, reading: Reading): Promise<void>;
}

/**
 * Implements `read` for an origin that only fills targets. The reader may leave while its memory is filled.
 */
export async function readInNewMemory(
  origin: Pick<Origin, 'readInto'>,
  { object, length }: Range,
  reading: Reading,
): Promise<Uint8Array> {
  const target = memoryFor(length, object.key);
  await raceAbort(origin.readInto(target, reading), reading.signal);
  return target;
}
