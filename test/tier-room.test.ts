import { Control } from '@tiered/control';
import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { Hierarchy, MemoryDriver, TieredError, type TierLayout } from '@tiered/core';
import type { ListOptions } from '@tiered/core/driver';
import { ManualClock } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { lru, PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const MIB = 2 ** 20;
const OBJECT = 512 * 1024;
const QUOTA = 64 * MIB;
/**
 * A lease block, what a packed tier keeps for one, what a tier never gives away, and an object that has no
 * room any more.
 */
const WITHIN = (2 * QUOTA) / 16 + QUOTA / 64 + OBJECT;

let directory: string;
let clock: ManualClock;
let records: MemoryRecords;
let jobs: Job[];

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-room-'));
  clock = new ManualClock();
  records = new MemoryRecords(clock);
  jobs = [];
});

afterEach(async () => {
  for (const job of jobs) await inTime(job.close());
  fs.rmSync(directory, { recursive: true, force: true });
});

/** A registry that can be lost. */
class LosableRegistry extends MemoryRegistry {
  isLost = false;

  override async all(...args: Parameters<MemoryRegistry['all']>) {
    if (this.isLost) throw new TieredError('TIERED_UNAVAILABLE', 'lost', { retryable: true });
    return super.all(...args);
  }
}

/** What is different for a job. */
interface Setting {
  readonly policy?: PlacementPolicy;
  readonly layout?: TierLayout;
  readonly weight?: number;
  /** Bytes of its dataset, and of an object of it. */
  readonly bytes?: number;
  readonly object?: number;
  /** Where its dataset is written to. */
  readonly source?: MemoryDriver;
}

/** A job with a dataset of its own, and a tier in the directory of all. */
class Job {
  readonly placement: PlacementHandler;
  readonly registry = new LosableRegistry(records);
  readonly keys: readonly string[];
  readonly #name: string;
  readonly #object: number;
  hierarchy!: Hierarchy;
  control!: Control;

  static async start(name: string, setting: Setting = {}): Promise<Job> {
    const job = new Job(name, setting);
    jobs.push(job);
    await job.#open(setting);
    return job;
  }

  private constructor(name: string, { bytes = 2 * QUOTA, object = OBJECT, policy }: Setting) {
    this.#name = name;
    this.#object = object;
    this.placement = new PlacementHandler({ policy, chunk: OBJECT });
    this.keys = Array.from({ length: bytes / object }, (_, i) => `${name}-${i}`);
  }

