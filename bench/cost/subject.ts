import { Hierarchy, MemoryDriver } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { S3Driver, type S3DriverOptions } from '@tiered/s3-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { answerParent } from '../lib/child.js';
import { costOf, type Cost } from './cost-of.js';
import { readerOf, type Loop } from './loops.js';

/** The place of copies; `read` keeps none. */
export type Keeping = 'read' | 'ram' | 'files' | 'packed';

/** A task for a process of its own: to read objects of one size. */
export interface SubjectTask {
  /** A directory, or a bucket. */
  readonly source: string | S3DriverOptions;
  readonly bytes: number;
  readonly keeping: Keeping;
  readonly loop: Loop;
  /** An empty directory. */
  readonly tier: string;
  /** Objects that come first, and do not count; and the others. */
  readonly warm: readonly string[];
  readonly keys: readonly string[];
}

/** The costs of the objects when they were first read, and once they were on the tier. */
export interface SubjectCosts {
  readonly first: Cost;
  readonly again: Cost;
}

/** Passes of `measure` over the objects. */
const PASSES = 4;

async function measure(task: SubjectTask): Promise<SubjectCosts> {
  const { source, warm, keys, bytes, loop, tier } = task;
  await using hierarchy = await open(task);
  const root = typeof source === 'string' ? source : '';
  const read = await readerOf(loop, { hierarchy, root, bytes, scratch: tier, passes: PASSES });
  const readAll = async (some: readonly string[]) => {
    const other = await read(some);
    await hierarchy.idle();
    return other;
  };
  await readAll(warm);
  const first = await costOf(keys.length, () => readAll(keys));
  await readAll(warm);
  const again = await costOf(keys.length, () => readAll(keys));
  return { first, again };
}

function open({ source, keeping, tier, bytes, warm, keys }: SubjectTask): Promise<Hierarchy> {
  const quota = 2 * bytes * (warm.length + keys.length) + 64e6;
  const driver =
    keeping === 'ram' ? new MemoryDriver() : new FileSystemDriver({ root: tier, writable: true });
  const layout = keeping === 'packed' ? 'packed' : 'files';
  return new Hierarchy({
    source: typeof source === 'string' ? new FileSystemDriver({ root: source }) : new S3Driver(source),
    tiers: keeping === 'read' ? [] : [{ driver, quota, layout }],
    placement: new PlacementHandler(),
  }).open();
}

await answerParent(measure);
