import { TieredError, type ErrorCode, type Tier } from '@tiered/core';

function tierError(
  { driver }: Pick<Tier, 'driver'>,
  code: ErrorCode,
  what: string,
  retryable: boolean,
): TieredError {
  return new TieredError(code, `${driver.name}: ${what}`, {
    driver: driver.name,
    operation: 'publish',
    retryable,
  });
}

/** The storage has another index than the one that this process uses. */
export function notCurrentError(tier: Tier): TieredError {
  const what = 'its index was deleted, or another storage is there now; placing goes on with that.';
  return tierError(tier, 'TIERED_UNAVAILABLE', what, true);
}

/** The index was written by another version. */
export function foreignIndexError(tier: Pick<Tier, 'driver'>): TieredError {
  const what =
    'the index of the tier is of another version of tiered; give the tier a directory of its own, or end the other version and empty the directory.';
  return tierError(tier, 'TIERED_UNAVAILABLE', what, false);
}

/** The index cannot be read while other processes use it. */
export function damagedError(tier: Tier): TieredError {
  const what =
    'the index of the tier is damaged while other processes use it; stop them, and the next start begins anew.';
  return tierError(tier, 'TIERED_DATA_CORRUPT', what, true);
}

/** The index did not answer a start in time. */
export function heldError(tier: Tier): TieredError {
  const what =
    'the index of the tier does not answer: another process holds it, which may be stopped, or its disk hangs; reads go on without the tier, and it is tried again.';
  return tierError(tier, 'TIERED_UNAVAILABLE', what, true);
}

/** Other processes took this one for dead, and freed its claims. */
export function takenForDeadError(tier: Tier): TieredError {
  const what = 'another process took this one for dead and cleared up after it; placing goes on.';
  return tierError(tier, 'TIERED_UNAVAILABLE', what, true);
}

/** Another process has the same copy, or is making it. */
export function takenError(tier: Tier, key: string): TieredError {
  return tierError(
    tier,
    'TIERED_EXISTS',
    `another process placed ${JSON.stringify(key)} at the same time.`,
    true,
  );
}
