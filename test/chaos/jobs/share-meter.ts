import type { Clock, StorageDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { Finding } from '../simulated/finding.js';
import type { SimulatedProcess } from '../simulated/process.js';

/** Seconds of a share that may be used at once. */
const BURST = 0.1;

/** What is metered. */
interface Metered {
  readonly name: string;
  /** Of the world. */
  readonly clock: Clock;
  readonly process: SimulatedProcess;
  /** Bytes in a second that may pass now. */
  readonly share: () => number;
  readonly onFinding: (finding: Finding) => void;
}

/**
 * The way of a stage to the source, below its control: looks whether what passes keeps to the share [U3].
 * Between two looks at the share the larger one holds, since it changes in between.
 */
export class ShareMeter extends InterceptingDriver {
  readonly #of: Metered;
  #at: number;
  #share = Infinity;
  #balance = Infinity;

  constructor(inner: StorageDriver, of: Metered) {
    super(inner);
    this.#of = of;
    this.#at = of.clock.now();
  }

  /** Looks at the share: whenever it may be another one. */
  look(): void {
    const { clock, share } = this.#of;
    const [now, present] = [clock.now(), share()];
    const most = Math.max(this.#share, present);
    const grown = ((now - this.#at) / 1000) * most;
    // A share without a bound is not waited for.
    this.#balance = most === Infinity ? Infinity : Math.min(this.#balance + grown, BURST * most);
    this.#at = now;
    this.#share = present;
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const { process } = this.#of;
    this.#pass(call.mostBytes);
    // Nothing passes while it is stopped.
    await process.gate();
    const result = await call.proceed();
    await process.gate();
    this.#balance += call.mostBytes - call.moved(result);
    return result;
  }

  #pass(bytes: number): void {
    if (bytes === 0) return;
    this.look();
    // A share is a sum of many parts.
    if (this.#balance < -1e-3)
      this.#of.onFinding(
        new Finding(
          'more than the share',
          `${this.#of.name} is ${-this.#balance} bytes ahead of its share of ${this.#share} bytes a second`,
        ),
      );
    this.#balance -= bytes;
  }
}
