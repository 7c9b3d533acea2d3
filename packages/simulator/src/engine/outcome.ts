import type { Strategy, World } from '../strategies/strategy.js';
import type { Timeline } from './timeline.js';

/** The bytes that came from one place. */
export interface SourceShare {
  /** `source`, `remote`, or the name of one of the worker's own levels. */
  readonly from: string;
  readonly megabytes: number;
  /** Part of all bytes that workers fetched, from 0 to 1. */
  readonly share: number;
  /** Seconds spent fetching, over all threads of all workers. */
  readonly seconds: number;
}

/** The result of one strategy. Times are those of the slowest worker, in seconds. */
export interface SimulationResult {
  readonly strategy: string;
  /** Why the strategy cannot run on this system. If set, all figures are 0. */
  readonly refused?: string;
  /** Time of all epochs, and of staging before them. */
  readonly seconds: number;
  /** The part of `seconds` before training began. */
  readonly stagingSeconds: number;
  /** The part of `seconds` in which a consumer waited for data, staging included. */
  readonly stallSeconds: number;
  /** When each epoch ended. */
  readonly epochEnds: readonly number[];
  /**
   * All bytes that were fetched, by place, including those of staging. Empty if the strategy fetches nothing.
   */
  readonly sources: readonly SourceShare[];
  /**
   * Part of all accesses of the sampler that no worker makes, from 0 to 1. 0 if the whole dataset is read in
   * every epoch.
   */
  readonly notCovered: number;
  /**
   * Part of all accesses for which a worker assumed a copy, based on its own progress, before it existed,
   * from 0 to 1: the false positives of section 5.2.2. They read the source.
   */
  readonly misjudged: number;
  /** Whether any worker may read any sample. */
  readonly fullRandomization: boolean;
}

/** Adds up the results of a run. */
export class Outcome {
  readonly #world: World;
  readonly #strategy: Strategy;
  readonly #names: readonly string[];
  readonly #bytes: Float64Array;
  readonly #seconds: Float64Array;
  readonly #epochEnds: number[] = [];
  #stagingSeconds = 0;
  /** Accesses that no worker made. */
  notCovered = 0;
  /** Accesses that assumed a copy too early. */
  misjudged = 0;

  constructor(world: World, strategy: Strategy) {
    this.#world = world;
    this.#strategy = strategy;
    this.#names = ['source', 'remote', ...world.system.levels.map(({ name }) => name)];
    this.#bytes = new Float64Array(this.#names.length);
    this.#seconds = new Float64Array(this.#names.length);
  }

  staged(bytesOfWorkers: Float64Array, seconds: number): void {
    this.#stagingSeconds = seconds;
    for (const bytes of bytesOfWorkers) this.fetched(0, bytes, 0);
    this.#seconds[0] = (this.#seconds[0] ?? 0) + seconds * bytesOfWorkers.length;
  }

  /** @param from 0 for the source, 1 for another worker, 2 + n for level n. */
  fetched(from: number, bytes: number, seconds: number): void {
    this.#bytes[from] = (this.#bytes[from] ?? 0) + bytes;
    this.#seconds[from] = (this.#seconds[from] ?? 0) + seconds;
  }

  epochEnded(at: number): void {
    this.#epochEnds.push(at);
  }

  result({ done, busy }: Timeline, refused: string | undefined): SimulationResult {
    const { samples, epochs } = this.#world.sampler;
    const seconds = Math.max(...done);
    const total = this.#bytes.reduce((sum, bytes) => sum + bytes, 0);
    const sources = this.#names.map((from, index) => ({
      from,
      megabytes: (this.#bytes[index] ?? 0) / 1e6,
      share: (this.#bytes[index] ?? 0) / total,
      seconds: this.#seconds[index] ?? 0,
    }));
    return {
      strategy: this.#strategy.name,
      ...(refused !== undefined && { refused }),
      seconds,
      stagingSeconds: this.#stagingSeconds,
      stallSeconds: seconds - (busy[done.indexOf(seconds)] ?? 0),
      epochEnds: this.#epochEnds,
      sources: total === 0 ? [] : sources,
      notCovered: this.notCovered / (samples * epochs),
      misjudged: this.misjudged / (samples * epochs),
      fullRandomization: this.#strategy.fullRandomization !== false,
    };
  }
}
