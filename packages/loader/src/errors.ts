import { TieredError } from '@tiered/core';

/** Makes the error of a loader that is closed. */
export function closedError(): TieredError {
  return new TieredError('TIERED_CLOSED', 'The loader is closed; make a new one to go on.');
}
