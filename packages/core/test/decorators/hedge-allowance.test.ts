import { describe, expect, it } from 'vitest';
import { Random } from '@tiered/core';
import { HedgeDriver, type HedgeDriverOptions } from '@tiered/core/decorators';
import { ManualClock } from '@tiered/core/testing';
import { memoryWith, pattern, readFrom } from '../helpers.js';
import { UnsteadyDriver } from './unsteady-driver.js';

const SIZE = 100;

/** Hedges over a source whose requests take as long as a test says, without an answer of 10 ms. */
async function over(options: HedgeDriverOptions) {
  const clock = new ManualClock();
  const unsteady = new UnsteadyDriver(await memoryWith({ a: pattern(SIZE) }), clock);
  const driver = new HedgeDriver(unsteady, { clock, ...options });
  const read = () => readFrom(driver, 'a', SIZE);
  return {
    clock,
    unsteady,
    driver,
    /**
     * So many reads one after the other, and how long each took; the second request of each takes so long.
     */
    reads: async (count: number, firstMs = 10, secondMs = 10): Promise<number[]> => {
      const took: number[] = [];
      for (let i = 0; i < count; i++) {
        unsteady.plans.splice(0, Infinity, { ms: firstMs }, { ms: secondMs });
        const start = clock.now();
        await clock.run(read());
        took.push(clock.now() - start);
      }
      unsteady.plans.splice(0);
      return took;
    },
    /** So many reads at the same time, of which no request ends before the others have all begun. */
    atOnce: async (count: number, firstMs: number, secondMs: number): Promise<void> => {
      const all = (ms: number) => Array.from({ length: count }, () => ({ ms }));
      unsteady.plans.splice(0, Infinity, ...all(firstMs), ...all(secondMs));
      await clock.run(Promise.all(Array.from({ length: count }, read)));
      unsteady.plans.splice(0);
    },
  };
}

describe('the budget of hedges', () => {
  it('[H2] is a share of the reads that ended', async () => {
    const { unsteady, driver, reads } = await over({ budget: 0.05 });
    await reads(60);
    await reads(5, 100);
    expect(driver.metrics()).toMatchObject({ reads: 65, hedges: 3, won: 3, overBudget: 2 });
    expect(unsteady.requests).toBe(65 + 3);
  });

  it('is saved up for ten hedges at most', async () => {
    const { driver, reads, atOnce } = await over({ budget: 0.5 });
    await reads(150);
    await atOnce(12, 100, 10);
    expect(driver.metrics()).toMatchObject({ hedges: 10, won: 10, overBudget: 2 });
  });
});

describe('the memory of hedges', () => {
  it('[H2] bounds the bytes of second requests that are under way', async () => {
    const { driver, reads, atOnce } = await over({ budget: 1, memory: 2.5 * SIZE });
    await reads(100);
    await atOnce(3, 100, 10);
    expect(driver.metrics()).toMatchObject({ hedges: 2, overMemory: 1 });
    await atOnce(2, 100, 10);
    expect(driver.metrics()).toMatchObject({ hedges: 4, overMemory: 1 });
  });

  it('is kept for as long as the loser ignores its abort', async () => {
    const { clock, unsteady, driver, reads } = await over({ budget: 1, memory: SIZE });
    await reads(100);
    unsteady.plans.push({ ms: 100, lingersMs: 1000 }, { ms: 5 }, { ms: 50 });
    await clock.run(readFrom(driver, 'a', SIZE));
    await clock.run(readFrom(driver, 'a', SIZE));
    expect(driver.metrics()).toMatchObject({ hedges: 1, won: 1, overMemory: 1 });
    await clock.advance(1000);
    await reads(1, 100);
    expect(driver.metrics()).toMatchObject({ hedges: 2, won: 2, overMemory: 1 });
  });

  it('and no more than 16 are under way, however small', async () => {
    const { clock, unsteady, driver, reads } = await over({ budget: 1 });
    await reads(190);
    const late = Array.from({ length: 20 }, () => ({ ms: 1e6 }));
    const begin = (count: number) => Array.from({ length: count }, () => readFrom(driver, 'a', SIZE));
    unsteady.plans.push(...late);
    const first = begin(10);
    await clock.advance(11);
    await reads(10);
    unsteady.plans.push(...late);
    const second = begin(10);
    await clock.advance(11);
    expect(driver.metrics()).toMatchObject({ hedges: 16, overMemory: 4 });
    await clock.run(Promise.all([...first, ...second]));
  });
});

