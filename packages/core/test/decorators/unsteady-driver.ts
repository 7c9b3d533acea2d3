import { expect } from 'vitest';
import { TieredError, type StorageDriver } from '@tiered/core';
import {
  InterceptingDriver,
  type DriverCall,
  type ReadIntoOptions,
  type ReadOptions,
} from '@tiered/core/driver';
import type { ManualClock } from '@tiered/core/testing';

/** How one request goes. */
export interface Plan {
  /** Milliseconds until it ends. Default: 10. */
  readonly ms?: number;
  /** Parts that come one after the other in this time, and are told. Default: 1. */
  readonly parts?: number;
  /** Milliseconds for which it goes on after an abort, and writes into its target. Default: 0. */
  readonly lingersMs?: number;
  /** It fails in the end, with an error that may pass or not. Default: it succeeds. */
  readonly fails?: 'retryable' | 'final' | undefined;
}

/**
 * Makes each request as the next plan says, in the order in which they come: slowly, in parts, failing, or
 * deaf to its abort for a while. The bytes of a request are those of the version that was there when it
 * began.
 */
export class UnsteadyDriver extends InterceptingDriver {
  readonly plans: Plan[] = [];
  requests = 0;
  active = 0;
  readonly #clock: ManualClock;

  constructor(inner: StorageDriver, clock: ManualClock) {
    super(inner);
    this.#clock = clock;
  }

  override async read(key: string, { length, ...options }: ReadOptions): Promise<Uint8Array> {
    const target = new Uint8Array(length);
    return target.subarray(0, await this.readInto(key, target, { ...options, progress: undefined }));
  }

  override async readInto(key: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    const plan = this.plans.shift() ?? {};
    this.requests += 1;
    this.active += 1;
    try {
      return await this.#follow(plan, key, target, options);
    } finally {
      this.active -= 1;
    }
  }

  /** As the contract says, no request is under way then. */
  override async close(): Promise<void> {
    expect(this.active).toBe(0);
    await super.close();
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }

  async #follow(
    { ms = 10, parts = 1, lingersMs = 0, fails }: Plan,
    key: string,
    target: Uint8Array,
    { offset, version, signal, progress }: ReadIntoOptions,
  ): Promise<number> {
    const bytes = await this.inner.read(key, { offset, length: target.byteLength, version });
    for (let part = 1; part <= parts; part++) {
      try {
        await this.#clock.sleep(ms / parts, signal);
      } catch (reason) {
        if (lingersMs > 0) await this.#clock.sleep(lingersMs);
        target.set(bytes);
        throw reason;
      }
      const there = Math.floor((bytes.byteLength * part) / parts);
      target.set(bytes.subarray(0, there));
      if (parts > 1) progress?.(there);
    }
    if (fails === undefined) return bytes.byteLength;
    throw new TieredError('TIERED_IO', `a ${fails} error`, { retryable: fails === 'retryable' });
  }
}
