import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { Control } from '@tiered/control';
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { ManualClock, someBytes, ticked } from '@tiered/core/testing';
import { openSamples, type SampleSet } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader } from '@tiered/loader';
import { sharedName } from '@tiered/loader/internal';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import type { DescribedSequence } from '@tiered/prefetch/sampling';
import { planFollower, PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../packages/tiering/test/helpers.js';

const OBJECTS = 200;
const BYTES = 64 * 1024;
const EPOCHS = 5;
/** Two jobs, each of 120 objects; 40 are read by both. */
const FIRST = { a: 0, b: 80 } as const;
const READ = 120;
const SHARED = 40;
const isShared = (sample: number) => sample >= FIRST.b && sample < FIRST.a + READ;
type Name = keyof typeof FIRST;

/** Counts the bytes that are asked for of each object. */
class CountingReads extends InterceptingDriver {
  readonly bytes = new Map<string, number>();
  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.operation === 'readInto')
      this.bytes.set(call.key, (this.bytes.get(call.key) ?? 0) + call.mostBytes);
    return call.proceed();
  }
}

/** A source, a disk that all jobs share, and the table where they meet. */
async function makeWorld() {
  const root = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-together-'));
  onTestFinished(() => fs.rm(root, { recursive: true }));
  const source = new MemoryDriver({ name: 'source' });
  for (let i = 0; i < OBJECTS; i++)
    await source.write(String(1000 + i), someBytes(BYTES, i), { size: BYTES });
  const clock = new ManualClock(ticked);
  const records = new MemoryRecords(clock);
  return { root, source: new CountingReads(source), clock, records };
}

type World = Awaited<ReturnType<typeof makeWorld>>;

/** A job with a hierarchy of its own over that disk. */
async function makeJob({ root, source, clock, records }: World, name: Name) {
  const control = await Control.join({ registry: new MemoryRegistry(records), job: name, clock });
  onTestFinished(() => control.close());
  const policy = planFollower();
  const placement = new PlacementHandler({ policy, chunk: BYTES });
  const tiers = [{ driver: new FileSystemDriver({ root, writable: true }), quota: '3MiB' }] as const;
  const hierarchy = await new Hierarchy({ source, tiers, placement }).open();
  onTestFinished(() => hierarchy.close());
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: BYTES }) });
  const seed = FIRST[name];
  const described: DescribedSequence = {
    ...{ sampler: 'rank', first: FIRST[name], samples: READ, seed, epochs: EPOCHS, epoch: 0 },
    ...{ workers: 1, worker: 0, batchSize: 8, dropLast: false },
  };
  /** Has the others know of the job before it has a loader. */
  const announce = () => control.followSequence(sharedName(samples), () => described);
  const load = (isTogether: boolean) => {
    const only = Uint32Array.from({ length: READ }, (_, i) => FIRST[name] + i);
    const evict = placement.evict.bind(placement);
    const together = isTogether ? { readers: control, evict } : undefined;
    const loader = new DataLoader(
      { samples, only },
      { batchSize: 8, epochs: EPOCHS, seed, clairvoyant: { policy, together } },
    );
    onTestFinished(() => loader.close());
    return loader;
  };
  const roomy = [{ level: 0, quotaBytes: Infinity, freeBytes: Infinity }];
  const planned = () =>
    samples.keys.filter((key) => policy.place({ key, size: BYTES, chunkBytes: BYTES }, roomy) === 0);
  return { control, samples, described, announce, load, planned };
}

/** The samples that have a copy, as far as a hierarchy knows. */
function copies({ hierarchy, keys }: SampleSet): number[] {
  const { namespace } = hierarchy;
  return [...keys.keys()].filter((sample) => namespace.levelOf(namespace.find(keys[sample] ?? '')) === 0);
}

async function train(loader: DataLoader): Promise<number> {
  let samples = 0;
  for await (const { data } of loader) samples += data.length;
  return samples;
}

/** Resolves when a loader has brought what its plan says, as far as there is room. */
function isFilled(loader: DataLoader, planned: () => readonly string[]): Promise<void> {
  return until(() => {
    const { placed: [placed = 0] = [], left = 0 } = loader.stats().clairvoyance?.filled ?? {};
    return placed + left === planned().length && planned().length > 0;
  });
}

