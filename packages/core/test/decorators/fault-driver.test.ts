import { describe, expect, it } from 'vitest';
import { MemoryDriver } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import type { Operation } from '@tiered/core/driver';
import {
  FaultDriver,
  type FaultDriverOptions,
  type FaultRule,
  ManualClock,
  settled,
} from '@tiered/core/testing';
import { listed, listenersOn, memoryWith, outcomeOf, pattern, readFrom, withCode } from '../helpers.js';

const REASON = new Error('the caller lost interest');

/** Faults over a memory driver with `a` and `b`, which is counted. */
async function faulty(rules: readonly FaultRule[], options: Omit<FaultDriverOptions, 'rules'> = {}) {
  const memory = await memoryWith({ a: pattern(10), b: pattern(20) });
  const counted = new MetricsDriver(memory);
  const reached = (operation: Operation) => counted.metrics().operations[operation]?.count ?? 0;
  return { memory, reached, driver: new FaultDriver(counted, { rules, ...options }) };
}

const CALLS: Readonly<Record<Operation, (driver: FaultDriver, signal?: AbortSignal) => Promise<unknown>>> = {
  open: (driver, signal) => driver.open({ signal }),
  stat: (driver, signal) => driver.stat('a', { signal }),
  list: (driver, signal) => driver.list({ signal }).next(),
  read: (driver, signal) => readFrom(driver, 'a', 10, { signal }),
  readInto: (driver, signal) => driver.readInto('a', new Uint8Array(10), { offset: 0, signal }),
  readMany: async (driver, signal) => {
    const requests = [{ key: 'a', offset: 0, target: new Uint8Array(10) }];
    const [outcome] = await driver.readMany(requests, { signal });
    if (outcome !== undefined && 'error' in outcome) throw outcome.error;
  },
  write: (driver, signal) => driver.write('a', pattern(3), { size: 3, signal }),
  delete: (driver, signal) => driver.delete('a', { signal }),
  usage: (driver, signal) => driver.usage({ signal }),
  create: (driver, signal) => driver.create('a', { size: 3, signal }),
  writeAt: async (driver, signal) => {
    const writer = await driver.create('a', { size: 3 });
    await writer.writeAt(pattern(3), { offset: 0, signal });
  },
  publish: async (driver, signal) => {
    const writer = await driver.create('a', { size: 3 });
    await writer.publish({ signal });
  },
  openIndex: (driver, signal) => driver.openIndex({ signal }),
};
/** Each operation, and the one that its faults name: a batch passes as its requests. */
const EVERY = (Object.keys(CALLS) as Operation[]).map(
  (operation) => [operation, operation === 'readMany' ? 'readInto' : operation] as const,
);

describe('the faults of FaultDriver', () => {
  it.each(EVERY)('fail: %s throws and does not reach the driver', async (operation, named) => {
    const { driver, reached } = await faulty([{ operations: [named], fault: { kind: 'fail' } }]);
    await expect(CALLS[operation](driver)).rejects.toMatchObject({
      code: 'TIERED_FAULT_INJECTED',
      retryable: true,
      operation: named,
      driver: 'memory',
    });
    expect(reached(named)).toBe(0);
    expect(driver.injected).toHaveLength(1);
  });

  it.each(EVERY)('fail-after: %s is made and its answer lost', async (operation, named) => {
    const { driver, reached } = await faulty([{ operations: [named], fault: { kind: 'fail-after' } }]);
    await expect(CALLS[operation](driver)).rejects.toEqual(withCode('TIERED_FAULT_INJECTED'));
    expect(reached(named)).toBe(1);
  });

  it('fail-after leaves the effect of the call in place', async () => {
    const { driver, memory } = await faulty([{ fault: { kind: 'fail-after' } }]);
    await expect(driver.write('new', pattern(3), { size: 3 })).rejects.toThrow();
    await expect(driver.delete('a', {})).rejects.toThrow();
    expect((await listed(memory)).map(({ key }) => key)).toEqual(['b', 'new']);
  });

  it.each(['fail', 'fail-after'] as const)(
    '%s throws with the code and the mark that were asked for',
    async (kind) => {
      const { driver } = await faulty([{ fault: { kind, code: 'TIERED_NO_SPACE', retryable: false } }]);
      const expected = { code: 'TIERED_NO_SPACE', retryable: false, key: 'a' };
      await expect(readFrom(driver, 'a', 1)).rejects.toMatchObject(expected);
    },
  );

  it.each(EVERY)(
    'hang: %s waits until it is aborted, and never reaches the driver',
    async (operation, named) => {
      const { driver, reached } = await faulty([{ operations: [named], fault: { kind: 'hang' } }]);
      const controller = new AbortController();
      const outcome = outcomeOf(CALLS[operation](driver, controller.signal));
      await settled();
      expect(outcome).toEqual({});
      controller.abort(REASON);
      await settled();
      expect(outcome).toEqual({ error: REASON });
      expect(reached(named)).toBe(0);
      expect(listenersOn(controller.signal)).toBe(0);
      await expect(CALLS[operation](driver, AbortSignal.abort(REASON))).rejects.toBe(REASON);
    },
  );

  it.each(EVERY)('delay: %s waits before it is made, and an abort ends that', async (operation, named) => {
    const clock = new ManualClock();
    const rules: FaultRule[] = [{ operations: [named], fault: { kind: 'delay', ms: 30 } }];
    const { driver, reached } = await faulty(rules, { clock });
    const first = outcomeOf(CALLS[operation](driver).then(() => 'done'));
    await clock.advance(29);
    expect([first, reached(named)]).toEqual([{}, 0]);
    await clock.advance(1);
    expect([first, reached(named)]).toEqual([{ value: 'done' }, 1]);
    const controller = new AbortController();
    const second = outcomeOf(CALLS[operation](driver, controller.signal));
    await clock.advance(10);
    controller.abort(REASON);
    await settled();
    expect([second, reached(named), clock.sleeping]).toEqual([{ error: REASON }, 1, 0]);
  });
});

