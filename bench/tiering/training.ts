import { Hierarchy, systemClock } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Prefetcher, shuffledSequence, type Sample } from '@tiered/prefetch';
import { PlacementHandler } from '@tiered/tiering';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { countsOfSlowMount } from '../../tools/fuse/slow-mount.js';
import { answerParent } from '../lib/child.js';
import { countsOf } from '../lib/counts.js';
import { assertPiece, PIECE_BYTES, type DataObject } from './dataset.js';
import { EPOCHS, throttled } from './run.js';
import { SlowWrites } from './slow-writes.js';

/** A training in a process of its own: all epochs through a `Prefetcher` with its defaults. */
export interface Training {
  readonly objects: readonly DataObject[];
  /** The directory of the dataset, or where it is mounted. */
  readonly source: string;
  /** What makes the source slow: timers of a `ThrottleDriver`, or the mount, whose reads really block. */
  readonly slowBy: SlowBy;
  readonly tier: { readonly directory: string; readonly quota: number; readonly writesPerSecond?: number };
  /** Options of `PlacementHandler`. */
  readonly placement: object;
}

export type SlowBy = 'timers' | 'FUSE';

/** What was seen of an epoch. */
interface TrainedEpoch {
  readonly seconds: number;
  readonly sourceOperations: number;
  readonly sourceBytes: number;
}

/** What was seen of a training. */
export interface Trained {
  readonly epochs: readonly TrainedEpoch[];
  /** From the end of the last epoch until nothing was being placed. */
  readonly idleSeconds: number;
  /** Until then, counted at the source, below whatever the SDK counts. */
  readonly sourceBytes: number;
  /** Bytes of the files on the tier after all was closed. */
  readonly onTierBytes: number;
  readonly cpuSeconds: number;
}

const SEED = 1;

async function train(training: Training): Promise<Trained> {
  const { objects, tier, placement } = training;
  const { driver: source, counts } = sourceOf(training);
  const files = new FileSystemDriver({ root: tier.directory, writable: true });
  const driver = tier.writesPerSecond === undefined ? files : new SlowWrites(files, tier.writesPerSecond);
  const hierarchy = new Hierarchy({
    source,
    tiers: [{ driver, quota: tier.quota }],
    placement: new PlacementHandler({ ...placement }),
  });
  await hierarchy.open();
  const byKey = new Map(objects.map((object) => [object.key, object]));
  const epochs: TrainedEpoch[] = [];
  let mark = { at: systemClock.now(), operations: 0, bytes: 0 };
  const endEpoch = () => {
    const now = { at: systemClock.now(), ...counts() };
    epochs.push({
      seconds: (now.at - mark.at) / 1000,
      sourceOperations: now.operations - mark.operations,
      sourceBytes: now.bytes - mark.bytes,
    });
    mark = now;
  };
  const sequence = shuffledSequence(byKey.keys(), { seed: SEED, epochs: EPOCHS });
  const prefetcher = new Prefetcher(hierarchy, sequence);
  for await (const sample of prefetcher) {
    if (sample.epoch > epochs.length) endEpoch();
    assertSample(sample, byKey);
  }
  endEpoch();
  await prefetcher.close();
  await hierarchy.idle();
  const idleSeconds = (systemClock.now() - mark.at) / 1000;
  const sourceBytes = counts().bytes;
  await hierarchy.close();
  const { user, system } = process.cpuUsage();
  const cpuSeconds = (user + system) / 1e6;
  return { epochs, idleSeconds, sourceBytes, onTierBytes: bytesOnTier(tier.directory), cpuSeconds };
}

function sourceOf({ source, slowBy }: Training) {
  const files = new FileSystemDriver({ root: source });
  if (slowBy === 'FUSE') return { driver: files, counts: () => countsOfMount(source) };
  const counted = new MetricsDriver(files);
  return { driver: throttled(counted), counts: () => countsOf(counted) };
}

function countsOfMount(directory: string) {
  const { lookup, getattr, open, read, bytes } = countsOfSlowMount(directory);
  return { operations: lookup + getattr + open + read, bytes };
}

function assertSample({ key, data }: Sample, byKey: ReadonlyMap<string, DataObject>): void {
  const object = byKey.get(key);
  if (object?.size !== data.byteLength) throw new Error(`${key}: ${data.byteLength} bytes`);
  for (let offset = 0; offset < object.size; offset += PIECE_BYTES) {
    const piece = data.subarray(offset, offset + PIECE_BYTES);
    assertPiece(object, offset, piece, piece.byteLength);
  }
}

/** Without the tier's own files. */
function bytesOnTier(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter((file) => !path.relative(directory, file).startsWith('.tiered'))
    .reduce((sum, file) => sum + statSync(file).size, 0);
}

await answerParent(train);
