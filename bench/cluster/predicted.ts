import { rankSampler } from '@tiered/prefetch/sampling';
import { simulate } from '@tiered/simulator';
import type { SystemModel } from '@tiered/simulator/model';
import { placed, STRATEGIES, Copies, type Strategy } from '@tiered/simulator/strategies';
import { firstFit } from '@tiered/tiering';
import { UNPLANNED } from '@tiered/tiering/plans';
import { COMPUTE_BYTES_PER_SECOND, quotaOf, SEED, type Case } from './cases.js';
import { planOfNodes } from './plan.js';
import { ALONE, BY_PLAN, SOURCE_ONLY, type Way } from './trained.js';

const MB = 1e6;
/** As the default of a `Prefetcher`. */
const STAGING_MB = 256;
/** More than anything here: nothing is preprocessed. */
const NO_LIMIT = 1e6;

/** What was measured of the nodes of a case. */
export interface Measured {
  /** t(gamma): of so many nodes that read from the source, in MB/s. */
  readonly source: readonly (readonly [number, number])[];
  /** b_c: what each node reads from others while all do, in MB/s. */
  readonly networkMBps: number;
  /** r: what each node reads from its own RAM while all do, in MB/s. */
  readonly ramMBps: number;
}

/**
 * Seconds of each epoch by the simulator; undefined for a way that it does not know. A node has one thread,
 * which is as fast as the whole node was measured.
 */
export async function predicted(one: Case, way: Way, measured: Measured): Promise<number[] | undefined> {
  const strategy = strategyOf(one, way);
  if (strategy === undefined) return undefined;
  const { dataset, nodes, epochs } = one;
  const unlimited = { points: [[1, NO_LIMIT]] as const };
  const system: SystemModel = {
    workers: nodes,
    computeMBps: COMPUTE_BYTES_PER_SECOND / nodes / MB,
    preprocessMBps: NO_LIMIT,
    networkMBps: measured.networkMBps,
    source: { points: measured.source },
    staging: { name: 'staging', capacityMB: STAGING_MB, threads: 1, read: unlimited },
    levels: [
      {
        name: 'RAM',
        capacityMB: quotaOf(one) / MB,
        threads: 1,
        read: { points: [[1, measured.ramMBps]] },
        write: unlimited,
      },
    ],
  };
  const [result] = await simulate(
    {
      dataset: { sizesMB: new Float64Array(dataset.objects).fill(dataset.bytes / MB) },
      system,
      epochs,
      batchSize: nodes,
      sampler: rankSampler({ samples: dataset.objects, epochs, seed: SEED, workers: nodes }),
    },
    [strategy],
  );
  const ends = result?.epochEnds ?? [];
  return ends.map((end, epoch) => end - (ends[epoch - 1] ?? 0));
}

function strategyOf(one: Case, { name }: Way): Strategy | undefined {
  if (name === SOURCE_ONLY.name) return STRATEGIES.find((strategy) => strategy.name === 'staging-buffer');
  if (name === ALONE.name) return placed(firstFit);
  return name === BY_PLAN.name ? byPlan(one) : undefined;
}

/** What nodes keep by the plan of all, which is in their RAM as soon as anybody has read it. */
function byPlan(one: Case): Strategy {
  return {
    name: 'by plan',
    start: (world) => {
      const { workers, samples } = world.sampler;
      const copies = new Copies(world, true);
      const all = Array.from({ length: workers }, (_, worker) => worker);
      const shared = planOfNodes(world.sampler, quotaOf(one), one.dataset.bytes, all);
      for (const worker of all) {
        const plan = shared.planOf(worker);
        for (let sample = 0; sample < samples; sample++)
          if (plan?.[sample] !== UNPLANNED) copies.plan(worker, sample, plan?.[sample] ?? 0);
      }
      return {
        copies,
        destination: (worker, sample) => copies.plannedOn(worker, sample),
        brought: (_, sample) => {
          for (const worker of all) copies.arrive(worker, sample);
        },
      };
    },
  };
}
