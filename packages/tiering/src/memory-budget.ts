import { raceAbort } from '@tiered/core/internal';

/**
 * Bytes of chunks in memory: on their way from the source, or waiting to be written to a tier. Readers take what they
 * need (they wait for those very bytes); work that nobody waits for takes only what is left.
 */
export class MemoryBudget {
  readonly #limit: number;
  #held = 0;
  #onRelease: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  hasRoom(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#limit;
  }

  take(bytes: number): void {
    this.#held += bytes;
  }

  release(bytes: number): void {
    this.#held -= bytes;
    const waiting = this.#onRelease;
    this.#onRelease = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when there is room, which another may take before the caller does. */
  async room(bytes: number, signal: AbortSignal): Promise<void> {
    while (!this.hasRoom(bytes)) {
      await raceAbort(new Promise<void>((resolve) => this.#onRelease.push(resolve)), signal);
    }
  }
}
