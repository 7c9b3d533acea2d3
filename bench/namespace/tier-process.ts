import { Hierarchy, systemClock } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { placeInOrder, PlacementHandler } from '@tiered/tiering';
import { answerParent } from '../lib/child.js';
import { TINY_BYTES, TinyObjects } from './tiny-objects.js';

/** A process that starts on a tier. */
export interface TierTask {
  /** Objects of the source. */
  readonly objects: number;
  readonly manifest: string;
  /** The directory of the tier. Default: no tier, and so the namespace alone. */
  readonly tier?: string;
  /** Whether it fills the tier. Default: the tier must be full. */
  readonly fill?: boolean;
  /** Whether it closes the hierarchy before it answers; else it is killed with everything open. */
  readonly close: boolean;
}

/** What it took. */
export interface TierAnswer {
  readonly startSeconds: number;
  readonly afterStart: Memory;
  /** If it filled the tier. */
  readonly fillSeconds: number;
  readonly afterFill: Memory;
}

/** Bytes of the process. */
interface Memory {
  /** JavaScript's heap and array buffers, after a collection. */
  readonly js: number;
  /** All, with what libraries took and what JavaScript has not given back. */
  readonly resident: number;
}

const AT_ONCE = 64;
/** Far more than is needed, and more than the least that a tier must hold. */
const QUOTA = 64 * 1024 ** 3;

async function run(task: TierTask, progress: (text: string) => void): Promise<TierAnswer> {
  const source = new TinyObjects(task.objects);
  const { manifest, tier } = task;
  const tiers =
    tier === undefined
      ? []
      : [{ driver: new FileSystemDriver({ root: tier, writable: true }), quota: QUOTA }];
  const placement = new PlacementHandler();
  const hierarchy = new Hierarchy({ source, tiers, manifest, ...(tiers.length > 0 && { placement }) });
  const startSeconds = await secondsOf(() => hierarchy.open());
  const afterStart = memory();
  const fillSeconds = await secondsOf(async () => {
    if (task.fill === true) await fill(hierarchy, source, task, progress);
  });
  const afterFill = memory();
  const held = hierarchy.stats().tiers[0]?.usedBytes ?? 0;
  if (tier !== undefined && held < task.objects * TINY_BYTES)
    throw new Error(`${held} bytes are on the tier, of ${task.objects * TINY_BYTES}`);
  if (task.close) await hierarchy.close();
  return { startSeconds, afterStart, fillSeconds, afterFill };
}

async function fill(
  hierarchy: Hierarchy,
  source: TinyObjects,
  { objects }: TierTask,
  progress: (text: string) => void,
): Promise<void> {
  const onProgress = ({ placed: [done = 0] }: { readonly placed: readonly number[] }) => {
    if (done % 1000 === 0) progress(`placing objects: ${done} of ${objects}`);
  };
  const { left, failed } = await placeInOrder(hierarchy, source.keys(), { concurrency: AT_ONCE, onProgress });
  if (left + failed > 0) throw new Error(`${left} objects were left in the source, ${failed} failed`);
}

function memory(): Memory {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { js: heapUsed + arrayBuffers, resident: rss };
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const start = systemClock.now();
  await work();
  return (systemClock.now() - start) / 1000;
}

await answerParent(run);
