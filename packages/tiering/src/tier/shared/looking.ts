import type { Clock } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';

/**
 * Milliseconds between two looks at what others did: bytes that another process freed may count for this
 * long.
 */
const LOOK_EVERY_MS = 250;

/**
 * Looks at intervals, one look at a time, until it is aborted. A look that fails is followed by another one.
 */
export async function keepLooking(
  look: () => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const stopped = new Promise<void>((resolve) => onAbort(signal, () => resolve()));
  while (!signal.aborted) {
    await Promise.race([
      clock.sleep(LOOK_EVERY_MS, signal, { background: true }).catch(() => undefined),
      stopped,
    ]);
    if (!signal.aborted) await look().catch(() => undefined);
  }
}
