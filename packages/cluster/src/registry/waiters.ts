import { raceAbort } from '@tiered/core/internal';

/** Callers that wait for an event. A caller that stops waiting leaves nothing behind. */
export class Waiters {
  readonly #wakes = new Set<() => void>();

  /** Resolves at the next `wake`. Rejects with `signal.reason` as soon as the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    let wake: () => void = () => undefined;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#wakes.add(wake);
    await raceAbort(woken, signal).finally(() => this.#wakes.delete(wake));
  }

  wake(): void {
    for (const wake of [...this.#wakes]) wake();
  }
}
