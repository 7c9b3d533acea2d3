import type { Strategy } from '../strategies/strategy.js';
import type { Timeline } from './timeline.js';
import type { World } from './world.js';

/** How much came from one place. */
export interface SourceShare {
  /** `source`, `remote`, or the name of a level of the worker's own. */
  readonly from: string;
  readonly megabytes: number;
  /** Of all bytes that workers fetched, from 0 to 1. */
  readonly share: number;
  /** Seconds of fetching, over all threads of all workers. */
  readonly seconds: number;
}

/** What one strategy came to. Times are of the slowest worker, in seconds. */
export interface SimulationResult {
  readonly strategy: string;
  /** Why it cannot run on this; if so all figures are 0. */
  readonly refused?: string;
  /** All epochs, and staging before them. */
  readonly seconds: number;
  /** Of these: before training began. */
  readonly stagingSeconds: number;
  /** Of these: a consumer waiting for data, staging included. */
  readonly stallSeconds: number;
  /** When each epoch ended. */
  readonly epochEnds: readonly number[];
  /** By source: all bytes that were fetched, those of staging included. Empty where the strategy fetches nothing. */
  readonly sources: readonly SourceShare[];
  /** Accesses that the sampler asks for and nobody makes, of all accesses, from 0 to 1: 0 if the whole dataset is read in every epoch. */
  readonly notCovered: number;
  /** Whether any worker may read any sample. */
  readonly fullRandomization: boolean;
}

/** Adds up what a run comes to. */
export class Outcome {
  readonly #world: World;
  readonly #strategy: Strategy;
  readonly #names: readonly string[];
  readonly #bytes: Float64Array;
  readonly #seconds: Float64Array;
  readonly #epochEnds: number[] = [];
  #stagingSeconds = 0;
  /** Accesses that nobody made. */
  notCovered = 0;

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
      fullRandomization: this.#strategy.fullRandomization !== false,
    };
  }
}
