import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryDriver } from '@tiered/core';
import { LimitDriver } from '@tiered/core/decorators';
import type { Operation } from '@tiered/core/driver';
import { HoldingDriver, settled } from '@tiered/core/testing';
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

const REASON = new Error('the caller lost interest');

/** A limit over a driver that holds every call; the objects are `0` ... `9`, each one byte, its number. */
async function limited(concurrency: number) {
  const objects = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`${i}`, pattern(1, i)]));
  const holding = new HoldingDriver(await memoryWith(objects));
  const noting = new NotingDriver(holding);
  return { holding, arrived: noting.calls, driver: new LimitDriver(noting, { concurrency }) };
}

const heldKeys = (holding: HoldingDriver) => holding.held.map(({ key }) => key);

describe('LimitDriver', () => {
  it.each([0, -1, 1.5, Number.NaN, Infinity, '2' as unknown as number, undefined as unknown as number])(
    'refuses a concurrency of %o',
    (concurrency) => {
      expect(() => new LimitDriver(new MemoryDriver(), { concurrency })).toThrow(
        withCode('TIERED_CONFIG_INVALID'),
      );
    },
  );

  it('lets no more than so many operations through, and the others in order of arrival', async () => {
    const { holding, driver } = await limited(3);
    const reads = Array.from({ length: 10 }, (_, i) => readFrom(driver, `${i}`, 1));
    await settled();
    for (let first = 0; first < 10; first++) {
      const expected = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'].slice(first, first + 3);
      expect(heldKeys(holding)).toEqual(expected);
      await holding.release();
    }
    expect((await Promise.all(reads)).map(([byte]) => byte)).toEqual([...Array(10).keys()]);
  });

  it('never lets more through, however operations come, fail and abort, and uses every slot', async () => {
    const step = fc.constantFrom('read', 'abort newest', 'release', 'fail');
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 40 }),
        async (n, steps) => {
          const { holding, driver } = await limited(n);
          const controllers: AbortController[] = [];
          const outcomes: ReturnType<typeof outcomeOf>[] = [];
          for (const kind of steps) {
            if (kind === 'read') {
              const controller = new AbortController();
              controllers.push(controller);
              outcomes.push(outcomeOf(readFrom(driver, '0', 1, { signal: controller.signal })));
            } else if (kind === 'abort newest') controllers.pop()?.abort(REASON);
            else if (holding.held.length > 0) await holding.release(kind === 'fail' ? { error: REASON } : {});
            await settled();
            const unsettled = outcomes.filter((outcome) => Object.keys(outcome).length === 0).length;
            expect(holding.held.length).toBe(Math.min(n, unsettled));
          }
          await holding.releaseAll();
          expect(outcomes.every((outcome) => Object.keys(outcome).length === 1)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('bounds operations of all kinds together, each request of a batch and each page of a listing among them', async () => {
    const { holding, driver } = await limited(1);
    const target = new Uint8Array(1);
    const all = Promise.all([
      driver.open({}),
      driver.stat('0', {}),
      listed(driver),
      readFrom(driver, '0', 1),
      driver.readInto('0', target, { offset: 0 }),
      driver.readMany(
        [
          { key: '1', offset: 0, target },
          { key: '2', offset: 0, target },
        ],
        {},
      ),
      driver.write('new', pattern(1), { size: 1 }),
      driver.delete('9', {}),
      driver.usage({}),
    ]);
    await settled();
    const seen = new Set<Operation | undefined>();
    while (holding.held.length > 0) {
      expect(holding.held).toHaveLength(1);
      seen.add(holding.held[0]?.operation);
      await holding.release();
    }
    await all;
    const operations: Operation[] = ['open', 'stat', 'list', 'read', 'readInto', 'write', 'delete', 'usage'];
    expect(seen).toEqual(new Set(operations));
  });

  it('an operation that is aborted while it waits leaves at once and never reaches the driver', async () => {
    const { holding, arrived, driver } = await limited(1);
    const running = readFrom(driver, '0', 1);
    const controller = new AbortController();
    const waiting = outcomeOf(readFrom(driver, '1', 1, { signal: controller.signal }));
    const next = readFrom(driver, '2', 1);
    await settled();
    controller.abort(REASON);
    await settled();
    expect(waiting).toEqual({ error: REASON });
    await holding.release();
    expect(heldKeys(holding)).toEqual(['2']);
    await holding.release();
    await Promise.all([running, next]);
    expect(arrived).toHaveLength(2);
    expect(listenersOn(controller.signal)).toBe(0);
  });

  it('an operation whose signal has aborted before never reaches the driver, also if a slot is free', async () => {
    const { arrived, driver } = await limited(1);
    const signal = AbortSignal.abort(REASON);
    await expect(readFrom(driver, '0', 1, { signal })).rejects.toBe(REASON);
    await settled();
    expect(arrived).toEqual([]);
  });

  it('an operation that is aborted while the driver is at it is waited for, because its memory is in use', async () => {
    const { holding, driver } = await limited(1);
    const controller = new AbortController();
    const target = new Uint8Array(1);
    const outcome = outcomeOf(driver.readInto('5', target, { offset: 0, signal: controller.signal }));
    await settled();
    controller.abort(REASON);
    await settled();
    expect(outcome).toEqual({});
    await holding.release();
    expect(outcome).toEqual({ error: REASON });
  });

  it('a failure releases the slot, and reaches its own caller only', async () => {
    const { holding, driver } = await limited(1);
    const failure = new Error('broken');
    const [failing, next] = ['0', '1'].map((key) => outcomeOf(readFrom(driver, key, 1)));
    await settled();
    await holding.release({ error: failure });
    expect(failing).toEqual({ error: failure });
    expect(heldKeys(holding)).toEqual(['1']);
    await holding.release();
    expect(next).toEqual({ value: pattern(1, 1) });
  });

  it('leaves no listener on the signal of an operation that ended', async () => {
    const { holding, driver } = await limited(2);
    const { signal } = new AbortController();
    const reads = ['0', '1', '2'].map((key) => outcomeOf(readFrom(driver, key, 1, { signal })));
    await settled();
    await holding.release({ error: REASON });
    await holding.release();
    await holding.release();
    expect(reads.map((outcome) => 'value' in outcome)).toEqual([false, true, true]);
    expect(listenersOn(signal)).toBe(0);
  });

  it('close does not wait for a slot', async () => {
    const { holding, driver } = await limited(1);
    const running = readFrom(driver, '0', 1);
    await settled();
    await driver.close();
    await holding.release();
    await running;
  });
});
