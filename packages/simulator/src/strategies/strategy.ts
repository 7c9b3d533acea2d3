import type { AccessTable, Sampler } from '@tiered/prefetch/sampling';
import type { SystemModel } from '../model/model.js';

/** The facts that a strategy knows about its run. */
export interface World {
  readonly system: SystemModel;
  /** Bytes of every sample. */
  readonly sizes: Float64Array;
  /** Bytes of all samples. */
  readonly totalBytes: number;
  readonly sampler: Sampler;
  readonly seed: number;
  /** Samples that a worker reads of one global batch, B / N, rounded. */
  readonly batchPart: number;
  /** Frequencies and first accesses of every worker (section 3.2). Computed on first use. */
  readonly accesses: () => Promise<readonly AccessTable[]>;
}

/** An entry in a table of levels: no worker has the sample. */
export const NOWHERE = 255;

/** How samples get to workers, according to one of the paper's policies (section 6). */
export interface Strategy {
  /** The name on the command line. */
  readonly name: string;
  /**
   * Whether samples are read ahead of the consumers (`'prefetched'`), consumers wait for each read
   * (`'blocking'`), or never wait (`'perfect'`). Default: `'prefetched'`.
   */
  readonly access?: 'prefetched' | 'blocking' | 'perfect';
  /**
   * Whether any worker may read any sample, in the order of the sampler. If not, the training sees different
   * data. Default: true.
   */
  readonly fullRandomization?: boolean;
  /** Why the strategy cannot run on this system, in words; undefined if it can. */
  readonly refuses?: (world: World) => string | undefined;
  /** Makes the state of one run. */
  readonly start?: (world: World) => StrategyRun | Promise<StrategyRun>;
}

/** The state of a strategy during a run. */
export interface StrategyRun {
  /**
   * The samples that each worker has. The strategy changes it, and each access looks it up. Default: none.
   */
  readonly copies?: Copies;
  /** Bytes that each worker reads from the source before training begins. */
  readonly stagedBytes?: Float64Array;
  /**
   * Changes the reads of workers in an epoch, in place.
   * @returns The accesses of the sampler in this epoch that no worker makes.
   */
  readonly reorder?: (epoch: number, orders: readonly Uint32Array[]) => number;
  /**
   * The level that a sample will be on once this worker has read it from the source, or `NOWHERE`. Called
   * before the read, if bringing a sample to a level does not cost the same as reading it. Default:
   * `NOWHERE`.
   */
  readonly destination?: (worker: number, sample: number) => number;
  /** Called when a worker has read a sample from the source. */
  readonly brought?: (worker: number, sample: number) => void;
  /** Called when a worker has read a sample from a level of its own. */
  readonly served?: (worker: number, sample: number, level: number) => void;
}

/** Added to a level: the sample is planned there, but not there yet. */
const PLANNED = 128;

/** The level of each sample on each worker: F x (N + 1) bytes. */
export class Copies {
  /**
   * For each sample in turn: the fastest level on which any worker shares it, then its level on each worker.
   * The entries of a sample lie together, because looking them up takes most of the time of a simulation.
   */
  readonly table: Uint8Array;
  /** Entries of a sample in the table. */
  readonly stride: number;
  /** Whether workers read from each other. */
  readonly shared: boolean;

  /** @param shared Whether workers read from each other. */
  constructor({ sampler: { samples, workers } }: World, shared: boolean) {
    this.stride = workers + 1;
    this.table = new Uint8Array(samples * this.stride).fill(NOWHERE);
    this.shared = shared;
  }

  /**
   * Returns the level that has a sample on a worker, or that it is planned for; `NOWHERE` if there is none.
   */
  levelOn(worker: number, sample: number): number {
    return this.table[sample * this.stride + 1 + worker] ?? NOWHERE;
  }

  /** Returns whether any worker has the sample for others to read. */
  isAnywhere(sample: number): boolean {
    return this.table[sample * this.stride] !== NOWHERE;
  }

  /** Puts a sample on a level of a worker, or `NOWHERE`. */
  put(worker: number, sample: number, level: number): void {
    const row = sample * this.stride;
    this.table[row + 1 + worker] = level;
    if (this.shared && level < (this.table[row] ?? NOWHERE)) this.table[row] = level;
  }

  /**
   * Returns the level that a sample is planned for on a worker but is not on yet; `NOWHERE` if there is none.
   */
  plannedOn(worker: number, sample: number): number {
    const level = this.levelOn(worker, sample);
    return level >= PLANNED && level !== NOWHERE ? level - PLANNED : NOWHERE;
  }

  /** Plans a sample for a level of a worker. */
  plan(worker: number, sample: number, level: number): void {
    this.table[sample * this.stride + 1 + worker] = level + PLANNED;
  }

  /** Notes that a sample has arrived at a worker that it is planned for. */
  arrive(worker: number, sample: number): void {
    const level = this.plannedOn(worker, sample);
    if (level !== NOWHERE) this.put(worker, sample, level);
  }
}

/** Levels of a worker that a table can name. */
export const MOST_LEVELS = PLANNED - 1;

/** Bytes that each level of a worker holds. */
export function quotasOf({ system }: World): number[] {
  return system.levels.map(({ capacityMB }) => capacityMB * 1e6);
}
