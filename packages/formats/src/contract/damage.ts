import { TieredError } from '@tiered/core';

/**
 * Makes the error for bytes that are not what they must be.
 * @param at The object, and the byte where the damage is.
 * @param problem What is wrong, as a clause.
 * @param advice What to do about it.
 */
export function damaged(
  { key, offset }: { readonly key: string; readonly offset: number },
  problem: string,
  advice: string,
  cause?: unknown,
): TieredError {
  const message = `${key}, byte ${offset}: ${problem}. ${advice}`;
  return new TieredError('TIERED_DATA_CORRUPT', message, { key, ...(cause !== undefined && { cause }) });
}