  async #open({ weight, layout, source = new MemoryDriver({ name: this.#name }) }: Setting): Promise<void> {
    await source.open({});
    for (const key of this.keys) await source.write(key, this.#content(key), { size: this.#object });
    const driver = new FileSystemDriver({ root: directory, writable: true });
    const tiers = [{ driver, quota: QUOTA, layout, readDeadlineMs: 1e9 }];
    const { registry, placement } = this;
    this.control = await Control.join({ registry, job: this.#name, weight, node: 'node', clock });
    this.hierarchy = await new Hierarchy({ source, tiers, placement, clock, scan: true }).open();
    this.control.followTiers(this.hierarchy);
  }

  #content(key: string): Uint8Array {
    return new Uint8Array(this.#object).fill(1 + (Number(key.split('-').pop()) % 255));
  }

  /** What it has placed. */
  get held(): number {
    return this.hierarchy.holdOf(0)?.heldBytes ?? 0;
  }

  get evicted(): number {
    return this.hierarchy.stats().placement.evicted;
  }

  get share(): number | undefined {
    const { decision } = this.control.view();
    return decision.tiers[0]?.jobs.find(({ job }) => job === this.#name)?.share;
  }

  /** Reads all of it, and compares it. */
  async readAll(): Promise<void> {
    for (const key of this.keys) {
      const bytes = await this.hierarchy.read(key);
      expect(Buffer.compare(bytes, this.#content(key))).toBe(0);
    }
  }

  async close(): Promise<void> {
    jobs = jobs.filter((job) => job !== this);
    await this.hierarchy.close();
    await this.control.close();
  }
}

/** Each job reads an epoch, then half a second passes. */
async function epochs(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await inTime(Promise.all(jobs.map((job) => job.readAll())));
    await inTime(Promise.all(jobs.map(({ hierarchy }) => hierarchy.idle())));
    await clock.advance(500);
    expect(onDisk()).toBeLessThanOrEqual(QUOTA);
  }
}

/** Lets the time pass that something takes. */
async function inTime(work: Promise<unknown>): Promise<void> {
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  done.catch(() => undefined);
  while (!isDone) await clock.advance(1);
  await done;
}

/** Bytes of all files in the directory, in whole blocks. */
function onDisk(): number {
  const names = fs.readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return names.reduce((sum, name) => {
    const stats = fs.statSync(path.join(directory, name), { throwIfNoEntry: false });
    return sum + (stats?.blocks ?? 0) * 512;
  }, 0);
}

function expectAbout(job: Job, bytes: number): void {
  expect(job.held).toBeLessThanOrEqual(bytes + OBJECT);
  expect(job.held).toBeGreaterThan(bytes - WITHIN);
}

it.each<[string, Setting]>([
  ['nothing is evicted', {}],
  ['what was not read for longest is evicted', { policy: lru }],
  ['copies are packed', { layout: 'packed', object: 128 * 1024 }],
])('[U10] jobs that start together hold their halves of a tier where %s', async (_, setting) => {
  const [one, two] = [await Job.start('one', setting), await Job.start('two', setting)];
  await clock.advance(1_000);
  await epochs(4);
  for (const job of [one, two]) expectAbout(job, QUOTA / 2);
  const held = { held: one.held, share: QUOTA / 2 };
  expect(Object.values(one.control.shares().tiers)).toEqual([held]);
  if (setting.policy === undefined) expect([one.evicted, two.evicted]).toEqual([0, 0]);
});

it.each<[string, Setting]>([
  ['nothing is evicted', {}],
  ['what was not read for longest is evicted', { policy: lru }],
  ['copies are packed', { layout: 'packed', object: 128 * 1024 }],
])(
  '[U10] one that was first gives back what is above its share, bit by bit, where %s',
  async (_, setting) => {
    const one = await Job.start('one', setting);
    await epochs(2);
    expectAbout(one, QUOTA);
    const two = await Job.start('two', { ...setting, weight: 3 });
    let [last, most] = [one.held, 0];
    one.control.on('decided', () => {
      most = Math.max(most, last - one.held);
      last = one.held;
    });
    await epochs(8);
    expect(most).toBeLessThanOrEqual(QUOTA / 8 + OBJECT);
    expect(most).toBeGreaterThan(0);
    expectAbout(one, QUOTA / 4);
    expectAbout(two, (QUOTA * 3) / 4);
    if (setting.policy !== undefined) return;
    const before = [one.evicted, two.evicted];
    await epochs(3);
    expect([one.evicted, two.evicted]).toEqual(before);
  },
);

it('[U10] one has the rest when the other has left and its copies are gone', async () => {
  const [one, two] = [await Job.start('one'), await Job.start('two')];
  await clock.advance(1_000);
  await epochs(2);
  for (const key of two.keys) await two.placement.evict(key);
  await two.close();
  await epochs(4);
  expect(one.control.shares().tiers).toEqual({});
  expectAbout(one, QUOTA);
});

/** Lists an object that is larger than an amount in a record. */
class VastDriver extends MemoryDriver {
  override async *list(options: ListOptions) {
    yield* super.list(options);
    yield [{ key: 'vast', size: 3e15, version: '1' }];
  }
}

it('[U2] [U10] one with petabytes to read is seen by the others', async () => {
  const vast = await Job.start('vast', { source: new VastDriver() });
  const other = await Job.start('other');
  vast.control.finishWithin(1, () => 3e15);
  await clock.advance(1_500);
  expect(
    other.control
      .view()
      .seen.stages.map(({ job }) => job)
      .sort(),
  ).toEqual(['other', 'vast']);
  expect([vast.share, other.share]).toEqual([QUOTA / 2, QUOTA / 2]);
});

it('[U5] [U10] one whose registry is lost for long is not bounded', async () => {
  const [one, two] = [await Job.start('one'), await Job.start('two', { bytes: 8 * MIB })];
  await clock.advance(1_000);
  two.registry.isLost = true;
  one.registry.isLost = true;
  await clock.advance(29_000);
  await one.readAll();
  await one.hierarchy.idle();
  expect(one.held).toBe(QUOTA - 8 * MIB);
  await clock.advance(3_000);
  await one.readAll();
  await one.hierarchy.idle();
  expectAbout(one, QUOTA);
  expect(one.held).toBeGreaterThan(QUOTA - 8 * MIB);
  await two.close();
});
