import { TieredError } from '@tiered/core';

/** What closes a prefetcher. */
const CLOSED_BY = {
  close: 'by close(), or at the end of a block with `await using`; make a new one to go on reading.',
  loop: 'because a loop over it was left before the end (break, return or a throw); loop over prefetcher.epoch() or take samples to go on afterwards, or make a new one.',
};

/** The error of a prefetcher that was closed. */
export function prefetcherClosedError(by: keyof typeof CLOSED_BY): TieredError {
  return new TieredError('TIERED_CLOSED', `The prefetcher was closed ${CLOSED_BY[by]}`);
}

/** The error of a sample whose memory was given back. */
export function releasedError(key: string): TieredError {
  return new TieredError(
    'TIERED_CLOSED',
    `The sample ${JSON.stringify(key)} was released, and its memory serves others; copy what you keep (data.slice()).`,
    { key },
  );
}

/** The error of a read by name from an offset that is not valid. */
export function rangeInvalidError(key: string, offset: number): TieredError {
  return new TieredError(
    'TIERED_RANGE_INVALID',
    `Reading ${JSON.stringify(key)}: offset ${String(offset)} must be a whole number of at least 0.`,
    { key },
  );
}

/** The error of a read by name, where requests are read that nobody can name. */
export function noKeysError(key: string): TieredError {
  return new TieredError(
    'TIERED_CONFIG_INVALID',
    `Reading ${JSON.stringify(key)}: this prefetcher reads requests, not keys; take its samples in order, or read the hierarchy.`,
    { key },
  );
}

/** The error of an object that was never read whole, because its size was different after each read. */
export function keepsChangingError(key: string, reads: number): TieredError {
  return new TieredError(
    'TIERED_SOURCE_CHANGED',
    `${JSON.stringify(key)} had another size after each of ${reads} reads; read it when nobody writes it any more.`,
    { key },
  );
}
