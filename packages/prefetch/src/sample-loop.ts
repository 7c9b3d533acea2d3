import type { OperationOptions } from '@tiered/core';
import { assertCounts } from '@tiered/core/internal';
import type { Sample, SampleReader } from './sample.js';

/** Where loops take samples from. */
export interface SampleTaker {
  /** As `SampleReader.take`. */
  take(most: number, options?: OperationOptions): Promise<readonly Sample[]>;
  /** The next sample, if it is there and nobody has to be waited for. */
  takeNow?(): Sample | undefined;
}

/** Listens to a loop, which may never begin. */
export interface LoopListener {
  /** Its first sample was asked for. */
  began(): void;
  /**
   * It got the last sample, or it ended before that: its consumer left it, or a sample could not be read.
   * Called once.
   */
  ended(isAtEnd: boolean): Promise<void> | undefined;
}

type Result = IteratorResult<Sample, undefined>;

const OVER: Result = { done: true, value: undefined };

/** `SampleReader[Symbol.asyncIterator]` by means of `take`. */
export function samplesOf(taker: SampleTaker, listener?: LoopListener): AsyncIterableIterator<Sample> {
  return new SampleLoop(taker, listener);
}

/**
 * Iterates over samples one by one; each is released when the next is asked for. Behaves like an async
 * generator: calls that overlap are answered in order. It is written out because a sample that is already
 * there then costs one promise; a generator within a generator makes eight.
 */
class SampleLoop implements AsyncIterableIterator<Sample> {
  readonly #taker: SampleTaker;
  readonly #listener: LoopListener | undefined;
  #state: 'new' | 'begun' | 'over' = 'new';
  /** The sample that its consumer has. */
  #held: Sample | undefined;
  /** The last call, if it has yet to be answered. */
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

  /** Makes a call once all calls before it have been answered. */
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
 * `SampleReader.batches` by means of `take`.
 * @param ungiven Holds each sample that was taken and not given out in a list, even when no consumer will get
 * it any more.
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
