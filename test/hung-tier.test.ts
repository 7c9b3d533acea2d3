import { Hierarchy, MemoryDriver, Random, type StorageDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall, type Operation } from '@tiered/core/driver';
import {
  FaultDriver,
  type FaultRule,
  assertNothingHeld,
  HoldingDriver,
  ManualClock,
  outcomeOf,
  settled,
  someBytes,
} from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const READS: readonly Operation[] = ['read', 'readInto', 'readMany'];
const DEADLINE_MS = 15_000;
/** After so long every read that was under way has been looked at often enough. */
const LATEST_MS = DEADLINE_MS * 1.25 + 1;
const SIZE = 1000;
const KEYS = Array.from({ length: 12 }, (_, i) => `train/${i}`);
const contentOf = (key: string) => someBytes(SIZE, KEYS.indexOf(key));

type Around = (driver: MemoryDriver, clock: ManualClock) => StorageDriver;

/** A hierarchy whose objects are all on its tier, and what it tells of that. */
async function startPlaced(around: Around) {
  const source = new MemoryDriver();
  for (const key of KEYS) await source.write(key, contentOf(key), { size: SIZE });
  const clock = new ManualClock();
  const tiers = [{ driver: around(new MemoryDriver(), clock), quota: '1MiB' as const }];
  const hierarchy = new Hierarchy({ source, tiers, placement: new PlacementHandler({ chunk: SIZE }), clock });
  const told: string[] = [];
  hierarchy.on('tierFault', ({ error, key }) => told.push(`${(error as { code: string }).code} ${key}`));
  hierarchy.on('tierOutOfService', ({ use, retryInMs }) => told.push(`${use} out for ${retryInMs}`));
  hierarchy.on('tierInService', ({ use }) => told.push(`${use} back`));
  await hierarchy.open();
  for (const key of KEYS) await hierarchy.place(key);
  return { hierarchy, clock, told };
}

const hanging = (rules: Partial<FaultRule> = {}): Around => {
  const rule = { operations: READS, ...rules, fault: { kind: 'hang' } as const };
  return (driver) => new FaultDriver(driver, { rules: [rule], seed: 1 });
};

/** Does not look at its signal, as a system call that is under way does not. */
function deaf() {
  const made: HoldingDriver[] = [];
  const around: Around = (driver) => {
    const holding = new HoldingDriver(driver, { operations: READS });
    made.push(holding);
    return holding;
  };
  return { around, driver: () => made[0] as HoldingDriver };
}

/** Reads one at a time, each in 5 seconds. */
class Queue extends InterceptingDriver {
  #last = Promise.resolve();
  readonly #clock: ManualClock;

  constructor(inner: StorageDriver, clock: ManualClock) {
    super(inner);
    this.#clock = clock;
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    if (!READS.includes(call.operation)) return call.proceed();
    this.#last = this.#last.then(() => this.#clock.sleep(5000));
    return this.#last.then(() => call.proceed());
  }
}

type Way = (hierarchy: Hierarchy, key: string, signal?: AbortSignal) => Promise<Uint8Array>;

const WAYS: Readonly<Record<string, Way>> = {
  read: (hierarchy, key, signal) => hierarchy.read(key, { signal }),
  readInto: async (hierarchy, key, signal) => {
    const target = new Uint8Array(SIZE);
    return target.subarray(0, await hierarchy.readInto(key, target, { signal }));
  },
  readMany: async (hierarchy, key, signal) => {
    const target = new Uint8Array(SIZE);
    const [outcome] = await hierarchy.readMany([{ key, target }], { signal });
    return target.subarray(0, outcome !== undefined && 'bytes' in outcome ? outcome.bytes : 0);
  },
};

/** Lets time go on until a promise has ended, also for what is done in the background. */
async function inTime<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  const outcome = outcomeOf(promise.then((value) => [value]));
  while (outcome.value === undefined && outcome.error === undefined) await clock.advance(1000);
  return promise;
}

