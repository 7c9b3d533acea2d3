import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { atMost, type BenchOptions, type Check, type Row } from '../lib/bench.js';
import { besideBusyLoops } from '../lib/busy.js';
import { runInChild } from '../lib/child.js';
import { quotaOnDisk } from '../lib/on-disk.js';
import { hasSlowMounts } from '../lib/slow-mounts.js';
import type { NamedDataset } from './cases.js';
import { CHUNK_BYTES, MB } from './figures.js';
import { emptyFiles, EPOCHS, mountSlowly, SOURCE_BYTES_PER_SECOND } from './run.js';
import { ROOM_FOR_ALL, ROOM_FOR_SOME } from './setups.js';
import type { SlowBy, Trained, Training } from './training.js';

/** One training: what it reads, where it keeps it, and what else the machine does. */
interface Plan {
  readonly data: NamedDataset;
  readonly slowBy: SlowBy;
  /** Bytes that the tier may hold, as a share of the dataset. */
  readonly room: number;
  /** Processes beside it that only compute. */
  readonly busyLoops: number;
  /** Of libuv; default: 4. */
  readonly threads?: number;
  /**
   * What the placement does while the tier, which writes 10 times more slowly than the source gives, is
   * behind.
   */
  readonly whenBehind?: 'wait' | 'goOn';
}

/** A plan and what came of it. */
interface Seen {
  readonly plan: Plan;
  readonly trained: Trained;
}

const SLOW_TIER_BYTES_PER_SECOND = SOURCE_BYTES_PER_SECOND / 10;
const BUSY_LOOPS = 2;
const MANY_THREADS = 32;

/**
 * The same experiment through a `Prefetcher`, which reads ahead with as many reads as it likes, and so brings
 * the placement into situations that a few readers who wait never do. What counts is what the source had to
 * give, which no busy machine changes.
 */
export async function runPrefetched(
  datasets: readonly NamedDataset[],
  scratch: string,
  { quick, progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const sources: SlowBy[] = (await hasSlowMounts('the trainings on FUSE')) ? ['timers', 'FUSE'] : ['timers'];
  // Each training takes a second to start.
  const read = quick ? datasets.slice(-1) : datasets;
  const plans = sources.flatMap((slowBy) => read.flatMap((data) => plansFor(data, slowBy, quick)));
  const seen: Seen[] = [];
  for (const [i, plan] of plans.entries()) {
    progress(`Prefetcher, training ${i + 1} of ${plans.length}: ${plan.data.name}, ${plan.slowBy}`);
    seen.push({ plan, trained: await train(plan, scratch) });
  }
  return { rows: seen.map(rowOf), checks: checksOf(seen) };
}

function plansFor(data: NamedDataset, slowBy: SlowBy, quick: boolean): Plan[] {
  const idle = { data, slowBy, room: ROOM_FOR_ALL, busyLoops: 0 };
  const slowTiers = (['wait', 'goOn'] as const).map((whenBehind) => ({ ...idle, whenBehind }));
  const rooms = [idle, { ...idle, room: ROOM_FOR_SOME }];
  const busiest = { busyLoops: BUSY_LOOPS, threads: MANY_THREADS };
  if (quick) return slowBy === 'timers' ? [idle] : [...rooms, { ...idle, ...busiest }, ...slowTiers];
  const variants = [{}, { threads: MANY_THREADS }, { busyLoops: BUSY_LOOPS }, busiest];
  return [...rooms.flatMap((plan) => variants.map((variant) => ({ ...plan, ...variant }))), ...slowTiers];
}

async function train(plan: Plan, scratch: string): Promise<Trained> {
  const { data, slowBy, busyLoops, threads, whenBehind } = plan;
  const { directory, objects } = data.dataset;
  await using mount = slowBy === 'FUSE' ? await mountSlowly(directory) : undefined;
  const cache = await mkdtemp(path.join(scratch, 'cache-'));
  const training: Training = {
    objects,
    source: mount?.directory ?? directory,
    slowBy,
    tier: {
      directory: cache,
      quota: quotaOnDisk(quotaOf(plan), objects.length),
      ...(whenBehind !== undefined && { writesPerSecond: SLOW_TIER_BYTES_PER_SECOND }),
    },
    placement: whenBehind === undefined ? {} : { whenBehind },
  };
  const environment = { UV_THREADPOOL_SIZE: threads === undefined ? undefined : `${threads}` };
  const module = new URL('training.ts', import.meta.url);
  const trained = await besideBusyLoops(busyLoops, () =>
    runInChild<Trained>(module, training, { environment }),
  );
  await emptyFiles(cache);
  return trained;
}

function quotaOf({ room, data }: Plan): number {
  return Math.floor(room * data.dataset.bytes);
}

/** Bytes that the tier can keep of the dataset. */
function keptBytes(plan: Plan): number {
  return Math.min(plan.data.dataset.bytes, quotaOf(plan));
}

/** The least that all epochs can cost the source, E*S - (E-1)*D. */
function optimum(plan: Plan): number {
  return EPOCHS * plan.data.dataset.bytes - (EPOCHS - 1) * keptBytes(plan);
}

/**
 * Lists have a number an epoch; `source ops` are requests of the kernel where a mount is slow, else calls of
 * the driver; `on tier %` is what is on the tier in the end, of what could be.
 */
function rowOf({ plan, trained }: Seen): Row {
  const { data, slowBy, room, busyLoops, threads, whenBehind } = plan;
  const slow = whenBehind === undefined ? '' : `, slow, ${whenBehind}`;
  return {
    'through a Prefetcher': data.name,
    'slow by': slowBy,
    tier: `room for ${room < 1 ? `${Math.round(room * 100)} %` : 'all'}${slow}`,
    'busy loops': busyLoops,
    threads: threads ?? [],
    'epoch s': trained.epochs.map(({ seconds }) => seconds),
    'idle s': trained.idleSeconds,
    'CPU s': trained.cpuSeconds,
    'source ops': trained.epochs.map(({ sourceOperations }) => sourceOperations),
    'source MB': trained.epochs.map(({ sourceBytes }) => Math.round(sourceBytes / MB)),
    'x optimum': trained.sourceBytes / optimum(plan),
    'on tier MB': Math.round(trained.onTierBytes / MB),
    'on tier %': (100 * trained.onTierBytes) / keptBytes(plan),
  };
}

/**
 * The worst of the trainings on each dataset and source. Those that may leave objects out promise nothing
 * here.
 */
function checksOf(seen: readonly Seen[]): Check[] {
  const groups = new Map<string, Seen[]>();
  for (const training of seen) {
    const { data, slowBy, whenBehind } = training.plan;
    const name = `Prefetcher, ${data.name}, ${slowBy}`;
    if (whenBehind !== 'goOn') groups.set(name, [...(groups.get(name) ?? []), training]);
  }
  return [...groups].flatMap(([name, trainings]) => [
    atMost(
      `${name}: source bytes over the optimum, worst of ${trainings.length}`,
      Math.max(...trainings.map(({ plan, trained }) => trained.sourceBytes - optimum(plan))) / CHUNK_BYTES,
      EPOCHS - 1,
      'chunks',
    ),
    atMost(
      `${name}: left empty on the tier in the end, worst of ${trainings.length}`,
      Math.max(...trainings.map(({ plan, trained }) => keptBytes(plan) - trained.onTierBytes)) / CHUNK_BYTES,
      1,
      'chunks',
    ),
  ]);
}
