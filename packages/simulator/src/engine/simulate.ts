import { systemClock, type Clock, type OperationOptions } from '@tiered/core';
import {
  accessTables,
  globalBatchSampler,
  type AccessTableOptions,
  type Sampler,
} from '@tiered/prefetch/sampling';
import {
  DEFAULT_ASSUMPTIONS,
  fetchLocal,
  fetchRemote,
  sampleSizes,
  type Assumptions,
  type Dataset,
  type SystemModel,
} from '../model/model.js';
import { Outcome, type SimulationResult } from './outcome.js';
import { NOWHERE, type Copies, type Strategy, type StrategyRun, type World } from '../strategies/strategy.js';
import { FROM_LOCAL, FROM_SOURCE, Timeline } from './timeline.js';

/** A training to simulate. */
export interface Simulation {
  readonly dataset: Dataset;
  readonly system: SystemModel;
  /** E, the number of epochs. */
  readonly epochs: number;
  /** B, the samples of a global batch, of all workers together. */
  readonly batchSize: number;
  /** Determines sizes and orders. Default: 0. */
  readonly seed?: number | undefined;
  readonly assumptions?:
    { readonly [Field in keyof Assumptions]?: Assumptions[Field] | undefined } | undefined;
  /** Assigns samples to workers. Default: `globalBatchSampler` of `@tiered/prefetch`. */
  readonly sampler?: Sampler | undefined;
}

/** Options of `simulate`. */
export interface SimulateOptions extends OperationOptions {
  /** Called after each epoch of each strategy. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
  /** Lets the event loop turn. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Simulates a training under each of these strategies: how long it would take, and where it would read from.
 *
 * Every access of every worker is simulated, step by step. A worker assumes that another has a sample as soon
 * as its own progress reaches the access that brings it (section 5.2.2). A worker that asks before the copy
 * exists reads the source; `misjudged` counts these accesses. Time follows `Timeline`. All strategies see the
 * same orders.
 *
 * Time is linear in epochs x samples x strategies, memory in samples x workers x strategies (a byte each for
 * those that keep copies). The event loop turns after each epoch of each strategy.
 * @throws The signal's reason, after the epoch that is being simulated.
 */
export async function simulate(
  simulation: Simulation,
  strategies: readonly Strategy[],
  { signal, onProgress, clock = systemClock }: SimulateOptions = {},
): Promise<SimulationResult[]> {
  const world = worldOf(simulation, { signal, clock });
  const { sourceShare = DEFAULT_ASSUMPTIONS.sourceShare, gamma = DEFAULT_ASSUMPTIONS.gamma } =
    simulation.assumptions ?? {};
  const assumptions = { sourceShare, gamma };
  const runs: Run[] = [];
  for (const strategy of strategies) runs.push(await Run.start(world, strategy, assumptions));
  const { epochs } = world.sampler;
  const total = epochs * runs.length;
  for (let epoch = 0; epoch < epochs; epoch++) {
    const orders = all(world.sampler.workers).map((worker) => world.sampler.epoch(worker, epoch));
    for (const [index, run] of runs.entries()) {
      signal?.throwIfAborted();
      run.epoch(epoch, orders);
      onProgress?.(epoch * runs.length + index + 1, total);
      await clock.turn();
    }
  }
  return runs.map((run) => run.result());
}

function worldOf(simulation: Simulation, options: AccessTableOptions): World {
  const { dataset, system, epochs, batchSize, seed = 0 } = simulation;
  const sizes = sampleSizes(dataset, seed);
  const { workers } = system;
  const samples = sizes.length;
  const sampler = simulation.sampler ?? globalBatchSampler({ samples, epochs, seed, workers, batchSize });
  let accesses: ReturnType<World['accesses']> | undefined;
  return {
    system,
    sizes,
    totalBytes: sizes.reduce((sum, size) => sum + size, 0),
    sampler,
    seed,
    batchPart: Math.max(1, Math.round(batchSize / workers)),
    accesses: () => (accesses ??= accessTables(sampler, all(workers), options)),
  };
}

/** The numbers of all workers. */
function all(workers: number): number[] {
  return Array.from({ length: workers }, (_, worker) => worker);
}

/** One strategy, from its start to its result. */
class Run {
  readonly #world: World;
  readonly #strategy: Strategy;
  readonly #timeline: Timeline;
  readonly #outcome: Outcome;
  readonly #refused: string | undefined;
  readonly #run: StrategyRun;
  /** Seconds per byte from each level, by its number. `NOWHERE` is never reached. */
  readonly #localCosts = new Float64Array(NOWHERE + 1).fill(Infinity);
  readonly #remoteCosts = new Float64Array(NOWHERE + 1).fill(Infinity);
  readonly #copies: Pick<Copies, 'table' | 'stride'>;
  /** Whether the cost of a sample depends on the level that it is brought to. */
  readonly #placingCosts: boolean;
  /**
   * When each sample first arrived at a worker that shares it, in seconds; 0 also for those that were there
   * before training began.
   */
  readonly #since: Float32Array;
  readonly #bytes: Float64Array;
  readonly #touched: Uint8Array;

