import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTieredError } from '@tiered/core';
import { HedgeDriver } from '@tiered/core/decorators';
import { ManualClock, someBytes } from '@tiered/core/testing';
import { memoryWith, outcomeOf } from '../helpers.js';
import { UnsteadyDriver, type Plan } from './unsteady-driver.js';

const REASON = new Error('the caller lost interest');

/** The object as it is from the n-th replacement on: other bytes, and another size. */
const versionOf = (n: number) => someBytes(60 + ((n * 17) % 40), n);

const ms = fc.integer({ min: 1, max: 60 });
const plan: fc.Arbitrary<Plan> = fc.record(
  {
    ms: fc.oneof({ weight: 3, arbitrary: fc.constant(10) }, ms),
    parts: fc.integer({ min: 1, max: 4 }),
    lingersMs: fc.oneof(fc.constant(0), ms),
    fails: fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, fc.constantFrom('retryable', 'final')),
  },
  { requiredKeys: [] },
);

/** A read, and what happens after it has begun. */
const step = fc.record({
  into: fc.boolean(),
  offset: fc.nat(110),
  length: fc.nat(110),
  asksVersion: fc.boolean(),
  abortsAfterMs: fc.option(ms, { nil: undefined }),
  replaces: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  pauseMs: fc.integer({ min: 0, max: 30 }),
});

const setup = fc.record({
  plans: fc.array(plan, { maxLength: 60 }),
  steps: fc.array(step, { maxLength: 30 }),
  budget: fc.constantFrom(0.05, 0.3, 1),
  memory: fc.constantFrom(0, 100, 1000),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

interface Version {
  readonly id: string;
  readonly number: number;
}

/** A read under way, and all that its caller saw. */
class Watched {
  readonly outcome: { value?: number | Uint8Array; error?: unknown };
  readonly target: Uint8Array;
  readonly ended: Promise<void>;
  /** The target as it was when it was said to be final, and when the read had settled. */
  #told = new Uint8Array(0);
  #settled: Uint8Array | undefined;

  readonly step: Step;
  readonly version: Version | undefined;
  readonly signal: AbortSignal;

  constructor(driver: HedgeDriver, step: Step, version: Version | undefined, signal: AbortSignal) {
    this.step = step;
    this.version = version;
    this.signal = signal;
    const { offset, length, into } = step;
    this.target = new Uint8Array(length).fill(0xaa);
    const options = { offset, version: version?.id, signal };
    const progress = (bytes: number) => {
      expect(this.#settled).toBeUndefined();
      if (bytes > this.#told.byteLength) this.#told = this.target.slice(0, bytes);
    };
    const reading: Promise<number | Uint8Array> = into
      ? driver.readInto('a', this.target, { ...options, progress })
      : driver.read('a', { ...options, length });
    this.outcome = outcomeOf(reading);
    const note = () => {
      this.#settled = this.target.slice();
    };
    this.ended = reading.then(note, note);
  }

  /** Looks at all of it, when nothing is under way any more; `versions` is how many there were. */
  check(versions: number): void {
    expect(this.target, 'touched after it had settled').toEqual(this.#settled);
    expect(this.target.subarray(0, this.#told.byteLength), 'not as it was said to stay').toEqual(this.#told);
    if ('error' in this.outcome) this.#checkError(this.outcome.error);
    else this.#checkBytes(versions);
  }

  #checkError(error: unknown): void {
    if (error === REASON) expect(this.signal.aborted).toBe(true);
    else if (isTieredError(error, 'TIERED_SOURCE_CHANGED')) expect(this.version).toBeDefined();
    else expect(isTieredError(error, 'TIERED_IO')).toBe(true);
  }

  #checkBytes(versions: number): void {
    const { value } = this.outcome;
    const { offset, length } = this.step;
    const got = value instanceof Uint8Array ? value : this.target.subarray(0, value);
    const all = this.version === undefined ? [...Array(versions).keys()] : [this.version.number];
    const right = all.some((n) => Buffer.compare(versionOf(n).subarray(offset, offset + length), got) === 0);
    expect(right, 'bytes of no version, or of another one').toBe(true);
  }
}

describe('hedged reads', () => {
  it('[H1] [H2] give the bytes of one version or an error, touch nothing afterwards, and stay within the budget', async () => {
    let won = 0;
    await fc.assert(
      fc.asyncProperty(setup, async ({ plans, steps, budget, memory }) => {
        const clock = new ManualClock();
        const objects = await memoryWith({ a: versionOf(0) });
        const unsteady = new UnsteadyDriver(objects, clock);
        const driver = new HedgeDriver(unsteady, { percentile: 0.5, budget, memory, clock });
        await driver.open({});
        for (let i = 0; i < 4; i++) await clock.run(driver.read('a', { offset: 0, length: 100 }));
        unsteady.plans.push(...plans);

        const all: Watched[] = [];
        let versions = 1;
        for (const one of steps) {
          const { version: id } = await objects.stat('a', {});
          const controller = new AbortController();
          const version = one.asksVersion ? { id, number: versions - 1 } : undefined;
          const read = new Watched(driver, one, version, controller.signal);
          all.push(read);
          if (one.abortsAfterMs !== undefined)
            void clock.sleep(one.abortsAfterMs).then(() => controller.abort(REASON));
          await clock.advance(one.pauseMs);
          if (!one.replaces) continue;
          await objects.write('a', versionOf(versions), { size: versionOf(versions).byteLength });
          versions += 1;
        }
        await clock.run(Promise.all(all.map(({ ended }) => ended)));
        await clock.run(driver.close());
        expect(unsteady.active).toBe(0);
        await clock.advance(1000);
        expect(clock.sleeping).toBe(0);
        for (const read of all) read.check(versions);

        const { reads, hedges, ...counts } = driver.metrics();
        expect(reads).toBe(steps.length + 4);
        expect(unsteady.requests).toBe(reads + hedges);
        expect(hedges).toBeLessThanOrEqual(budget * reads);
        expect(counts.won + counts.lost).toBeLessThanOrEqual(hedges);
        won += counts.won;
      }),
      { numRuns: 200 },
    );
    expect(won, 'second answers that were used').toBeGreaterThan(0);
  });
});
