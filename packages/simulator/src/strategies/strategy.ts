import type { World } from '../world.js';

/** In a table of levels: nobody has the sample. */
export const NOWHERE = 255;

/** How samples get to workers, as one of the paper's policies has it (section 6). */
export interface Strategy {
  /** As on the command line. */
  readonly name: string;
  /** Whether consumers are waited for (`'prefetched'`), wait (`'blocking'`), or never have to (`'perfect'`). Default: `'prefetched'`. */
  readonly access?: 'prefetched' | 'blocking' | 'perfect';
  /** Whether every sample may be read by any worker, in the order of the sampler. If not, what is trained on is another thing. Default: true. */
  readonly fullRandomization?: boolean;
  /** Why it cannot run on this, in words; undefined if it can. */
  readonly refuses?: (world: World) => string | undefined;
  /** Made for one run. */
  readonly start?: (world: World) => StrategyRun;
}

/** A strategy at work. */
export interface StrategyRun {
  /** Of each worker: the level on which it has each sample, or `NOWHERE`. Changed by the strategy, looked up at each access. */
  readonly own?: readonly Uint8Array[];
  /** The fastest level on which any worker has each sample, if workers read from each other. */
  readonly best?: Uint8Array;
  /** Bytes that each worker reads from the source before training begins. */
  readonly stagedBytes?: Float64Array;
  /**
   * Changes what workers read in an epoch, in place.
   * @returns Accesses of this epoch that the sampler asks for and that nobody makes.
   */
  readonly reorder?: (epoch: number, orders: readonly Uint32Array[]) => number;
  /** A worker read a sample from the source. */
  readonly brought?: (worker: number, sample: number) => void;
  /** A worker read a sample from a level of its own. */
  readonly served?: (worker: number, sample: number, level: number) => void;
}

/** Tables of levels for `StrategyRun`, empty. F x (N + 1) bytes. */
export class Copies {
  readonly own: readonly Uint8Array[];
  readonly best: Uint8Array;

  constructor({ sampler: { samples, workers } }: World) {
    this.own = Array.from({ length: workers }, () => new Uint8Array(samples).fill(NOWHERE));
    this.best = new Uint8Array(samples).fill(NOWHERE);
  }

  put(worker: number, sample: number, level: number): void {
    const own = this.own[worker];
    if (own !== undefined) own[sample] = level;
    if (level < (this.best[sample] ?? NOWHERE)) this.best[sample] = level;
  }

  isAnywhere(sample: number): boolean {
    return this.best[sample] !== NOWHERE;
  }
}

/** Bytes that each level of a worker holds. */
export function quotasOf({ system }: World): number[] {
  return system.levels.map(({ capacityMB }) => capacityMB * 1e6);
}
