import { listSequence, Prefetcher, shuffledSequence } from '@tiered/prefetch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collect, expectIdle, objects, samplesOf, settled, SLOT, started, WatchedDriver } from './helpers.js';

/** Sizes around the budgets below, empty objects among them. */
const sizes = fc.array(fc.oneof(fc.constant(0), fc.nat(300), fc.nat(5000)), { maxLength: 20 });

/** From nothing at all to more than everything. */
const budget = fc.oneof(fc.constantFrom(0, 1, SLOT, 10 * SLOT), fc.nat(20_000), fc.constant(1e12));

/** Accesses of `count` objects, over more than one epoch, shuffled or not, and keys that come twice. */
function sequenceOf(count: number, seed: number) {
  const once = Array.from({ length: count }, (_, i) => `${i}`);
  const keys = seed % 3 === 0 ? [...once, ...once] : once;
  const epochs = 1 + (seed % 2);
  return seed % 5 === 0 ? listSequence(keys, { epochs }) : shuffledSequence(keys, { seed, epochs });
}

const setup = fc.record({
  sizes,
  budget,
  producers: fc.integer({ min: 1, max: 8 }),
  seed: fc.nat(1000),
  scan: fc.boolean(),
});

type Setup = typeof setup extends fc.Arbitrary<infer T> ? T : never;

/** A prefetcher whose driver checks, in the middle of every read, that the promises about resources hold. */
async function watched(there: Setup) {
  const driver = new WatchedDriver(await objects(there.sizes));
  const hierarchy = await started(driver, { scan: there.scan });
  const accesses = sequenceOf(there.sizes.length, there.seed);
  const prefetcher = new Prefetcher(hierarchy, accesses, there);
  const charges = new Set(there.sizes.map((size) => size + SLOT));
  const check = () => {
    const { heldBytes, reading } = prefetcher.stats();
    if (heldBytes > there.budget)
      expect(charges, 'more than the budget, and no single sample').toContain(heldBytes);
    expect(reading).toBeLessThanOrEqual(there.producers);
    expect(driver.reading).toBeLessThanOrEqual(there.producers);
  };
  return { driver, hierarchy, prefetcher, check, expected: samplesOf(accesses, there.sizes) };
}

/** What must be true once all samples were taken. A run that failed is not waited for: it may never end. */
async function expectDone(run: Awaited<ReturnType<typeof watched>>): Promise<void> {
  const { hierarchy, prefetcher, expected } = run;
  expectIdle(prefetcher);
  const bytes = expected.reduce((sum, { data }) => sum + data.byteLength, 0);
  expect(prefetcher.stats()).toMatchObject({ samples: expected.length, bytes });
  await hierarchy.close();
}

describe('for any sizes, budget, producers and order', () => {
  it('[P1] [P2] every sample comes, in order, with its bytes, and nothing is held beyond the budget', async () => {
    await fc.assert(
      fc.asyncProperty(setup, async (there) => {
        const run = await watched(there);
        run.driver.during = async () => {
          run.check();
          await settled();
          run.check();
        };
        expect(await collect(run.prefetcher)).toEqual(run.expected);
        await expectDone(run);
      }),
      { numRuns: 60 },
    );
  });

  it('[P1] also if reads, lookups and the consumer take turns in any way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), setup, async (scheduler, there) => {
        const run = await watched(there);
        run.driver.during = async ({ operation, key }) => {
          run.check();
          await scheduler.schedule(Promise.resolve(), `${operation} ${key}`);
          run.check();
        };
        const consume = async () => {
          const samples = [];
          for await (const sample of run.prefetcher) {
            samples.push(sample);
            await scheduler.schedule(Promise.resolve(), 'compute');
            run.check();
          }
          return samples;
        };
        expect(await scheduler.waitFor(consume())).toEqual(run.expected);
        await expectDone(run);
      }),
      { numRuns: 70 },
    );
  }, 20_000);

  it('[P1] several consumers at the same time get each sample once, each in the order of its calls', async () => {
    const consumers = fc.integer({ min: 2, max: 5 });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), setup, consumers, async (scheduler, there, count) => {
        const run = await watched(there);
        run.driver.during = ({ operation, key }) =>
          scheduler.schedule(Promise.resolve(), `${operation} ${key}`).then(run.check);
        let calls = 0;
        const got = new Map<number, unknown>();
        const consume = async () => {
          for (;;) {
            const call = calls++;
            const result = await run.prefetcher.next();
            if (result.done === true) return;
            got.set(call, result.value);
            await scheduler.schedule(Promise.resolve(), 'compute');
          }
        };
        await scheduler.waitFor(Promise.all(Array.from({ length: count }, consume)));
        expect(run.expected.map((_, call) => got.get(call))).toEqual(run.expected);
        expect(got.size).toBe(run.expected.length);
        await expectDone(run);
      }),
      { numRuns: 70 },
    );
  }, 20_000);

  it('an iteration can be resumed at any access', async () => {
    await fc.assert(
      fc.asyncProperty(setup, fc.nat(), async (there, at) => {
        const hierarchy = await started(await objects(there.sizes));
        const accesses = sequenceOf(there.sizes.length, there.seed);
        const all = [...accesses];
        const first = all[at % Math.max(1, all.length)] ?? { epoch: 0, position: 0 };
        const resumed = new Prefetcher(hierarchy, accesses.from(first.epoch, first.position), there);
        const tail = all.slice(first.epoch * accesses.epochLength + first.position);
        expect(await collect(resumed)).toEqual(samplesOf(tail, there.sizes));
        await hierarchy.close();
      }),
      { numRuns: 50 },
    );
  });
});
