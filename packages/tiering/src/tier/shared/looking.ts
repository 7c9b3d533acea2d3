import type { Clock } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';

/** How often a process looks at what others did, in milliseconds: so long may bytes stay taken that another one let go. */
const LOOK_EVERY_MS = 250;

/** Looks, now and then, one look at a time, until it is aborted. A look that fails is followed by another one. */
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
