import { isTieredError, type ErrorCode } from '../support/errors.js';
import type { PlacementHost } from '../placement/placement.js';
import type { Tier } from './tier.js';

/** Errors of a tier at start that are permanent, and not faults of the storage. */
const MISTAKES: readonly ErrorCode[] = [
  'TIERED_CONFIG_INVALID',
  'TIERED_DIRECTORY_NOT_OURS',
  'TIERED_KEY_INVALID',
  'TIERED_UNSUPPORTED',
];

/** Whether an error of opening a tier is a mistake in its configuration, and not a fault that may pass. */
export function isMistake(error: unknown): boolean {
  return !isTieredError(error) || MISTAKES.includes(error.code);
}

/** Opens a tier. A tier that does not work at the moment is retried later, and does not prevent the start. */
export async function openAtStart(
  tier: Tier,
  signal: AbortSignal,
  host: Pick<PlacementHost, 'openTier' | 'tierFault'>,
): Promise<void> {
  try {
    await host.openTier(tier, { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (isMistake(error)) throw error;
    host.tierFault(tier, 'open', '', error);
  }
}