describe('a source that is slow as a whole', () => {
  it('[H2] gets no second requests for a while after 16 in a row that brought nothing', async () => {
    const { clock, driver, reads, atOnce } = await over({ budget: 1 });
    await reads(200);
    /** Late reads among many that are not, so that they stay late. */
    const late = async (count: number, secondMs: number) => {
      for (let i = 0; i < count; i++) {
        await reads(1, 15, secondMs);
        await reads(40);
      }
    };
    await late(15, 10);
    await late(1, 1);
    expect(driver.metrics()).toMatchObject({ hedges: 16, won: 1, lost: 15, isOff: false });
    await late(15, 10);
    expect(driver.metrics()).toMatchObject({ hedges: 31, isOff: false });
    await reads(200);
    await reads(1, 15);
    expect(driver.metrics()).toMatchObject({ hedges: 32, lost: 31, isOff: true });
    await reads(1, 15, 1);
    expect(driver.metrics()).toMatchObject({ hedges: 32, whileOff: 1, isOff: true });

    await clock.advance(1000);
    await atOnce(2, 15, 10);
    expect(driver.metrics()).toMatchObject({ hedges: 33, lost: 32, whileOff: 2, isOff: true });
    await clock.advance(1950);
    await reads(1, 15, 1);
    expect(driver.metrics()).toMatchObject({ hedges: 33, whileOff: 3, isOff: true });
    await clock.advance(50);
    await reads(1, 15, 1);
    expect(driver.metrics()).toMatchObject({ hedges: 34, won: 2, whileOff: 3, isOff: false });
    await atOnce(2, 15, 1);
    expect(driver.metrics()).toMatchObject({ hedges: 36, won: 4, whileOff: 3, isOff: false });
  });

  it('is tried every minute in the end', async () => {
    const { clock, driver, reads } = await over({ budget: 1 });
    await reads(200);
    for (let i = 0; i < 16; i++) {
      await reads(1, 15);
      await reads(40);
    }
    for (let i = 0; i < 12; i++) {
      await clock.advance(60_000);
      await reads(1, 15);
      await reads(40);
    }
    expect(driver.metrics()).toMatchObject({ hedges: 16 + 12, lost: 16 + 12, whileOff: 0 });
    await clock.advance(58_000);
    await reads(1, 15);
    expect(driver.metrics()).toMatchObject({ hedges: 16 + 12, whileOff: 1 });
  });

  it('and gets slower all the time gets hardly any, though every read is late', async () => {
    const { driver, reads } = await over({ budget: 1 });
    await reads(200);
    for (let ms = 10; ms < 500; ms *= 1.01) await reads(1, ms, ms);
    const { hedges, whileOff, reads: ended } = driver.metrics();
    expect(ended).toBeGreaterThan(550);
    expect(whileOff).toBeGreaterThan(300);
    expect(hedges).toBeLessThan(40);
  });

  it('but steady from then on is not late', async () => {
    const { driver, reads } = await over({ budget: 1 });
    await reads(200);
    await reads(400, 100, 100);
    expect(driver.metrics().hedges).toBeLessThan(20);
    const late = await reads(1, 1000, 100);
    expect(late).toEqual([200]);
  });
});

describe('a source with jitter', () => {
  /**
   * How long each of some reads took, one after the other, with requests of a median of 2 ms and a 99th
   * percentile of 20 ms.
   */
  async function jittered(budget: number) {
    const { clock, unsteady, driver } = await over({ budget });
    const random = new Random(3);
    const took: number[] = [];
    for (let i = 0; i < 4000; i++) {
      const some = () => ({ ms: 2 * Math.exp(0.99 * random.normal()) });
      unsteady.plans.splice(0, Infinity, some(), some());
      const start = clock.now();
      await clock.run(readFrom(driver, 'a', SIZE));
      took.push(clock.now() - start);
    }
    took.sort((a, b) => a - b);
    return { metrics: driver.metrics(), p99: took[Math.floor(0.99 * took.length)] ?? 0 };
  }

  it('[H2] has as many late reads as the percentile says: hedging does not make more of them', async () => {
    const { metrics } = await jittered(1);
    expect(metrics.hedges / metrics.reads).toBeGreaterThan(0.035);
    expect(metrics.hedges / metrics.reads).toBeLessThan(0.065);
    expect(metrics.won).toBeGreaterThan(metrics.lost);
    expect([metrics.overBudget, metrics.overMemory, metrics.whileOff]).toEqual([0, 0, 0]);
  });

  it('loses most of its longest reads for a twentieth more requests', async () => {
    const { metrics, p99 } = await jittered(0.05);
    expect(p99).toBeLessThan(15);
    expect(metrics.hedges).toBeLessThanOrEqual(0.05 * metrics.reads);
  });
});
