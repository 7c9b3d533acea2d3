import { listSequence, Prefetcher, shuffledSequence, type Sample } from '@tiered/prefetch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  collect,
  copyOf,
  expectIdle,
  objects,
  samplesOf,
  settled,
  started,
  WatchedDriver,
  type Copied,
} from './helpers.js';

/** Sizes around the budgets below, empty objects among them. */
const sizes = fc.array(fc.oneof(fc.constant(0), fc.nat(300), fc.nat(5000)), { maxLength: 20 });

/** From nothing at all to more than everything. */
const budget = fc.oneof(fc.constantFrom(0, 1, 64, 640), fc.nat(20_000), fc.constant(1e6));

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
  const { producers } = there;
  const prefetcher = new Prefetcher(hierarchy, accesses, {
    producers,
    memory: there.budget,
    autotuner: false,
  });
  const check = () => {
    const { heldBytes, reading, ready } = prefetcher.stats();
    if (heldBytes > there.budget)
      expect(reading + ready, 'samples held beyond the budget and not taken').toBeLessThanOrEqual(1);
    expect(driver.reading).toBeLessThanOrEqual(there.producers);
  };
  return {
    driver,
    hierarchy,
    accesses,
    prefetcher,
    check,
    expected: samplesOf(accesses, there.sizes),
  };
}

type Run = Awaited<ReturnType<typeof watched>>;

/** What must be true once all samples were taken. A run that failed is not waited for: it may never end. */
async function expectDone({ hierarchy, prefetcher, expected }: Run): Promise<void> {
  expectIdle(prefetcher);
  const bytes = expected.reduce((sum, { data }) => sum + data.byteLength, 0);
  expect(prefetcher.stats()).toMatchObject({ samples: expected.length, bytes });
  await prefetcher.close();
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

  it('[P1] [P2] also if reads, lookups and consumers that hold on to samples take turns in any way', async () => {
    const consumers = fc.array(fc.record({ most: fc.integer({ min: 1, max: 5 }), keeps: fc.nat(4) }), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), setup, consumers, async (scheduler, there, all) => {
        const run = await watched(there);
        run.driver.during = async ({ operation, key }) => {
          run.check();
          await scheduler.schedule(Promise.resolve(), `${operation} ${key}`);
          run.check();
        };
        const got: Copied[] = [];
        const release = (sample: Sample | undefined) => {
          if (sample === undefined) return;
          got.push(copyOf(sample));
          sample.release();
        };
        const consume = async ({ most, keeps }: { most: number; keeps: number }) => {
          const kept: Sample[] = [];
          let last = -1;
          for (;;) {
            const samples = await run.prefetcher.take(most);
            if (samples.length === 0) break;
            expect(samples.length).toBeLessThanOrEqual(most);
            for (const sample of samples) {
              const place = sample.epoch * run.accesses.epochLength + sample.position;
              expect(place).toBeGreaterThan(last);
              last = place;
            }
            kept.push(...samples);
            await scheduler.schedule(Promise.resolve(), 'compute');
            // The last first: memory comes back in any order.
            while (kept.length > keeps)
              release(kept.splice(kept.length % 2 === 0 ? 0 : kept.length - 1, 1)[0]);
          }
          for (const sample of kept) release(sample);
        };
        await scheduler.waitFor(Promise.all(all.map(consume)));
        const place = (s: Copied) => s.epoch * run.accesses.epochLength + s.position;
        expect(got.sort((a, b) => place(a) - place(b))).toEqual(run.expected);
        await expectDone(run);
      }),
      { numRuns: 150 },
    );
  });

  it('[P1] batches have the samples in order, and end where an epoch ends', async () => {
    await fc.assert(
      fc.asyncProperty(setup, fc.integer({ min: 1, max: 9 }), async (there, size) => {
        const run = await watched(there);
        const batches: Copied[][] = [];
        for await (const batch of run.prefetcher.batches(size)) batches.push(batch.map(copyOf));
        expect(batches.flat()).toEqual(run.expected);
        const { epochLength } = run.accesses;
        const lengths = Array.from({ length: run.accesses.epochs }, () =>
          Array.from({ length: Math.ceil(epochLength / size) }, (_, i) =>
            Math.min(size, epochLength - i * size),
          ),
        );
        expect(batches.map(({ length }) => length)).toEqual(lengths.flat());
        await expectDone(run);
      }),
      { numRuns: 60 },
    );
  });

  it('an iteration can begin at any access', async () => {
    await fc.assert(
      fc.asyncProperty(setup, fc.nat(), async (there, at) => {
        const hierarchy = await started(await objects(there.sizes));
        const accesses = sequenceOf(there.sizes.length, there.seed);
        const all = [...accesses];
        const first = all[at % Math.max(1, all.length)] ?? { epoch: 0, position: 0 };
        const { budget, producers } = there;
        const resumed = new Prefetcher(hierarchy, accesses.from(first.epoch, first.position), {
          memory: budget,
          producers,
        });
        const tail = all.slice(first.epoch * accesses.epochLength + first.position);
        expect(await collect(resumed)).toEqual(samplesOf(tail, there.sizes));
        await hierarchy.close();
      }),
      { numRuns: 50 },
    );
  });
});
