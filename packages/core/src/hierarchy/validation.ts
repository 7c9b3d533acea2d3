import { TieredError } from '../support/errors.js';

/**
 * Refuses keys that no driver can serve. The driver adds its own rules, such as keys inside a root or of a
 * limited length.
 * @throws TieredError `TIERED_KEY_INVALID`
 */
export function assertKey(key: string): void {
  const problem =
    typeof key !== 'string'
      ? 'is not a string'
      : key.length === 0
        ? 'is empty'
        : key.includes('\0')
          ? 'contains NUL'
          : key.isWellFormed()
            ? undefined
            : 'is not well-formed Unicode';
  if (problem === undefined) return;
  throw new TieredError(
    'TIERED_KEY_INVALID',
    `The key ${JSON.stringify(key)} ${problem}; use the name of an object.`,
    { key },
  );
}

/**
 * Returns how many bytes a read of `length` at `offset` returns from an object of `size` bytes.
 * @throws TieredError `TIERED_RANGE_INVALID` unless both are whole numbers of at least 0.
 */
export function clampLength(key: string, size: number, offset: number, length: number | undefined): number {
  if (!isByteCount(offset) || !(length === undefined || isByteCount(length))) {
    throw new TieredError(
      'TIERED_RANGE_INVALID',
      `Reading ${JSON.stringify(key)}: offset ${String(offset)} and length ${String(length)} must be whole numbers of at least 0.`,
      { key },
    );
  }
  const left = Math.max(0, size - offset);
  return length === undefined ? left : Math.min(length, left);
}

/**
 * Returns the total length of pieces.
 * @param size Bytes of the object from the offset that the pieces are relative to.
 * @param room Bytes of their target.
 * @throws TieredError `TIERED_RANGE_INVALID` if they do not fill the target, or are not within the object.
 */
export function lengthOfPieces(key: string, pieces: Float64Array, size: number, room = 0): number {
  let length = 0;
  let areWithin = pieces.length % 2 === 0;
  for (let i = 0; i < pieces.length; i += 2) {
    const [from = NaN, bytes = NaN] = [pieces[i], pieces[i + 1]];
    areWithin &&= isByteCount(from) && isByteCount(bytes) && from + bytes <= size;
    length += bytes;
  }
  if (areWithin && length === room) return length;
  throw piecesInvalid(key);
}

/** Makes the error of pieces that are not within their object, or do not fill their target. */
export function piecesInvalid(key: string): TieredError {
  return new TieredError(
    'TIERED_RANGE_INVALID',
    `Reading ${JSON.stringify(key)}: pieces must be pairs of a first byte and a length, within the object, that fill the target.`,
    { key },
  );
}

function isByteCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
