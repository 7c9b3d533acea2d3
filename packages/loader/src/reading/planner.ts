import Denque from 'denque';
import type { EpochOrder } from '../order/epoch-order.js';
import { Shares } from '../order/shares.js';
import type { BatchPlan, Block } from './plan.js';
import type { Placed } from './scattered.js';

/** Where the rest of a training begins. */
export interface PlanStart {
  readonly epoch: number;
  /** Samples of that epoch that are done, on all ranks. */
  readonly done: number;
}

/** What a planner needs. */
export interface PlannerParts {
  readonly order: EpochOrder;
  readonly epochs: number;
  readonly start: PlanStart;
  readonly batchSize: number;
  readonly rank: number;
  readonly ranks: number;
  readonly dropLast: boolean;
  readonly reading: {
    /** An epoch begins, of which these are the samples of this rank. */
    begin?(numbers: Iterable<number>): void;
    place(numbers: Uint32Array): Placed;
  };
}

/**
 * Plans the batches of one rank, one after the other. Two ask for them: the prefetcher, which reads their
 * blocks, and the loader, which makes them. Each gets every plan, once and in order, whoever asks first.
 */
export class Planner {
  readonly #plans: Iterator<BatchPlan, undefined>;
  /** Plans that only one of the two has got. */
  readonly #forReading = new Denque<BatchPlan>();
  readonly #forMaking = new Denque<BatchPlan>();

  constructor(parts: PlannerParts) {
    this.#plans = plansOf(parts);
  }

  /** The next plan whose blocks are to be read; undefined at the end. */
  nextToRead(): BatchPlan | undefined {
    return this.#next(this.#forReading, this.#forMaking);
  }

  /** The next plan that is to be made; undefined at the end. */
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

/** The batches of a rank in each epoch, of the same number on all ranks. */
export function sharesOf(
  { order, batchSize, ranks, dropLast }: Pick<PlannerParts, 'order' | 'batchSize' | 'ranks' | 'dropLast'>,
  done: number,
): Shares {
  return new Shares({ length: order.length, done, batchSize, ranks, dropLast });
}

function* plansOf(parts: PlannerParts): Generator<BatchPlan, undefined> {
  const { order, epochs, start, rank, reading } = parts;
  for (let epoch = start.epoch; epoch < epochs; epoch++) {
    const shares = sharesOf(parts, epoch === start.epoch ? start.done : 0);
    if (shares.batches === 0) continue;
    const numbers = order.of(epoch);
    const numbersOf = (batch: number) =>
      Uint32Array.from(
        { length: shares.sizeOf(batch) },
        (_, i) => numbers[shares.positionOf(rank, batch, i)] ?? 0,
      );
    reading.begin?.(allOf(shares, numbersOf));
    for (let index = 0; index < shares.batches; index++) {
      const batch = numbersOf(index);
      yield {
        epoch,
        index,
        done: shares.doneAfter(index),
        isLast: index === shares.batches - 1,
        numbers: batch,
        ...reading.place(batch),
      };
    }
  }
  return undefined;
}

function* allOf(shares: Shares, numbersOf: (batch: number) => Uint32Array): Generator<number> {
  for (let batch = 0; batch < shares.batches; batch++) yield* numbersOf(batch);
}

/** The blocks of plans as accesses of a prefetcher. */
export function* accessesOf(
  planner: Planner,
  onPlanned: (block: Block) => void,
): Generator<{ readonly key: string; readonly epoch: number; readonly position: number }> {
  let position = 0;
  let epoch: number | undefined;
  for (let plan = planner.nextToRead(); plan !== undefined; plan = planner.nextToRead()) {
    if (plan.epoch !== epoch) [epoch, position] = [plan.epoch, 0];
    for (const block of plan.newBlocks) {
      onPlanned(block);
      yield { key: block.key, epoch: plan.epoch, position: position++ };
    }
  }
}
