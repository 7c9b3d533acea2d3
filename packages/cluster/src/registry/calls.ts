import { TieredError, type Clock } from '@tiered/core';
import { onAbort, OperationScope, raceAbort } from '@tiered/core/internal';

/** The abort reason of a deadline whose call has ended. */
const ENDED = new Error('the call has ended');

/**
 * The calls of a registry. Each ends within the bound whatever its engine does, when its caller aborts it,
 * and when the registry is closed.
 */
export class Calls {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #boundMs: number;
  readonly #scope = new OperationScope();
  #state: 'new' | 'open' | 'closed' = 'new';

  /**
   * @param name The name of the registry, for messages.
   * @param clock Measures the bound.
   * @param boundMs Milliseconds after which a call times out.
   */
  constructor(name: string, clock: Clock, boundMs: number) {
    this.#name = name;
    this.#clock = clock;
    this.#boundMs = boundMs;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** Makes the opening call, after which others may be made. Does nothing if it has succeeded before. */
  async open(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#state === 'open') return;
    await this.#run(signal, work);
    if (this.#state === 'new') this.#state = 'open';
  }

  /**
   * Makes a call.
   * @param work Gets a signal that aborts when the call is no longer waited for.
   * @throws TieredError `TIERED_UNAVAILABLE` after the bound.
   */
  async run<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#state !== 'new') return this.#run(signal, work);
    throw new TieredError('TIERED_NOT_OPEN', `${this.#name} is not open; await open() first.`);
  }

  /** Ends all calls, and refuses new ones. Idempotent. */
  async close(): Promise<void> {
    this.#state = 'closed';
    await this.#scope.close(new TieredError('TIERED_CLOSED', `${this.#name} is closed.`));
  }

  #run<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#scope.run(signal, async (shared) => {
      const [over, ended] = [new AbortController(), new AbortController()];
      const stopListening = onAbort(shared, (reason) => over.abort(reason));
      this.#clock.sleep(this.#boundMs, ended.signal, { background: true }).then(
        () => over.abort(this.#late()),
        () => undefined,
      );
      try {
        return await raceAbort(work(over.signal), over.signal);
      } finally {
        stopListening();
        ended.abort(ENDED);
      }
    });
  }

  #late(): TieredError {
    const seconds = this.#boundMs / 1000;
    return unavailable(this.#name, `has not answered for ${seconds} s; it is asked again later`);
  }
}

/** The error of a registry that cannot be reached at present. */
export function unavailable(name: string, what: string, cause?: unknown): TieredError {
  return new TieredError('TIERED_UNAVAILABLE', `${name} ${what}.`, { cause, retryable: true });
}
