import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryDriver } from '@tiered/core';
import { RetryDriver, type RetryDriverOptions } from '@tiered/core/decorators';
import type { Operation } from '@tiered/core/driver';
import { FaultDriver, type FaultRule, HoldingDriver, ManualClock, settled } from '@tiered/core/testing';
import {
  NotingDriver,
  listed,
  listenersOn,
  memoryWith,
  outcomeOf,
  pattern,
  readFrom,
  withCode,
} from '../helpers.js';

/** Writes three bytes in parts, and reads them back before they are published. */
async function written(driver: RetryDriver, key: string): Promise<Uint8Array> {
  const writer = await driver.create(key, { size: 3 });
  await writer.writeAt(pattern(3), { offset: 0 });
  const target = new Uint8Array(3);
  await writer.readInto(target, { offset: 0 });
  return target;
}

/** A retry over faults, on a clock of its own. */
async function retried(rules: readonly FaultRule[], options: Omit<RetryDriverOptions, 'clock'> = {}) {
  const clock = new ManualClock();
  const memory = await memoryWith({ a: pattern(10), b: pattern(20) });
  const tries = new NotingDriver(new FaultDriver(memory, { rules, clock }), clock);
  return { clock, memory, tries, driver: new RetryDriver(tries, { ...options, clock }) };
}

const firstFail = (n: number, operation: Operation): FaultRule[] =>
  Array.from({ length: n }, (_, i) => ({ operations: [operation], nth: i + 1, fault: { kind: 'fail' } }));
const ALWAYS: readonly FaultRule[] = [{ fault: { kind: 'fail' } }];

describe('the options of RetryDriver', () => {
  it.each<[RetryDriverOptions]>([
    [{ attempts: 0 }],
    [{ attempts: 1.5 }],
    [{ attempts: Infinity }],
    [{ baseDelayMs: 0 }],
    [{ baseDelayMs: Number.NaN }],
    [{ maxDelayMs: -1 }],
    [{ deadlineMs: 0 }],
    [{ deadlineMs: Infinity }],
    [{ seed: -1 }],
    [{ seed: 0.5 }],
  ])('cannot be %o', (options) => {
    expect(() => new RetryDriver(new MemoryDriver(), options)).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });
});

