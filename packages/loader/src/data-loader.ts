import { systemClock, TieredError, type Clock } from '@tiered/core';
import { raceAbort } from '@tiered/core/internal';
import type { SampleSet } from '@tiered/formats';
import { DamageLimit } from '@tiered/formats/internal';
import { Prefetcher } from '@tiered/prefetch';
import { Batch } from './batches/batch.js';
import { BatchMaker } from './batches/make-batch.js';
import { Pipeline, type PlannedBatch } from './batches/pipeline.js';
import { Clairvoyant } from './clairvoyance.js';
import { closedError } from './errors.js';
import { LoaderEpochs, type LoaderStats } from './observe/epochs.js';
import { figuresOf, type LoaderFigures } from './observe/figures.js';
import { reportOf } from './observe/report.js';
import { checkedOptions, type CheckedOptions, type CollatedBy, type DataLoaderOptions } from './options.js';
import { refuseNoBatches, type Ordering } from './order/make-order.js';
import { Parts, type LoaderPart } from './order/parts.js';
import { InRuns } from './reading/in-runs.js';
import { jobOf } from './reading/job.js';
import { originOf } from './reading/plan.js';
import { blocksOf, Planner, sharesOf } from './reading/planner.js';
import { Scattered } from './reading/scattered.js';
import { orderHash, type LoaderState } from './state.js';
import { makingOf } from './workers/making.js';
import type { WorkerPool } from './workers/worker-pool.js';

/**
 * Loads the samples of a training in batches. They are ordered by the seed, read ahead of the training,
 * decoded, transformed and collated.
 *
 * The order is over samples, not objects. It depends only on the seed, the epoch and the samples. So a
 * training is the same with any number of workers, with or without tiers, and on any machine. Ranks share
 * each batch, and all ranks get the same number of batches.
 *
 * A batch made in this thread may hold views of memory that the loader reuses: it is valid until the same
 * loop asks for the next batch. Copy any data you keep. Batches of worker threads belong to the caller.
 * Several loops may share a loader: each batch goes to one of them.
 *
 * The first error ends the loader, at the position of its batch. Leaving a loop over the loader early closes
 * it, like leaving a loop over a Node stream; leaving a loop over `epoch()` does not.
 * @typeParam S A sample, as its format decodes it.
 * @typeParam T The result of the transform.
 * @typeParam C The data of a batch.
 */
export class DataLoader<S = unknown, T = S, C = readonly T[]> implements AsyncDisposable {
  /** Batches of a whole epoch, the same on every rank. */
  readonly batchesPerEpoch: number;
  readonly #parts: Parts<S>;
  readonly #options: CheckedOptions;
  readonly #ordering: Ordering;
  readonly #lanes: number;
  readonly #damage: DamageLimit;
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  readonly #prefetcher: Prefetcher;
  readonly #making: BatchMaker | WorkerPool;
  readonly #pipeline: Pipeline;
  readonly #epochs: LoaderEpochs;
  #position: { readonly epoch: number; readonly done: number };
  /** Loans of iterators that are running, or have ended since the last batch was requested. */
  readonly #loans = new Set<Loan>();
  /** The error that ended the loader. */
  #failure: { readonly error: unknown } | undefined;
  readonly #clairvoyant: Clairvoyant | undefined;
  /** Ends the loader's background work besides reading. */
  readonly #ending = new AbortController();
  /** Hash of the order. Computing it looks at each key. */
  #hash: string | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;

