import type { OperationOptions } from '@tiered/core';
import { assertCounts } from '@tiered/core/internal';
import type { Sample, SampleReader } from './sample.js';

/** The source that loops take samples from. */
export interface SampleTaker {
  /** As `SampleReader.take`. */
  take(most: number, options?: OperationOptions): Promise<readonly Sample[]>;
  /** Takes the next sample if it is ready, without waiting. */
  takeNow?(): Sample | undefined;
}

/** Listens to a loop, which may never begin. */
export interface LoopListener {
  /** The first sample was requested. */
  began(): void;
  /**
   * The loop received the last sample, or ended early: its consumer left it, or a sample could not be read.
   * Called once.
   */
  ended(isAtEnd: boolean): Promise<void> | undefined;
}

type Result = IteratorResult<Sample, undefined>;

const OVER: Result = { done: true, value: undefined };

/** Implements `SampleReader[Symbol.asyncIterator]` on top of `take`. */
export function samplesOf(taker: SampleTaker, listener?: LoopListener): AsyncIterableIterator<Sample> {
  return new SampleLoop(taker, listener);
}

/**
 * Iterates over samples one by one; each is released when the next one is requested. Behaves like an async
 * generator: overlapping calls are answered in order. It is written by hand because a ready sample then costs
 * one promise; a generator within a generator makes eight.
 */
class SampleLoop implements AsyncIterableIterator<Sample> {
  readonly #taker: SampleTaker;
  readonly #listener: LoopListener | undefined;
  #state: 'new' | 'begun' | 'over' = 'new';
  /** The sample that the consumer holds. */
  #held: Sample | undefined;
  /** The last call, while it is pending. */
  #underWay: Promise<Result> | undefined;

  constructor(taker: SampleTaker, listener: LoopListener | undefined) {
    this.#taker = taker;
    this.#listener = listener;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    if (this.#underWay !== undefined || this.#state !== 'begun') return this.#inTurn(() => this.#next());
    try {
      const sample = this.#takeNow();
      return sample === undefined
        ? this.#inTurn(() => this.#next())
        : Promise.resolve({ done: false, value: sample });
    } catch (error) {
      return this.#inTurn(() => this.#fail(error));
    }
  }

  return(): Promise<Result> {
    return this.#inTurn(() => this.#leave(false));
  }

  #takeNow(): Sample | undefined {
    this.#release();
    this.#held = this.#taker.takeNow?.();
    return this.#held;
  }

  async #next(): Promise<Result> {
    if (this.#state === 'over') return OVER;
    if (this.#state === 'new') {
      this.#state = 'begun';
      this.#listener?.began();
    }
    this.#release();
    try {
      [this.#held] = await this.#taker.take(1);
    } catch (error) {
      return this.#fail(error);
    }
    return this.#held === undefined ? this.#leave(true) : { done: false, value: this.#held };
  }

  async #fail(error: unknown): Promise<never> {
    await this.#leave(false);
    throw error;
  }

  async #leave(isAtEnd: boolean): Promise<Result> {
    const hadBegun = this.#state === 'begun';
    this.#state = 'over';
    this.#release();
    if (hadBegun) await this.#listener?.ended(isAtEnd);
    return OVER;
  }

  /** Makes a call once all calls before it have settled. */
  #inTurn(call: () => Promise<Result>): Promise<Result> {
    const answer = this.#underWay === undefined ? call() : this.#underWay.then(call, call);
    this.#underWay = answer;
    const answered = () => {
      if (this.#underWay === answer) this.#underWay = undefined;
    };
    answer.then(answered, answered);
    return answer;
  }

  #release(): void {
    this.#held?.release();
    this.#held = undefined;
  }
}

/**
 * Implements `SampleReader.batches` on top of `take`.
 * @param ungiven Holds each sample that was taken but not delivered in a list, even if no consumer will
 * receive it any more.
 */
export function batchesOf(
  reader: Pick<SampleReader, 'take'>,
  size: number,
  ungiven = new Set<readonly Sample[]>(),
): AsyncIterableIterator<readonly Sample[]> {
  assertCounts({ size });
  return listsOf(reader, size, ungiven);
}

async function* listsOf(
  reader: Pick<SampleReader, 'take'>,
  size: number,
  ungiven: Set<readonly Sample[]>,
): AsyncIterableIterator<readonly Sample[]> {
  let ahead: readonly Sample[] = [];
  let batch: Sample[] = [];
  ungiven.add(batch);
  try {
    for (;;) {
      const epoch = batch[0]?.epoch;
      const more = ahead.length > 0 ? ahead : await reader.take(size - batch.length);
      if (more.length === 0 && batch.length === 0) return;
      const sameEpoch = epoch === undefined || more[0]?.epoch === epoch;
      if (sameEpoch) batch.push(...more);
      ungiven.delete(ahead);
      ahead = sameEpoch ? [] : more;
      ungiven.add(ahead);
      if (sameEpoch && more.length > 0 && batch.length < size) continue;
      ungiven.delete(batch);
      yield batch;
      release(batch);
      batch = [];
      ungiven.add(batch);
    }
  } finally {
    for (const list of [batch, ahead]) {
      release(list);
      if (list.length === 0) ungiven.delete(list);
    }
  }
}

function release(samples: readonly Sample[]): void {
  for (const sample of samples) sample.release();
}