  static async start(world: World, strategy: Strategy, assumptions: Assumptions): Promise<Run> {
    const refused = strategy.refuses?.(world);
    const run = refused === undefined ? await strategy.start?.(world) : undefined;
    return new Run(world, strategy, assumptions, refused, run ?? {});
  }

  private constructor(
    world: World,
    strategy: Strategy,
    assumptions: Assumptions,
    refused: string | undefined,
    run: StrategyRun,
  ) {
    const { system } = world;
    this.#world = world;
    this.#strategy = strategy;
    this.#timeline = new Timeline(system, assumptions);
    this.#outcome = new Outcome(world, strategy);
    this.#refused = refused;
    this.#run = run;
    this.#placingCosts = system.levels.some(({ place }) => place !== undefined);
    this.#bytes = new Float64Array(world.batchPart);
    this.#touched = new Uint8Array(world.batchPart);
    this.#copies = run.copies ?? {
      // No worker has any sample: one row serves for all.
      table: new Uint8Array(world.sampler.workers + 1).fill(NOWHERE),
      stride: 0,
    };
    // Only strategies that share have copies for others.
    this.#since = new Float32Array(run.copies?.shared === true ? world.sampler.samples : 0);
    for (const [number, level] of system.levels.entries()) {
      this.#localCosts[number] = fetchLocal(1, level) / 1e6;
      this.#remoteCosts[number] = fetchRemote(system, 1, level) / 1e6;
    }
    const { stagedBytes } = this.#run;
    if (stagedBytes === undefined) return;
    this.#timeline.stage(stagedBytes);
    this.#outcome.staged(stagedBytes, Math.max(...this.#timeline.done));
  }

  epoch(epoch: number, shared: readonly Uint32Array[]): void {
    if (this.#refused !== undefined) return;
    const { reorder } = this.#run;
    const orders = reorder === undefined ? shared : shared.map((order) => order.slice());
    this.#outcome.notCovered += reorder?.(epoch, orders) ?? 0;
    // Workers that do not read ahead all wait for the source at the same time.
    const adapts = (this.#strategy.access ?? 'prefetched') === 'prefetched';
    const longest = Math.max(...orders.map(({ length }) => length));
    for (let from = 0; from < longest; from += this.#world.batchPart) {
      for (let worker = 0; worker < orders.length; worker++) this.#part(worker, orders[worker], from);
      if (adapts) this.#timeline.updateGamma();
    }
    this.#outcome.epochEnded(Math.max(...this.#timeline.done));
  }

  result(): SimulationResult {
    return this.#outcome.result(this.#timeline, this.#refused);
  }

  /** Simulates the reads of a worker in one global batch. */
  #part(worker: number, order: Uint32Array = new Uint32Array(), from: number): void {
    const { sizes, batchPart } = this.#world;
    const end = Math.min(order.length, from + batchPart);
    const { access = 'prefetched' } = this.#strategy;
    if (access === 'prefetched') {
      this.#prefetched(worker, order, from, end);
      return;
    }
    for (let position = from; position < end; position++) {
      const bytes = sizes[order[position] ?? 0] ?? 0;
      if (access === 'perfect') this.#timeline.perfect(worker, bytes);
      else {
        this.#timeline.blocking(worker, bytes);
        this.#outcome.fetched(FROM_SOURCE, bytes, this.#timeline.fetched);
      }
    }
  }

  #prefetched(worker: number, order: Uint32Array, from: number, end: number): void {
    const { brought, served } = this.#run;
    const destination = this.#placingCosts ? this.#run.destination : undefined;
    const { table, stride } = this.#copies;
    this.#lookAhead(order, from, end);
    for (let position = from; position < end; position++) {
      const sample = order[position] ?? 0;
      const bytes = this.#bytes[position - from] ?? 0;
      const level = table[sample * stride + 1 + worker] ?? NOWHERE;
      const local = this.#localCosts[level] ?? Infinity;
      const remote = this.#remoteCosts[table[sample * stride] ?? NOWHERE] ?? Infinity;
      const to = destination === undefined || local < Infinity ? NOWHERE : destination(worker, sample);
      const since = this.#since[sample] ?? 0;
      const where = this.#timeline.prefetched(worker, bytes, local, remote, to, since);
      this.#outcome.fetched(where === FROM_LOCAL ? FROM_LOCAL + level : where, bytes, this.#timeline.fetched);
      if (this.#timeline.misjudged) this.#outcome.misjudged += 1;
      if (where === FROM_LOCAL) served?.(worker, sample, level);
      else if (where === FROM_SOURCE) {
        brought?.(worker, sample);
        // Until now no worker had it.
        if (remote === Infinity && this.#since.length > 0) this.#since[sample] = this.#timeline.available;
      }
    }
  }

  /**
   * Touches everything that a part of a batch needs, in one loop. Each access misses the processor's cache.
   * The misses of one loop overlap, while misses between the steps of the clock would wait for each other.
   */
  #lookAhead(order: Uint32Array, from: number, end: number): void {
    const { sizes } = this.#world;
    const { table, stride } = this.#copies;
    for (let position = from; position < end; position++) {
      const sample = order[position] ?? 0;
      this.#bytes[position - from] = sizes[sample] ?? 0;
      this.#touched[position - from] = table[sample * stride] ?? 0;
    }
  }
}