describe('the rules of FaultDriver', () => {
  it('without any, everything passes', async () => {
    const { driver } = await faulty([]);
    for (const call of Object.values(CALLS)) await call(driver).catch(() => expect.unreachable());
    expect(driver.injected).toEqual([]);
  });

  it.each([0, -1, 1.5, Number.NaN])('nth cannot be %o', (nth) => {
    const rules: FaultRule[] = [{ nth, fault: { kind: 'fail' } }];
    const make = () => new FaultDriver(new MemoryDriver(), { rules });
    expect(make).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it.each([-0.1, 1.1, Number.NaN])('a probability cannot be %o', (probability) => {
    const rules: FaultRule[] = [{ fault: { kind: 'fail' } }, { probability, fault: { kind: 'fail' } }];
    const make = () => new FaultDriver(new MemoryDriver(), { rules });
    expect(make).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('apply to their operations and keys, and nth counts the calls that match only', async () => {
    const rule: FaultRule = { operations: ['read', 'stat'], key: /^b/, nth: 2, fault: { kind: 'fail' } };
    const { driver } = await faulty([rule]);
    const failed: boolean[] = [];
    const calls = [
      () => readFrom(driver, 'a', 1),
      () => driver.stat('b', {}),
      () => driver.readInto('b', new Uint8Array(1), { offset: 0 }),
      () => readFrom(driver, 'a', 1),
      () => readFrom(driver, 'b', 1),
      () => readFrom(driver, 'b', 1),
    ];
    for (const call of calls)
      failed.push(
        await call().then(
          () => false,
          () => true,
        ),
      );
    expect(failed).toEqual([false, false, false, false, true, false]);
    expect(driver.injected).toEqual(['fail read b']);
  });

  it('apply to every call of their keys, also if the pattern is a global one', async () => {
    const { driver } = await faulty([{ key: /a/g, fault: { kind: 'fail' } }]);
    for (let i = 0; i < 4; i++) await readFrom(driver, 'a', 1).catch(() => undefined);
    expect(driver.injected).toHaveLength(4);
  });

  it('the first that matches wins, and the others count the call all the same', async () => {
    const { driver } = await faulty([
      { nth: 1, fault: { kind: 'fail', code: 'TIERED_IO' } },
      { nth: 2, fault: { kind: 'fail', code: 'TIERED_NO_SPACE' } },
      { fault: { kind: 'fail', code: 'TIERED_UNAVAILABLE' } },
    ]);
    for (const code of ['TIERED_IO', 'TIERED_NO_SPACE', 'TIERED_UNAVAILABLE'] as const) {
      await expect(driver.stat('a', {})).rejects.toEqual(withCode(code));
    }
  });

  it('the log says in order what was injected', async () => {
    const { driver } = await faulty([
      { operations: ['read', 'list'], fault: { kind: 'fail' } },
      { fault: { kind: 'truncate' } },
    ]);
    await readFrom(driver, 'a', 1).catch(() => undefined);
    await driver.readInto('b', new Uint8Array(4), { offset: 0 });
    await listed(driver).catch(() => undefined);
    expect(driver.injected).toEqual(['fail read a', 'truncate readInto b', 'fail list ']);
  });
});
