import { MemoryDriver, type Clock } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';

/** What the source gives in a second, unless it is slow. */
export const BUDGET = 2e6;
export const OBJECT_BYTES = 10_000;
/** Milliseconds of a request, beside those in which its bytes pass. */
const LATENCY_MS = 1;
/** More than a training reads ahead: of two that are the same, one is read. */
const OBJECTS = 64;
export const keyOf = (object: number): string => `object-${object % OBJECTS}`;

/** A source that gives so many bytes in a second to all, in the order in which they came. */
export class SimulatedSource extends InterceptingDriver {
  /** The part that it gives of what it can. */
  speed = 1;
  readonly #clock: Clock;
  #waiting = 0;
  /** Passes the bytes of one request at a time. */
  #link: Promise<void> = Promise.resolve();

  private constructor(inner: MemoryDriver, clock: Clock) {
    super(inner);
    this.#clock = clock;
  }

  static async begin(clock: Clock): Promise<SimulatedSource> {
    const memory = new MemoryDriver();
    await memory.open({});
    const bytes = new Uint8Array(OBJECT_BYTES);
    for (let i = 0; i < OBJECTS; i++) await memory.write(keyOf(i), bytes, { size: OBJECT_BYTES });
    return new SimulatedSource(memory, clock);
  }

  /** Requests whose bytes have not passed. */
  get waiting(): number {
    return this.#waiting;
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    await this.#clock.sleep(LATENCY_MS);
    const result = await call.proceed();
    const bytes = call.moved(result);
    // By the speed at that moment, so that nothing of a slow time is left for later.
    this.#link = this.#link.then(() => this.#clock.sleep((1000 * bytes) / (BUDGET * this.speed)));
    this.#waiting += 1;
    await this.#link;
    this.#waiting -= 1;
    return result;
  }
}