describe.each(Object.entries(WAYS))('a tier that hangs, read by %s', (way, read) => {
  it.each([undefined, new AbortController().signal])(
    '[R2] is aborted at its deadline, the source serves the read, and after three the tier is passed over',
    async (signal) => {
      const { hierarchy, clock, told } = await startPlaced(hanging());
      for (const [i, key] of KEYS.slice(0, 3).entries()) {
        const got = outcomeOf(read(hierarchy, key, signal));
        await clock.advance(DEADLINE_MS - 1);
        expect(got).toEqual({});
        await clock.advance(LATEST_MS - DEADLINE_MS + 1);
        expect(got.value).toEqual(contentOf(key));
        expect(told.at(i)).toBe(`TIERED_DEADLINE ${key}`);
      }
      expect(told.slice(3)).toEqual([`read out for ${DEADLINE_MS}`]);
      expect(hierarchy.stats()).toMatchObject({ tiers: [{ faults: 3, readable: false }] });
      // Nobody waits any more.
      expect(await read(hierarchy, KEYS[4] ?? '')).toEqual(contentOf('train/4'));
      await hierarchy.close();
      assertNothingHeld(hierarchy.stats());
      expect([clock.sleeping, clock.sleepingInBackground]).toEqual([0, 0]);
    },
  );

  it('[R2] is tried by one read at a time, ever less often, and comes back when it answers', async () => {
    const { hierarchy, clock, told } = await startPlaced(hanging({ key: /[0-8]$/ }));
    for (const key of KEYS.slice(0, 3)) await inTime(clock, read(hierarchy, key));
    await clock.advance(DEADLINE_MS);
    const tried = outcomeOf(read(hierarchy, 'train/3'));
    // While one tries, the others are served.
    for (const key of KEYS) expect(await read(hierarchy, key)).toEqual(contentOf(key));
    expect(tried).toEqual({});
    await clock.advance(LATEST_MS);
    expect(tried.value).toEqual(contentOf('train/3'));
    expect(told.slice(4)).toEqual(['TIERED_DEADLINE train/3', `read out for ${2 * DEADLINE_MS}`]);
    await clock.advance(2 * DEADLINE_MS);
    expect(await read(hierarchy, 'train/9')).toEqual(contentOf('train/9'));
    expect(told.at(-1)).toBe('read back');
    await hierarchy.close();
  });

  it('[R2] a process that computed for a minute does not take that for a tier that hangs', async () => {
    const { around, driver } = deaf();
    const { hierarchy, clock, told } = await startPlaced(around);
    const got = read(hierarchy, 'train/1');
    await settled();
    clock.pass(60_000);
    await clock.advance(1);
    await driver().releaseAll();
    expect(await got).toEqual(contentOf('train/1'));
    expect(told).toEqual([]);
    await hierarchy.close();
  });

  it('[R2] a tier that is only busy is not given up, however long its queue', async () => {
    const { hierarchy, clock, told } = await startPlaced((driver, now) => new Queue(driver, now));
    const got = Promise.all(KEYS.map((key) => read(hierarchy, key)));
    expect(await inTime(clock, got)).toEqual(KEYS.map(contentOf));
    expect(clock.now()).toBeGreaterThan(3 * DEADLINE_MS);
    expect(told).toEqual([]);
    expect(hierarchy.stats().tiers[0]?.reads).toBe(KEYS.length);
    await hierarchy.close();
  });

  it('[R2] a read that hangs while others pass it is given up', async () => {
    const { hierarchy, clock, told } = await startPlaced(hanging({ key: /0$/ }));
    const got = outcomeOf(read(hierarchy, 'train/0'));
    for (let second = 0; second < 40 && got.value === undefined; second++) {
      await clock.advance(1000);
      expect(await read(hierarchy, 'train/1')).toEqual(contentOf('train/1'));
    }
    expect(got.value).toEqual(contentOf('train/0'));
    expect(told).toEqual(['TIERED_DEADLINE train/0']);
    await hierarchy.close();
  });

  it('[C1] close ends it at once where the driver lets go', async () => {
    const { hierarchy, clock } = await startPlaced(hanging());
    const ended = outcomeOf(read(hierarchy, 'train/0'));
    await settled();
    await hierarchy.close();
    expect(ended.error).toMatchObject({ code: 'TIERED_CLOSED' });
    expect([clock.now(), clock.sleeping, clock.sleepingInBackground]).toEqual([0, 0, 0]);
    assertNothingHeld(hierarchy.stats());
  });

  it(`[B1] an abort ends ${way} at once where the driver lets go`, async () => {
    const { hierarchy, clock, told } = await startPlaced(hanging());
    const controller = new AbortController();
    const ended = outcomeOf(read(hierarchy, 'train/0', controller.signal));
    await settled();
    controller.abort(new Error('enough'));
    await settled();
    expect(ended.error).toEqual(new Error('enough'));
    await hierarchy.close();
    expect([clock.now(), told]).toEqual([0, []]);
  });
});

