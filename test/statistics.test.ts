import { Hierarchy, MemoryDriver, type HierarchyStats } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { ManualClock, TraceLog } from '@tiered/core/testing';
import { readChannel, type ReadTrace } from '@tiered/core/tracing';
import { listSequence, Prefetcher } from '@tiered/prefetch';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const SIZES = [0, 1, 700, 1000, 2500, 4000];
const CHUNK = 1000;
const OBJECTS = 12;

const sizeOf = (object: number) => SIZES[object % SIZES.length] ?? 0;

/** A read, or several: of a range, of a handle, of a batch, or of all that a prefetcher reads. */
const call = fc.record({
  kind: fc.constantFrom('read', 'readInto', 'readMany', 'handle', 'prefetcher'),
  objects: fc.array(fc.nat({ max: OBJECTS - 1 }), { minLength: 1, maxLength: 6 }),
  offset: fc.nat({ max: 3000 }),
  /** Whether the next call waits for this one. */
  isAlone: fc.boolean(),
});
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;

async function started(quota: number, clock: ManualClock): Promise<Hierarchy> {
  const memory = new MemoryDriver();
  for (let i = 0; i < OBJECTS; i++)
    await memory.write(`${i}`, new Uint8Array(sizeOf(i)), { size: sizeOf(i) });
  const tiers = [{ driver: new ThrottleDriver(new MemoryDriver(), { latencyMs: 1, clock }), quota }];
  return clock.run(
    new Hierarchy({
      source: new ThrottleDriver(memory, { latencyMs: 10, clock }),
      ...(quota > 0 && { tiers, placement: new PlacementHandler({ chunk: CHUNK }) }),
      clock,
    }).open(),
  );
}

/** Makes the reads, and resolves to how many there were. */
async function made(
  hierarchy: Hierarchy,
  { kind, objects, offset }: Call,
  clock: ManualClock,
): Promise<number> {
  const keys = objects.map(String);
  const ranges = keys.map((key, i) => ({ key, at: Math.min(offset, sizeOf(objects[i] ?? 0)) }));
  const target = () => new Uint8Array(1500);
  if (kind === 'read') await Promise.all(ranges.map(({ key, at }) => hierarchy.read(key, { offset: at })));
  else if (kind === 'readInto')
    await Promise.all(ranges.map(({ key, at }) => hierarchy.readInto(key, target(), { offset: at })));
  else if (kind === 'readMany')
    await hierarchy.readMany(ranges.map(({ key, at }) => ({ key, offset: at, target: target() })));
  else if (kind === 'handle')
    await Promise.all(
      ranges.map(async ({ key, at }) => (await hierarchy.handle(key)).readInto(target(), { offset: at })),
    );
  else {
    const prefetcher = new Prefetcher(hierarchy, listSequence(keys), { clock });
    let samples = 0;
    for await (const { data } of prefetcher) samples += data.byteLength >= 0 ? 1 : 0;
    const { repeated } = prefetcher.stats();
    expect(samples).toBe(keys.length);
    return samples - repeated;
  }
  return keys.length;
}

function parts({ reads }: HierarchyStats): number {
  return reads.fromTiers + reads.fromSource + reads.joined + reads.empty;
}

/** What traces say of reads, as statistics say it. */
function readsOf(traces: readonly ReadTrace[]): Partial<HierarchyStats['reads']> {
  const sum = (by: keyof ReadTrace['served']) => traces.reduce((total, { served }) => total + served[by], 0);
  return {
    fromTiers: sum('fromTiers'),
    fromSource: sum('fromSource'),
    joined: sum('joined'),
    empty: sum('empty'),
  };
}

it('[N1] [N2] every read that is served counts once, and the parts are the whole, since any snapshot', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(call, { minLength: 1, maxLength: 12 }),
      fc.constantFrom(0, 6000, 200_000),
      async (calls, quota) => {
        const clock = new ManualClock();
        const hierarchy = await started(quota, clock);
        using log = new TraceLog(readChannel);
        const underWay: Promise<number>[] = [];
        let before = hierarchy.stats();
        for (const one of calls) {
          underWay.push(made(hierarchy, one, clock));
          if (!one.isAlone) continue;
          await ended();
        }
        await ended();
        expect(hierarchy.stats(hierarchy.stats()).reads.total).toBe(0);
        expect(hierarchy.stats().reads).toMatchObject(readsOf(log.traces));
        await clock.run(hierarchy.close());

        async function ended(): Promise<void> {
          const counts = await clock.run(Promise.all(underWay.splice(0)));
          const since = hierarchy.stats(before);
          expect(since.reads.total).toBe(counts.reduce((sum, count) => sum + count, 0));
          expect(parts(since)).toBe(since.reads.total);
          expect(since.activeReads).toBe(0);
          const now = hierarchy.stats();
          expect(before.source.reads + since.source.reads).toBe(now.source.reads);
          expect(since.tiers[0]?.usedBytes).toBe(now.tiers[0]?.usedBytes);
          before = now;
        }
      },
    ),
    { numRuns: 60 },
  );
});

it('[N1] says what reads waited for', async () => {
  const clock = new ManualClock();
  const hierarchy = await started(200_000, clock);
  const read = (count: number) =>
    clock.run(Promise.all(Array.from({ length: count }, () => hierarchy.read('5'))));
  await read(3);
  expect(hierarchy.stats().reads).toEqual({ total: 3, fromSource: 1, joined: 2, fromTiers: 0, empty: 0 });
  await clock.run(hierarchy.idle());
  const before = hierarchy.stats();
  await read(2);
  await hierarchy.read('0');
  await expect(clock.run(hierarchy.read('nowhere'))).rejects.toThrow();
  const { reads, source, tiers } = hierarchy.stats(before);
  expect(reads).toEqual({ total: 3, fromSource: 0, joined: 0, fromTiers: 2, empty: 1 });
  expect(source).toMatchObject({ reads: 0, readBytes: 0 });
  expect(tiers[0]).toMatchObject({ reads: 2, readBytes: 8000 });
  await clock.run(hierarchy.close());
});
