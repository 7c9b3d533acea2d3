import { TieredError } from '@tiered/core';

/** Causes of a closed prefetcher, as its error states them. */
const CLOSED_BY = {
  close: 'by close(), or at the end of a block with `await using`; make a new one to go on reading.',
  loop: 'because a loop over it was left before the end (break, return or a throw); loop over prefetcher.epoch() or take samples to go on afterwards, or make a new one.',
};

/** Error for a prefetcher that was closed. */
export function prefetcherClosedError(by: keyof typeof CLOSED_BY): TieredError {
  return new TieredError('TIERED_CLOSED', `The prefetcher was closed ${CLOSED_BY[by]}`);
}

/** Error for a sample that was released. */
export function releasedError(key: string): TieredError {
  return new TieredError(
    'TIERED_CLOSED',
    `The sample ${JSON.stringify(key)} was released, and its memory serves others; copy what you keep (data.slice()).`,
    { key },
  );
}

/** Error for a read by name from an invalid offset. */
export function rangeInvalidError(key: string, offset: number): TieredError {
  return new TieredError(
    'TIERED_RANGE_INVALID',
    `Reading ${JSON.stringify(key)}: offset ${String(offset)} must be a whole number of at least 0.`,
    { key },
  );
}

/** Error for a read by name from a prefetcher that reads requests instead of keys. */
export function noKeysError(key: string): TieredError {
  return new TieredError(
    'TIERED_CONFIG_INVALID',
    `Reading ${JSON.stringify(key)}: this prefetcher reads requests, not keys; take its samples in order, or read the hierarchy.`,
    { key },
  );
}

/** Error for an object that was never read whole, because its size changed with each read. */
export function keepsChangingError(key: string, reads: number): TieredError {
  return new TieredError(
    'TIERED_SOURCE_CHANGED',
    `${JSON.stringify(key)} had another size after each of ${reads} reads; read it when nobody writes it any more.`,
    { key },
  );
}
