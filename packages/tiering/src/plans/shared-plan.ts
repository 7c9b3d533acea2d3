import { planOfAll, type ClusterPlan, type WorkerAccesses } from './cluster-plan.js';
import { UNPLANNED, type PlanRoom } from './frequency-plan.js';

/** What one worker reads, and what it has room for. */
export interface SharingWorker extends Pick<WorkerAccesses, 'worker' | 'frequency'> {
  /** The rooms of its levels, the fastest first. Used up by the plan. */
  readonly rooms: readonly PlanRoom[];
}

/** A worker's share of a sample that nobody, or somebody else, keeps. */
type Pairs = Iterable<readonly [sample: number, worker: SharingWorker]>;

/**
 * Plans what workers keep that read from each other. Each sample has a place first, at the worker that will
 * read it most often and has room; at any worker with room, if none of its readers has. So the source is
 * asked for as few bytes as there is room for, and most reads are local. The room that is left then takes
 * further copies, the most often read first, which spare transfers between workers.
 *
 * `clusterPlan` is the rule of HDMLP (section 5.1): each worker keeps what it reads most often, whatever
 * others keep. There some samples have several copies and others none, although there is room for all: of
 * four workers with room for a quarter each and three epochs, a third stays in the source.
 *
 * All workers make the same plan if they number samples alike, and have the same rooms. O(samples x workers)
 * time, 4 bytes a sample and worker while it works, one byte kept.
 */
export function sharedPlan(workers: readonly SharingWorker[], samples: number): ClusterPlan {
  const plans = new Map(workers.map(({ worker }) => [worker, new Uint8Array(samples).fill(UNPLANNED)]));
  const isKept = new Uint8Array(samples);
  const keep = (sample: number, { worker, rooms }: SharingWorker): void => {
    const level = rooms.findIndex((room) => room.take(sample));
    if (level === -1) return;
    isKept[sample] = 1;
    const plan = plans.get(worker);
    if (plan !== undefined) plan[sample] = level;
  };
  const pairs = mostReadFirst(workers, samples);
  for (const [sample, worker] of pairsOf(pairs, workers)) if (isKept[sample] === 0) keep(sample, worker);
  for (const [sample, worker] of unread(workers, samples)) if (isKept[sample] === 0) keep(sample, worker);
  for (const [sample, worker] of pairsOf(pairs, workers))
    if (plans.get(worker.worker)?.[sample] === UNPLANNED) keep(sample, worker);
  return planOfAll(plans);
}

/**
 * Who reads what, the most often read first: sample x workers + worker. Among equals by sample; which worker
 * of a sample comes first differs from sample to sample, so that none gets more than others.
 */
function mostReadFirst(workers: readonly SharingWorker[], samples: number): Float64Array {
  const count = workers.length;
  let [most, read] = [0, 0];
  const each = (visit: (frequency: number, pair: number) => void): void => {
    for (let sample = 0; sample < samples; sample++)
      for (let i = 0; i < count; i++) {
        const worker = (sample + i) % count;
        const frequency = workers[worker]?.frequency[sample] ?? 0;
        if (frequency > 0) visit(frequency, sample * count + worker);
      }
  };
  each((frequency) => {
    most = Math.max(most, frequency);
    read += 1;
  });
  const places = new Float64Array(most + 1);
  each((frequency) => (places[most - frequency + 1] = (places[most - frequency + 1] ?? 0) + 1));
  for (let at = 1; at <= most; at++) places[at] = (places[at] ?? 0) + (places[at - 1] ?? 0);
  const pairs = new Float64Array(read);
  each((frequency, pair) => {
    const at = places[most - frequency] ?? 0;
    pairs[at] = pair;
    places[most - frequency] = at + 1;
  });
  return pairs;
}

function* pairsOf(pairs: Float64Array, workers: readonly SharingWorker[]): Pairs {
  for (const pair of pairs) {
    const worker = workers[pair % workers.length];
    if (worker !== undefined) yield [Math.floor(pair / workers.length), worker];
  }
}

/** Every sample with every worker, for those that no reader has room for. */
function* unread(workers: readonly SharingWorker[], samples: number): Pairs {
  const isRead = (sample: number) => workers.some(({ frequency }) => (frequency[sample] ?? 0) > 0);
  for (let sample = 0; sample < samples; sample++) {
    if (!isRead(sample)) continue;
    for (let i = 0; i < workers.length; i++) {
      const worker = workers[(sample + i) % workers.length];
      if (worker !== undefined) yield [sample, worker];
    }
  }
}
