import { TieredError, type Tier } from '@tiered/core';

/** Another process is about to put a new log in the place of this one, and does not come to that. */
export function sealedError({ driver }: Tier): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    `${driver.name} is kept busy by another process that is opening it; try again once that has started.`,
    { driver: driver.name, operation: 'open', retryable: true },
  );
}

/** The storage has another log than the one that this process uses. */
export function notCurrentError({ driver }: Tier): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    `${driver.name}: its log was deleted, or another storage is there now; placing goes on with that.`,
    { driver: driver.name, operation: 'publish', retryable: true },
  );
}

/** Lines of the log were damaged while other processes use it. */
export function damagedError({ driver }: Tier): TieredError {
  return new TieredError(
    'TIERED_DATA_CORRUPT',
    `${driver.name}: the log of the tier is damaged while other processes use it; stop them, and the next start mends it.`,
    { driver: driver.name, operation: 'open' },
  );
}

/** Others freed what this process had claimed: to them it looked dead. */
export function takenForDeadError({ driver }: Tier): TieredError {
  return new TieredError(
    'TIERED_UNAVAILABLE',
    `${driver.name}: another process took this one for dead and cleared up after it; placing goes on.`,
    { driver: driver.name, operation: 'write', retryable: true },
  );
}
