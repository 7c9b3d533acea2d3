import { Shares } from '@tiered/prefetch/internal';
import Denque from 'denque';
import type { Located, Parts } from '../order/parts.js';
import type { EpochOrder } from '../order/epoch-order.js';
import type { BatchPlan, Block } from './plan.js';
import type { Placed } from './scattered.js';

/** The start of the rest of a training. */
interface PlanStart {
  readonly epoch: number;
  /** Samples of that epoch, on all ranks, that are done. */
  readonly done: number;
}

/** The reads of one rank of a training: the job of HDMLP (section 5). */
export interface Job {
  readonly order: EpochOrder;
  readonly epochs: number;
  readonly start: PlanStart;
  readonly batchSize: number;
  readonly rank: number;
  readonly ranks: number;
  readonly dropLast: boolean;
}

/** Dependencies of `Planner`. */
export interface PlannerParts extends Job {
  readonly parts: Parts;
  /** Locates samples. */
  readonly reading: {
    /** Begins an epoch with these samples of this rank. */
    begin?(batches: Iterable<Uint32Array>): void;
    place(located: Located): Placed;
  };
}

/**
 * Plans the batches of one rank, one after the other, for two consumers: the prefetcher, which reads their
 * blocks, and the loader, which makes them. Each gets every plan, once and in order, whichever asks first.
 */
export class Planner {
  readonly #plans: Iterator<BatchPlan, undefined>;
  /** Plans that only one of the two has received. */
  readonly #forReading = new Denque<BatchPlan>();
  readonly #forMaking = new Denque<BatchPlan>();

  constructor(parts: PlannerParts) {
    this.#plans = plansOf(parts);
  }

  /** The next plan to read the blocks of; undefined at the end. */
  nextToRead(): BatchPlan | undefined {
    return this.#next(this.#forReading, this.#forMaking);
  }

  /** The next plan to make a batch of; undefined at the end. */
  nextToMake(): BatchPlan | undefined {
    return this.#next(this.#forMaking, this.#forReading);
  }

  #next(own: Denque<BatchPlan>, other: Denque<BatchPlan>): BatchPlan | undefined {
    const waiting = own.shift();
    if (waiting !== undefined) return waiting;
    const { value } = this.#plans.next();
    if (value !== undefined) other.push(value);
    return value;
  }
}

/** The batches of a rank in each epoch, the same number on all ranks. */
export function sharesOf(
  { order, batchSize, ranks, dropLast }: Pick<Job, 'order' | 'batchSize' | 'ranks' | 'dropLast'>,
  done: number,
): Shares {
  return new Shares({ length: order.length, done, batchSize, ranks, dropLast });
}

/** An epoch of one rank. */
interface RankEpoch {
  readonly shares: Shares;
  /** The numbers of the samples of a batch. */
  readonly numbersOf: (batch: number) => Uint32Array;
}

function epochOf(job: Job, epoch: number): RankEpoch {
  const { order, start, rank } = job;
  const shares = sharesOf(job, epoch === start.epoch ? start.done : 0);
  const numbers = shares.batches === 0 ? new Uint32Array() : order.of(epoch);
  const numbersOf = (batch: number) => {
    const ofBatch = new Uint32Array(shares.sizeOf(batch));
    for (let i = 0; i < ofBatch.length; i++) ofBatch[i] = numbers[shares.positionOf(rank, batch, i)] ?? 0;
    return ofBatch;
  };
  return { shares, numbersOf };
}

/** The numbers of the samples that a rank reads in an epoch, by batch, in order. */
export function batchesOf(job: Job, epoch: number): Generator<Uint32Array> {
  return allOf(epochOf(job, epoch));
}

function* allOf({ shares, numbersOf }: RankEpoch): Generator<Uint32Array> {
  for (let batch = 0; batch < shares.batches; batch++) yield numbersOf(batch);
}

function* plansOf({ parts, reading, ...job }: PlannerParts): Generator<BatchPlan, undefined> {
  for (let epoch = job.start.epoch; epoch < job.epochs; epoch++) {
    const { shares, numbersOf } = epochOf(job, epoch);
    reading.begin?.(allOf({ shares, numbersOf }));
    for (let index = 0; index < shares.batches; index++) {
      const numbers = numbersOf(index);
      const located = parts.locate(numbers);
      yield {
        epoch,
        index,
        done: shares.doneAfter(index),
        isLast: index === shares.batches - 1,
        numbers,
        located,
        ...reading.place(located),
      };
    }
  }
  return undefined;
}

/** The blocks of plans, in the order a prefetcher reads them. */
export function* blocksOf(planner: Planner): Generator<Block> {
  let position = 0;
  let epoch: number | undefined;
  for (let plan = planner.nextToRead(); plan !== undefined; plan = planner.nextToRead()) {
    if (plan.epoch !== epoch) [epoch, position] = [plan.epoch, 0];
    for (const block of plan.newBlocks) {
      block.epoch = plan.epoch;
      block.position = position++;
      yield block;
    }
  }
}
