import { onAbort } from '../support/abort.js';
import { systemClock, type Clock } from '../support/clock.js';
import type { Operation, StorageDriver } from '../driver/driver.js';
import { assertCounts, configError, TieredError, type ErrorCode } from '../support/errors.js';
import { Random } from '../support/random.js';
import { InterceptingDriver, type DriverCall } from './intercepting-driver.js';

/** A fault to inject, and its conditions. A rule without a condition applies to every call. */
export interface FaultRule {
  /** Operations it applies to. Default: all. */
  readonly operations?: readonly Operation[] | undefined;
  /** Keys it applies to. Default: all. */
  readonly key?: RegExp | undefined;
  /** Applies to the n-th matching call only, counted from 1. */
  readonly nth?: number | undefined;
  /** Applies with this probability from 0 to 1, drawn from the seed. Default: 1. */
  readonly probability?: number | undefined;
  /** The injected fault; see `Fault`. */
  readonly fault: Fault;
}

/**
 * The effect of an injected fault.
 * - `fail` throws instead of making the call.
 * - `fail-after` makes the call and loses the answer.
 * - `truncate` halves the result of a read.
 * - `corrupt` flips one bit of the result of a read.
 * - `delay` waits before the call.
 * - `hang` waits until the call is aborted.
 */
export type Fault =
  | { readonly kind: 'fail' | 'fail-after'; readonly code?: ErrorCode; readonly retryable?: boolean }
  | { readonly kind: 'truncate' | 'corrupt' | 'hang' }
  | { readonly kind: 'delay'; readonly ms: number };

/** Options of `FaultDriver`. */
export interface FaultDriverOptions {
  readonly rules: readonly FaultRule[];
  /** Seeds probabilities and flipped bits. Default: 0. */
  readonly seed?: number | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Injects faults into every operation of a driver. The same seed and order of calls produce the same faults.
 * The first rule that matches a call wins. `injected` lists the injected faults, for the message of a failing
 * test.
 */
export class FaultDriver extends InterceptingDriver {
  /** Every fault so far, as `kind operation key`. */
  readonly injected: string[] = [];
  readonly #rules: readonly FaultRule[];
  readonly #matches: number[];
  readonly #random: Random;
  readonly #clock: Clock;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a rule that cannot apply. */
  constructor(inner: StorageDriver, { rules, seed = 0, clock = systemClock }: FaultDriverOptions) {
    super(inner);
    for (const [index, { nth = 1, probability = 1 }] of rules.entries()) {
      assertCounts({ [`rules[${index}].nth`]: nth });
      if (!(probability >= 0 && probability <= 1)) {
        throw configError(`rules[${index}].probability`, 'a number from 0 to 1', probability);
      }
    }
    this.#rules = rules;
    this.#matches = rules.map(() => 0);
    this.#random = new Random(seed);
    this.#clock = clock;
  }

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const fault = this.#faultFor(call.operation, call.key);
    if (fault === undefined) return call.proceed();
    this.injected.push(`${fault.kind} ${call.operation} ${call.key}`);
    switch (fault.kind) {
      case 'fail':
        throw this.#error(fault, call.operation, call.key);
      case 'fail-after':
        await call.proceed();
        throw this.#error(fault, call.operation, call.key);
      case 'delay':
        await this.#clock.sleep(fault.ms, call.signal);
        return call.proceed();
      case 'hang':
        return untilAborted(call.signal);
      case 'truncate':
        return truncated(await call.proceed());
      case 'corrupt':
        return this.#corrupted(await call.proceed(), call.target);
    }
  }

  #faultFor(operation: Operation, key: string): Fault | undefined {
    let chosen: Fault | undefined;
    for (const [index, rule] of this.#rules.entries()) {
      if (rule.operations !== undefined && !rule.operations.includes(operation)) continue;
      // Not `test`, which remembers the last match of a global pattern.
      if (rule.key !== undefined && key.search(rule.key) === -1) continue;
      const match = (this.#matches[index] ?? 0) + 1;
      this.#matches[index] = match;
      if (rule.nth !== undefined && rule.nth !== match) continue;
      if (rule.probability !== undefined && this.#random.unit() >= rule.probability) continue;
      chosen ??= rule.fault;
    }
    return chosen;
  }

  #error(
    fault: Fault & { readonly kind: 'fail' | 'fail-after' },
    operation: Operation,
    key: string,
  ): TieredError {
    return new TieredError(
      fault.code ?? 'TIERED_FAULT_INJECTED',
      `${this.name}: injected fault in ${operation} of "${key}".`,
      {
        driver: this.name,
        operation,
        key,
        retryable: fault.retryable ?? true,
      },
    );
  }

  /** Flips a bit in a copy of the bytes read, or in the caller's memory. Other results pass unchanged. */
  #corrupted<T>(result: T, target: Uint8Array | undefined): T {
    const corrupt =
      result instanceof Uint8Array ? Uint8Array.from(result) : target?.subarray(0, Number(result));
    if (corrupt === undefined || corrupt.byteLength === 0) return result;
    const at = this.#random.below(corrupt.byteLength);
    corrupt[at] = (corrupt[at] ?? 0) ^ (1 << this.#random.below(8));
    return result instanceof Uint8Array ? (corrupt as T & Uint8Array) : result;
  }
}

function truncated<T>(result: T): T {
  if (result instanceof Uint8Array) return result.subarray(0, result.byteLength >> 1) as T & Uint8Array;
  return (typeof result === 'number' ? result >> 1 : result) as T;
}

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => void onAbort(signal, reject));
}