/** Two jobs on one disk: what was asked of the source, in objects, and what the disk has then. */
async function trainBoth(isTogether: boolean) {
  const world = await makeWorld();
  const [a, b] = [await makeJob(world, 'a'), await makeJob(world, 'b')];
  const said = [a.announce(), b.announce()];
  await world.clock.advance(1500);
  const loaders: DataLoader[] = [];
  for (const [i, job] of [a, b].entries()) {
    said[i]?.();
    const loader = job.load(isTogether);
    loaders.push(loader);
    // One after the other, so that they do not ask for the same object at the same moment.
    await isFilled(loader, job.planned);
  }
  expect(await Promise.all(loaders.map(train))).toEqual([READ * EPOCHS, READ * EPOCHS]);
  const kept = [...new Set([...copies(a.samples), ...copies(b.samples)])];
  const asked = kept.map((sample) => (world.source.bytes.get(String(1000 + sample)) ?? 0) / BYTES);
  const all = [...world.source.bytes.values()].reduce((sum, bytes) => sum + bytes, 0) / BYTES;
  return { all, asked, kept, planned: [a.planned().length, b.planned().length] as const };
}

it('[U11] what two jobs will both read is kept by the disk that they share, and is read from the source once', async () => {
  const [sums, own] = [await trainBoth(true), await trainBoth(false)];
  // The one that has fewer of its own there plans the same.
  expect(sums.planned[1]).toBe(SHARED);
  // Near the end of the room, an object may be asked for several times before there is room for it, if ever.
  const withoutRoom = sums.planned[0] - sums.kept.length;
  expect(withoutRoom).toBeGreaterThanOrEqual(0);
  expect(withoutRoom).toBeLessThanOrEqual(2);
  expect(sums.kept.filter(isShared).length).toBeGreaterThanOrEqual(SHARED - withoutRoom);
  const once = sums.kept.filter((_, at) => sums.asked[at] === 1);
  expect(once.length).toBeGreaterThan(0.8 * sums.kept.length);
  const saved = once.reduce((sum, sample) => sum + EPOCHS * (isShared(sample) ? 2 : 1) - 1, 0);
  // An object that is read at the end of an epoch and at the beginning of the next may be asked for once.
  expect(sums.all).toBeLessThanOrEqual(2 * READ * EPOCHS - saved);
  expect(own.kept.filter(isShared).length).toBeLessThan(SHARED / 2);
  expect(sums.all + 0.5 * SHARED * EPOCHS).toBeLessThan(own.all);
});

it('[U11] the plan is made anew when a job comes, and when it leaves', async () => {
  const world = await makeWorld();
  const [a, b] = [await makeJob(world, 'a'), await makeJob(world, 'b')];
  const first = a.load(true);
  await isFilled(first, a.planned);
  const alone = a.planned();
  expect(copies(a.samples).filter(isShared).length).toBeLessThan(SHARED);
  const second = b.load(true);
  await world.clock.advance(1500);
  const shared = a.samples.keys.filter((_, sample) => isShared(sample)).join();
  await until(() => b.planned().join() === shared);
  await until(() => shared.split(',').every((key) => a.planned().includes(key)));
  await second.close();
  await world.clock.advance(1500);
  await until(() => a.planned().join() === alone.join());
  expect(await train(first)).toBe(READ * EPOCHS);
});

it.each([
  ['more than there is', { samples: 1e15 }],
  ['for ever', { epochs: 1e9 }],
  ['in an order that nobody knows', { sampler: 'unknown' }],
  ['beyond the dataset', { first: OBJECTS - 1, samples: 2 }],
  ['nothing any more', { epoch: EPOCHS }],
])('[U11] a stage that says that it reads %s changes nothing', async (_, lie) => {
  const world = await makeWorld();
  const a = await makeJob(world, 'a');
  const loader = a.load(true);
  await isFilled(loader, a.planned);
  const before = copies(a.samples);
  const { node } = a.control.view().seen.stages[0] ?? {};
  const sequences = [{ dataset: sharedName(a.samples), ...a.described, ...lie }];
  const stage = { v: 1, kind: 'stage', job: 'liar', node, terms: {}, sources: {}, tiers: {}, sequences };
  const registry = new MemoryRegistry(world.records);
  await registry.open();
  await registry.put({ slot: 'stage.liar', owner: 'liar', record: stage }, { ttlMs: 60_000 });
  await world.clock.advance(1500);
  expect(a.control.view().seen.stages.map(({ job }) => job)).toContain('liar');
  expect(await train(loader)).toBe(READ * EPOCHS);
  expect(copies(a.samples)).toEqual(before);
  expect(loader.stats().clairvoyance?.error).toBeUndefined();
});
