import { isTieredError, type ErrorCode } from '../support/errors.js';
import type { PlacementHost } from '../placement.js';
import type { Tier } from './tier.js';

/** What a tier may fail with at start that is no fault of the storage, and does not pass. */
const MISTAKES: readonly ErrorCode[] = [
  'TIERED_CONFIG_INVALID',
  'TIERED_DIRECTORY_NOT_OURS',
  'TIERED_KEY_INVALID',
  'TIERED_UNSUPPORTED',
];

/** Whether an error of a tier that is being opened is one of whoever configured it, and no fault that may pass. */
export function isMistake(error: unknown): boolean {
  return !isTieredError(error) || MISTAKES.includes(error.code);
}

/** Opens a tier. One that does not work at the moment is tried again later, and does not keep anybody from starting. */
export async function openAtStart(
  tier: Tier,
  signal: AbortSignal,
  host: Pick<PlacementHost, 'tierFault'>,
): Promise<void> {
  try {
    await tier.open({ signal });
  } catch (error) {
    signal.throwIfAborted();
    if (isMistake(error)) throw error;
    host.tierFault(tier, 'open', '', error);
  }
}
