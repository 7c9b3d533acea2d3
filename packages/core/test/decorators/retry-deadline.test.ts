import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TieredError } from '@tiered/core';
import { RetryDriver, type RetryDriverOptions } from '@tiered/core/decorators';
import { FaultDriver, type FaultRule, HoldingDriver, ManualClock, settled } from '@tiered/core/testing';
import { listenersOn, memoryWith, outcomeOf, pattern, readFrom, withCode } from '../helpers.js';

const REASON = new Error('the caller lost interest');
const HANG: FaultRule = { fault: { kind: 'hang' } };
const FAIL: FaultRule = { fault: { kind: 'fail', code: 'TIERED_IO' } };
const FAIL_THEN_HANG: readonly FaultRule[] = [{ ...FAIL, nth: 1 }, HANG];

const clock = new ManualClock();
let caller: AbortController;
beforeEach(() => {
  caller = new AbortController();
});
// Whatever happened, nothing is left behind.
afterEach(() => {
  expect(clock.sleeping).toBe(0);
  expect(listenersOn(caller.signal)).toBe(0);
});

async function retried(rules: readonly FaultRule[], options: RetryDriverOptions = {}) {
  const faults = new FaultDriver(await memoryWith({ a: pattern(10) }), { rules, clock });
  return { faults, driver: new RetryDriver(faults, { ...options, clock }) };
}

/** A read under the caller's signal that has begun, and when it did. */
async function begin(driver: RetryDriver) {
  const start = clock.now();
  const outcome = outcomeOf(readFrom(driver, 'a', 10, { signal: caller.signal }));
  await settled();
  return { outcome, elapsed: () => clock.now() - start };
}

describe('the deadline of RetryDriver', () => {
  it('aborts a try that hangs, after 60 s unless said otherwise', async () => {
    const { driver } = await retried([HANG]);
    const { outcome } = await begin(driver);
    await clock.advance(59_999);
    expect(outcome).toEqual({});
    await clock.advance(1);
    expect(outcome.error).toMatchObject({
      code: 'TIERED_DEADLINE',
      key: 'a',
      operation: 'read',
      driver: 'memory',
      retryable: false,
    });
    expect(outcome.error).not.toHaveProperty('cause');
  });

  it('has the error of the last try as its cause', async () => {
    const { driver } = await retried(FAIL_THEN_HANG, { deadlineMs: 1000 });
    const { outcome } = await begin(driver);
    await clock.advance(1000);
    expect(outcome.error).toMatchObject({ code: 'TIERED_DEADLINE', key: 'a', cause: { code: 'TIERED_IO' } });
  });

  it('has as its cause what a driver made of the abort', async () => {
    const holding = new HoldingDriver(await memoryWith({ a: pattern(10) }));
    const { outcome } = await begin(new RetryDriver(holding, { clock, deadlineMs: 10 }));
    await clock.advance(10);
    const broken = new Error('socket closed');
    await holding.release({ error: broken });
    expect(outcome.error).toMatchObject({ code: 'TIERED_DEADLINE', cause: broken });
  });

  it('is for all tries and pauses together', async () => {
    const options = { attempts: 1000, baseDelayMs: 40, maxDelayMs: 40, deadlineMs: 500 };
    const { faults, driver } = await retried([FAIL], options);
    const { outcome, elapsed } = await begin(driver);
    await clock.advance(499);
    expect(outcome).toEqual({});
    await clock.advance(1);
    expect(outcome.error).toMatchObject({ code: 'TIERED_DEADLINE', cause: { code: 'TIERED_IO' } });
    expect(elapsed()).toBe(500);
    const tries = faults.injected.length;
    expect(tries).toBeGreaterThan(5);
    await clock.advance(500);
    expect(faults.injected.length).toBe(tries);
  });

  it('begins anew with each operation', async () => {
    const rules: FaultRule[] = [{ fault: { kind: 'delay', ms: 700 } }];
    const { driver } = await retried(rules, { deadlineMs: 1000 });
    for (let i = 0; i < 3; i++) expect(await clock.run(readFrom(driver, 'a', 10))).toEqual(pattern(10));
  });

  it('does not leave a driver behind that cannot stop, because it may write to memory of the caller', async () => {
    const holding = new HoldingDriver(await memoryWith({ a: pattern(10) }));
    const { outcome } = await begin(new RetryDriver(holding, { clock, deadlineMs: 10 }));
    await clock.advance(1000);
    expect(outcome).toEqual({});
    await holding.release();
    expect(outcome.error).toEqual(withCode('TIERED_DEADLINE'));
  });

  it('aborts a listing whose first page hangs', async () => {
    const { driver } = await retried([HANG], { deadlineMs: 1000 });
    const outcome = outcomeOf(driver.list({ signal: caller.signal }).next());
    await clock.advance(1000);
    const early = { ...outcome };
    caller.abort(REASON);
    await settled();
    expect(early.error).toEqual(withCode('TIERED_DEADLINE'));
  });
});

describe("the caller's abort of a RetryDriver's operation", () => {
  it('rejects with its reason while a try is under way', async () => {
    const { driver } = await retried([HANG]);
    const { outcome } = await begin(driver);
    caller.abort(REASON);
    await settled();
    expect(outcome.error).toBe(REASON);
  });

  it('rejects with its reason also after tries that failed, and makes no other', async () => {
    const { faults, driver } = await retried(FAIL_THEN_HANG);
    const { outcome, elapsed } = await begin(driver);
    await clock.advance(50);
    expect(faults.injected).toHaveLength(2);
    caller.abort(REASON);
    await settled();
    expect(outcome.error).toBe(REASON);
    expect(elapsed()).toBe(50);
    await clock.advance(60_000);
    expect(faults.injected).toHaveLength(2);
  });

  it('rejects with its reason at once during a pause', async () => {
    const { faults, driver } = await retried([FAIL], { baseDelayMs: 1000 });
    const { outcome, elapsed } = await begin(driver);
    expect([faults.injected.length, outcome]).toEqual([1, {}]);
    caller.abort(REASON);
    await settled();
    expect(outcome.error).toBe(REASON);
    expect(elapsed()).toBe(0);
  });

  it('wins over the error with which a driver answers it', async () => {
    const holding = new HoldingDriver(await memoryWith({ a: pattern(10) }));
    const { outcome } = await begin(new RetryDriver(holding, { clock }));
    caller.abort(REASON);
    await holding.release({ error: new TieredError('TIERED_IO', 'socket closed', { retryable: true }) });
    expect(outcome.error).toBe(REASON);
    expect(holding.held).toEqual([]);
  });

  it('wins over a deadline that passes later', async () => {
    const holding = new HoldingDriver(await memoryWith({ a: pattern(10) }));
    const { outcome } = await begin(new RetryDriver(holding, { clock, deadlineMs: 100 }));
    caller.abort(REASON);
    await clock.advance(200);
    await holding.release();
    expect(outcome.error).toBe(REASON);
  });

  it('that was there before reaches nothing', async () => {
    const { faults, driver } = await retried([FAIL]);
    caller.abort(REASON);
    const { outcome } = await begin(driver);
    expect(outcome.error).toBe(REASON);
    expect(faults.injected).toEqual([]);
  });

  it('rejects with its reason as it is, also if that is the deadline of somebody outside', async () => {
    const { driver } = await retried(FAIL_THEN_HANG);
    const { outcome } = await begin(driver);
    await clock.advance(50);
    const outside = new TieredError('TIERED_DEADLINE', 'The batch is late.');
    caller.abort(outside);
    await settled();
    expect(outcome.error).toBe(outside);
  });
});