  /**
   * Reading ahead starts shortly after construction.
   * @param samples The samples to read: one sample set, a part of one, or several that are mixed. The caller
   * owns their hierarchies, and closes them after the loader.
   * @throws TieredError `TIERED_CONFIG_INVALID` for invalid options, also if `dropLast` leaves out all
   * samples (a warning if only the split over ranks does), and for the state of a loader with other samples
   * or another order.
   */
  constructor(
    samples: SampleSet<S> | LoaderPart<S> | readonly LoaderPart<S>[],
    options: CollatedBy<T, C, DataLoaderOptions<S, T, C>>,
  );
  constructor(
    samples: SampleSet<S> | LoaderPart<S> | readonly LoaderPart<S>[],
    // Not one signature: a union of functions and modules hides what a generic function makes.
    // eslint-disable-next-line @typescript-eslint/unified-signatures
    options: DataLoaderOptions<S, T, C>,
  );
  constructor(
    samples: SampleSet<S> | LoaderPart<S> | readonly LoaderPart<S>[],
    options: DataLoaderOptions<S, T, C>,
  ) {
    const checked = checkedOptions(options);
    const { prefetch = {}, signal, clairvoyant } = options;
    const { seed } = checked;
    this.#options = checked;
    this.#parts = new Parts(samples);
    this.#damage = new DamageLimit(options);
    this.#clock = prefetch.clock ?? systemClock;
    this.#signal = signal;
    const parts = this.#parts as Parts;
    const { job, ordering, lanes, runs } = jobOf(parts, checked, options);
    this.#lanes = lanes;
    this.#ordering = ordering;
    const { order, reads } = ordering;
    this.#position = job.start;
    this.batchesPerEpoch = sharesOf({ order, ...checked }, 0).batches;
    if (this.batchesPerEpoch === 0) refuseNoBatches(order, checked);
    let ids = 0;
    const newId = () => ids++;
    const reading = reads === 'singly' ? new Scattered(parts, newId) : new InRuns(parts, runs(), newId);
    const planner = new Planner({ ...job, parts, reading });
    const blocks = blocksOf(planner);
    this.#clairvoyant =
      clairvoyant &&
      new Clairvoyant({
        ...clairvoyant,
        parts,
        job,
        epoch: () => this.#position.epoch,
        signal: this.#ending.signal,
        clock: this.#clock,
      });
    const requests = this.#clairvoyant?.whenPlanned(blocks) ?? blocks;
    this.#prefetcher = new Prefetcher(originOf(parts), requests, { ...prefetch, signal });
    const making = makingOf(parts, options, checked);
    this.#making = making;
    this.#epochs = new LoaderEpochs(this.#clock);
    this.#pipeline = new Pipeline({
      parts,
      seed,
      ahead: checked.ahead,
      next: () => planner.nextToMake(),
      take: (most) => this.#prefetcher.take(most),
      make: (task) => making.make(task),
      drop: (block) => making.drop(block),
      keepsBlocks: this.#ordering.windowBytes !== undefined,
      lends: making instanceof BatchMaker,
    });
  }

  /** Iterates over all remaining batches, of all epochs. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Batch<C>, void, undefined> {
    const loan: Loan = { batch: undefined, isOver: false };
    try {
      for (let batch = await this.#next(loan); batch !== undefined; batch = await this.#next(loan))
        yield batch;
    } finally {
      await this.close();
    }
  }

  /**
   * Iterates over the remaining batches of the current epoch, which is the epoch of the next batch. Yields
   * nothing after the last epoch. Leaving the loop early keeps the loader open, and the next call continues
   * with the rest. Several loops may share an epoch.
   */
  async *epoch(): AsyncGenerator<Batch<C>, void, undefined> {
    const loan: Loan = { batch: undefined, isOver: false };
    try {
      let batch = await this.#next(loan);
      // The first batch determines the epoch, since a resumed epoch may have no batches left.
      for (const epoch = batch?.epoch; batch !== undefined; batch = await this.#next(loan, epoch))
        yield batch;
    } finally {
      loan.isOver = true;
    }
  }

  /**
   * Returns the position of the training, to be saved with a checkpoint. Batches already yielded count as
   * done, even if they are still in use. The state is the same on all ranks that have taken the same number
   * of batches.
   */
  stateDict(): LoaderState {
    const { epoch, done } = this.#position;
    this.#hash ??= orderHash(this.#ordering.order, this.#parts);
    return { version: 1, epoch, done, order: this.#hash, lanes: this.#lanes };
  }

  /** Measurements so far. */
  stats(): LoaderStats {
    const { epochs } = this.#prefetcher.profile();
    return {
      epochs: this.#epochs.figures(epochs),
      skipped: this.#damage.skipped,
      clairvoyance: this.#clairvoyant?.state,
    };
  }

  /**
   * Returns the data of `report` as plain data. Draws an epoch to inspect its order, which takes O(samples).
   */
  figures(): LoaderFigures {
    return figuresOf({
      parts: this.#parts,
      ordering: this.#ordering,
      options: this.#options,
      batchesPerEpoch: this.batchesPerEpoch,
      stats: this.stats(),
      begun: this.#epochs.begun,
    });
  }

  /**
   * Describes in words how long each epoch took, where its bytes came from, and what limited it. `reportPage`
   * of `tiered/page` shows it with charts. Costs as much as `figures`.
   */
  report(): string {
    return reportOf(this.figures());
  }

  /**
   * Ends reading and workers, without waiting for unfinished functions. Batches that wait are dropped.
   * Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#failure ??= { error: closedError() };
    this.#ending.abort(this.#failure.error);
    for (const loan of this.#loans) this.#takeBack(loan);
    await Promise.all([
      this.#making.close(),
      this.#prefetcher.close(),
      this.#pipeline.end(),
      this.#clairvoyant?.end(),
    ]);
  }

  /**
   * The next batch; one call at a time over all loops. With an epoch, also undefined at its end, which
   * another loop may reach.
   */
  #next(loan: Loan, epoch?: number): Promise<Batch<C> | undefined> {
    const isOver = () => epoch !== undefined && this.#position.epoch !== epoch;
    const next = this.#turn.then(() => (isOver() ? undefined : this.#nextInTurn(loan)));
    this.#turn = next.catch(() => undefined);
    return next;
  }

  async #nextInTurn(loan: Loan): Promise<Batch<C> | undefined> {
    this.#takeBack(loan);
    for (const other of this.#loans) if (other.isOver) this.#takeBack(other);
    const begun = this.#clock.now();
    try {
      this.#throwIfEnded();
      this.#signal?.throwIfAborted();
      const next = await raceAbort(this.#pipeline.next(), this.#signal);
      this.#throwIfEnded();
      if (next === undefined) {
        this.#position = { epoch: this.#options.epochs, done: 0 };
        return undefined;
      }
      loan.batch = next;
      this.#loans.add(loan);
      return this.#given(next, begun);
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  #given(next: PlannedBatch, begun: number): Batch<C> {
    const { plan, made } = next;
    this.#countDamage(next);
    const { epoch, index, done, isLast, numbers } = plan;
    const kept = made.kept?.map((i) => numbers[i] ?? 0) ?? numbers;
    this.#position = isLast ? { epoch: epoch + 1, done: 0 } : { epoch, done };
    this.#epochs.given({ epoch, samples: kept.length, begun });
    return new Batch(
      { epoch, index, numbers: kept },
      { data: made.data as C, isOwn: made.isOwn },
      this.#parts,
    );
  }

  #countDamage({ plan, made }: PlannedBatch): void {
    for (const { error } of made.damage) {
      this.#damage.add(error as TieredError);
      this.#damage.check(this.#ordering.order.length * (plan.epoch + 1), error as TieredError);
    }
  }

  #throwIfEnded(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #takeBack(loan: Loan): void {
    if (loan.batch !== undefined) this.#pipeline.release(loan.batch);
    loan.batch = undefined;
    this.#loans.delete(loan);
  }
}

/** The batch whose memory an iterator holds, until it asks for the next one. */
interface Loan {
  batch: PlannedBatch | undefined;
  /** Whether its iterator has ended. Its batch stays valid until another iterator asks for one. */
  isOver: boolean;
}