describe('a tier whose driver does not let go at an abort', () => {
  it('[R2] read goes on without it', async () => {
    const { around, driver } = deaf();
    const { hierarchy, clock, told } = await startPlaced(around);
    const got = outcomeOf(hierarchy.read('train/1'));
    await clock.advance(LATEST_MS);
    expect(got.value).toEqual(contentOf('train/1'));
    expect(told).toEqual(['TIERED_DEADLINE train/1']);
    await driver().releaseAll();
    await hierarchy.close();
  });

  it.each(['readInto', 'readMany'])(
    '[R2] [B1] %s waits until its target is not written to any more; no other read goes to the tier meanwhile',
    async (way) => {
      const { around, driver } = deaf();
      const { hierarchy, clock, told } = await startPlaced(around);
      const read = WAYS[way] as Way;
      const got = outcomeOf(read(hierarchy, 'train/1'));
      await clock.advance(LATEST_MS);
      expect([got, hierarchy.stats().tiers[0]?.readable]).toEqual([{}, false]);
      for (const key of KEYS) expect(await read(hierarchy, key)).toEqual(contentOf(key));
      expect(driver().held.length).toBe(1);
      await driver().release();
      expect(got.value).toEqual(contentOf('train/1'));
      expect(told).toEqual(['TIERED_DEADLINE train/1']);
      expect(hierarchy.stats().tiers[0]?.readable).toBe(true);
      await hierarchy.close();
      assertNothingHeld(hierarchy.stats());
    },
  );

  it.each(Object.entries(WAYS))('[C1] close waits for %s no longer than the deadline', async (way, read) => {
    const { around, driver } = deaf();
    const { hierarchy, clock } = await startPlaced(around);
    const ended = outcomeOf(read(hierarchy, 'train/1'));
    await settled();
    const closed = outcomeOf(hierarchy.close().then(() => true));
    await clock.advance(DEADLINE_MS - 1);
    // Only the memory of the caller is waited for.
    expect(ended.error !== undefined).toBe(way === 'read');
    expect(closed).toEqual({});
    await clock.advance(1);
    expect(closed.value).toBe(true);
    expect(clock.sleepingInBackground).toBe(0);
    await driver().releaseAll();
    await settled();
    assertNothingHeld(hierarchy.stats());
  });
});

it('[R2] whichever reads of a tier hang, every read gives the bytes of the source', async () => {
  const one = fc.record({ way: fc.constantFrom(...Object.keys(WAYS)), key: fc.constantFrom(...KEYS) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(one, { maxLength: 30 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (reads, share) => {
        const { hierarchy, clock } = await startPlaced(hanging({ probability: share }));
        const random = new Random(reads.length);
        const got = reads.map(async ({ way, key }) => {
          await clock.sleep(random.below(60_000));
          expect(await (WAYS[way] as Way)(hierarchy, key)).toEqual(contentOf(key));
        });
        await inTime(clock, Promise.all(got));
        await hierarchy.close();
        assertNothingHeld(hierarchy.stats());
        expect([clock.sleeping, clock.sleepingInBackground]).toEqual([0, 0]);
      },
    ),
    {
      numRuns: 40,
      // The last of these once got zeros.
      examples: [
        [
          [
            { way: 'read', key: 'train/0' },
            { way: 'read', key: 'train/0' },
            { way: 'readInto', key: 'train/1' },
            { way: 'readMany', key: 'train/1' },
            { way: 'read', key: 'train/0' },
          ],
          0.8735688982997091,
        ],
      ],
    },
  );
});