describe('the tries of RetryDriver', () => {
  it('are as many as the deadline has room for unless said otherwise, and the error names both options', async () => {
    const { clock, tries, driver } = await retried(ALWAYS);
    const call = clock.run(driver.stat('a', {}));
    await expect(call).rejects.toMatchObject({
      code: 'TIERED_DEADLINE',
      cause: { code: 'TIERED_FAULT_INJECTED' },
    });
    await expect(call).rejects.toMatchObject({ attempts: tries.calls.length });
    await expect(call).rejects.toThrow(/60000 ms \(deadlineMs\).*attempts: without a bound/);
    expect(tries.calls.length).toBeGreaterThan(15);
    expect(tries.calls.length).toBeLessThan(60);
    expect(clock.now()).toBe(60_000);
    const limited = await retried(ALWAYS, { attempts: 5 });
    await expect(limited.clock.run(limited.driver.stat('a', {}))).rejects.toThrow(
      /5 times \(attempts\).*deadlineMs: 60000/,
    );
    expect(limited.tries.calls).toHaveLength(5);
  });

  it('end with the first that works, or when they are used up', async () => {
    const cases = [fc.integer({ min: 1, max: 8 }), fc.nat({ max: 9 }), fc.nat()] as const;
    await fc.assert(
      fc.asyncProperty(...cases, async (attempts, failing, seed) => {
        const { clock, tries, driver } = await retried(firstFail(failing, 'read'), { attempts, seed });
        const reading = clock.run(readFrom(driver, 'a', 10));
        if (failing < attempts) expect(await reading).toEqual(pattern(10));
        else await expect(reading).rejects.toMatchObject({ code: 'TIERED_FAULT_INJECTED', attempts });
        expect(tries.calls).toHaveLength(Math.min(attempts, failing + 1));
        expect(clock.sleeping).toBe(0);
      }),
    );
  });

  it('that are used up end with the code of the last error, which is the cause, and cannot be retried outside', async () => {
    const { clock, driver } = await retried(
      [
        { nth: 3, fault: { kind: 'fail', code: 'TIERED_TOO_MANY_OPEN' } },
        { fault: { kind: 'fail', code: 'TIERED_IO' } },
      ],
      { attempts: 3 },
    );
    await expect(clock.run(readFrom(driver, 'a', 1))).rejects.toMatchObject({
      code: 'TIERED_TOO_MANY_OPEN',
      retryable: false,
      attempts: 3,
      key: 'a',
      operation: 'read',
      driver: 'memory',
      cause: { code: 'TIERED_TOO_MANY_OPEN', retryable: true },
    });
  });

  it('are made for each operation', async () => {
    const target = new Uint8Array(4);
    const calls: [Operation, (driver: RetryDriver) => Promise<unknown>, unknown][] = [
      ['open', (driver) => driver.open({}), undefined],
      ['stat', (driver) => driver.stat('a', {}), expect.objectContaining({ key: 'a', size: 10 })],
      ['list', (driver) => listed(driver, 'b'), [expect.objectContaining({ key: 'b', size: 20 })]],
      ['read', (driver) => readFrom(driver, 'a', 4), pattern(4)],
      ['readInto', (driver) => driver.readInto('a', target, { offset: 2 }), 4],
      ['readInto', (driver) => driver.readMany([{ key: 'b', offset: 0, target }], {}), [{ bytes: 4 }]],
      ['write', (driver) => driver.write('a', pattern(3), { size: 3 }), undefined],
      ['create', (driver) => driver.create('c', { size: 3 }).then((writer) => writer.discard()), undefined],
      ['writeAt', (driver) => written(driver, 'c'), pattern(3)],
      ['openIndex', (driver) => driver.openIndex({}).then(({ boot }) => boot), 'this process'],
      ['delete', (driver) => driver.delete('a', {}), undefined],
      ['usage', (driver) => driver.usage({}), expect.objectContaining({ bytes: 30 })],
    ];
    for (const [operation, call, result] of calls) {
      const { clock, tries, driver } = await retried(firstFail(2, operation));
      expect(await clock.run(call(driver)), operation).toEqual(result);
      expect(tries.calls.length, operation).toBeGreaterThanOrEqual(3);
    }
  });

  it('end at once with an error that is not retryable, as it is', async () => {
    const fault = { kind: 'fail', code: 'TIERED_PERMISSION', retryable: false } as const;
    const { clock, tries, driver } = await retried([{ key: /a/, fault }]);
    const refused = clock.run(readFrom(driver, 'a', 1));
    await expect(refused).rejects.toEqual(withCode('TIERED_PERMISSION'));
    await expect(refused).rejects.not.toHaveProperty('attempts');
    await expect(clock.run(readFrom(driver, 'missing', 1))).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
    expect(tries.calls).toHaveLength(2);
    expect(clock.now()).toBe(0);
  });

  it('end at once with an error of somebody else, as it is', async () => {
    const holding = new HoldingDriver(await memoryWith({ a: pattern(1) }));
    const clock = new ManualClock();
    const foreign = Object.assign(new Error('ECONNRESET'), { retryable: true });
    const tries = new NotingDriver(holding, clock);
    const outcome = outcomeOf(readFrom(new RetryDriver(tries, { clock }), 'a', 1));
    await settled();
    await holding.release({ error: foreign });
    expect(outcome.error).toBe(foreign);
    expect([tries.calls, clock.sleeping]).toEqual([['read'], 0]);
  });

  it('of one operation do not count for another', async () => {
    const { clock, driver } = await retried(firstFail(4, 'read'), { attempts: 3 });
    await expect(clock.run(readFrom(driver, 'a', 1))).rejects.toThrow();
    expect(await clock.run(readFrom(driver, 'a', 1))).toEqual(pattern(1));
  });

  it("leave no listener on the caller's signal, and no timer", async () => {
    const { clock, driver } = await retried(firstFail(7, 'read'), { attempts: 4 });
    const { signal } = new AbortController();
    await expect(clock.run(readFrom(driver, 'a', 1, { signal }))).rejects.toThrow();
    await clock.run(readFrom(driver, 'a', 1, { signal }));
    await expect(clock.run(readFrom(driver, 'missing', 1, { signal }))).rejects.toThrow();
    expect([listenersOn(signal), clock.sleeping]).toEqual([0, 0]);
  });
});
