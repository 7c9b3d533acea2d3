import type { ManualClock } from '@tiered/core/testing';
import { Finding } from './finding.js';

/**
 * Whatever is waited for has ended after so long, in simulated milliseconds: pauses, deadlines and retries
 * together.
 */
const PATIENCE_MS = 1_800_000;

/** Somebody who does things. */
interface Doer {
  readonly options: { readonly who: number };
  readonly isRunning: boolean;
}

/** What is under way in the processes of a world, and the first thing that was found. */
export class UnderWay {
  readonly #clock: ManualClock;
  readonly #onFinding: (finding: Finding) => void;
  readonly #all = new Set<{ readonly doer: Doer; readonly what: string }>();
  #finding: Finding | undefined;
  readonly #onRejection = (error: unknown) =>
    this.note(new Finding('unhandled rejection', String(error), error));

  /** @param onFinding Told of all that is found. */
  constructor(clock: ManualClock, onFinding: (finding: Finding) => void) {
    this.#clock = clock;
    this.#onFinding = onFinding;
  }

  /** Notes rejections that nobody handles, until `stopListening`. */
  listen(): void {
    process.on('unhandledRejection', this.#onRejection);
  }

  stopListening(): void {
    process.off('unhandledRejection', this.#onRejection);
  }

  /** Something begins that is over when the promise is. */
  begin(doer: Doer, what: string, work: Promise<unknown>): void {
    const one = { doer, what };
    this.#all.add(one);
    work
      .catch((error: unknown) =>
        this.note(error instanceof Finding ? error : new Finding('failure', String(error), error)),
      )
      .finally(() => this.#all.delete(one));
  }

  /** Nobody waits any more for what a process does. */
  forget(doer: Doer): void {
    for (const one of this.#all) if (one.doer === doer) this.#all.delete(one);
  }

  /** Waits until nothing is under way in processes that run. */
  async settle(): Promise<void> {
    const isWaiting = () => [...this.#all].filter(({ doer }) => doer.isRunning);
    const until = this.#clock.now() + PATIENCE_MS;
    for (let ms = 4; isWaiting().length > 0; ms = Math.min(2 * ms, 1000)) {
      await this.#clock.advance(ms);
      this.throwFinding();
      if (this.#clock.now() < until) continue;
      const what = isWaiting().map((one) => `${one.what} of process ${one.doer.options.who}`);
      throw new Finding('hang', `after ${PATIENCE_MS / 1000} s: ${what.join(', ')}`);
    }
  }

  note(finding: Finding): void {
    this.#onFinding(finding);
    this.#finding ??= finding;
  }

  /** @throws Finding the first one. */
  throwFinding(): void {
    if (this.#finding !== undefined) throw this.#finding;
  }
}
