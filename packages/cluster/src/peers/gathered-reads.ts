import { TieredError, type Clock, type StorageDriver } from '@tiered/core';
import type { ReadOutcome, ReadRequest } from '@tiered/core/driver';
import { LateWatch, memoryFor, sourceChanged } from '@tiered/core/internal';
import { WantedRead, type WantedRange } from './wanted-read.js';

/** The largest range in a batch. Larger ranges are split. */
const PIECE = 2 ** 20;
/** The most ranges, and bytes, of one request, which is what a failed request costs at most. */
const MOST_RANGES = 256;
const MOST_BYTES = 4 * 2 ** 20;
/** Requests in flight at a peer. Reads that come meanwhile wait, and are sent together. */
const REQUESTS = 2;

/** A peer, and the deadline of its reads. */
export interface GatheredReadsParts {
  /** Takes batches of ranges of up to 1 MiB. */
  readonly driver: StorageDriver;
  readonly clock: Clock;
  /** Milliseconds until a request times out, and until a read does, including its wait for a request. */
  readonly deadlineMs: number;
  /** Called with the outcomes of each request, without those that a caller ended. */
  readonly onOutcomes: (outcomes: readonly ReadOutcome[]) => void;
}

/** Reads sent in one request, and how many of them are still waited for. */
interface Batch {
  readonly reads: readonly WantedRead[];
  readonly end: AbortController;
  waiting: number;
}

/**
 * Reads ranges from one peer, many in a request: those of one turn of the event loop, and those that come
 * while its requests are in flight. So a small sample costs a share of a request.
 *
 * A request reads into its own memory, of the size its callers wait for. So an abort or the deadline releases
 * a caller at once, and nothing is written to the caller's memory after that.
 */
export class GatheredReads {
  readonly #parts: GatheredReadsParts;
  readonly #watch: LateWatch;
  #queue: WantedRead[] = [];
  readonly #underWay = new Map<Batch, Promise<void>>();
  #hasEnded = false;
  #isTurning = false;

  constructor(parts: GatheredReadsParts) {
    this.#parts = parts;
    this.#watch = new LateWatch(parts.clock);
  }

  /**
   * Resolves to all bytes of the range, or rejects as the driver does, or with `TIERED_DEADLINE` if the peer
   * did not answer in time. An abort rejects at once, and ends the request if no other read waits for it.
   */
  read(range: WantedRange): Promise<Uint8Array> {
    const read = new WantedRead(range);
    if (this.#hasEnded) read.fail(this.#endedError());
    if (!read.isOver) {
      // The request goes on until its own deadline, which decides on the peer.
      const expire = () => read.fail(this.#deadlineError());
      read.onEnd = this.#watch.after(this.#parts.deadlineMs, expire);
      this.#queue.push(read);
    }
    this.#gather();
    return read.bytes;
  }

  /** Fails all reads with `TIERED_CLOSED`, at once. Resolves when no request is in flight. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    const error = this.#endedError();
    for (const read of this.#queue.splice(0)) if (!read.isOver) read.fail(error);
    for (const { end, reads } of this.#underWay.keys()) {
      end.abort(error);
      for (const read of reads) if (!read.isOver) read.fail(error);
    }
    await Promise.all(this.#underWay.values());
  }

  #endedError(): TieredError {
    const { name } = this.#parts.driver;
    return new TieredError('TIERED_CLOSED', `${name} is asked no more.`, { driver: name, retryable: true });
  }

  /** Sends the queued reads once this turn is over. */
  #gather(): void {
    if (this.#isTurning || this.#underWay.size >= REQUESTS) return;
    this.#isTurning = true;
    void this.#parts.clock.turn().then(() => {
      this.#isTurning = false;
      this.#send();
    });
  }

  #send(): void {
    while (this.#underWay.size < REQUESTS) {
      const reads = this.#take();
      if (reads.length === 0) return;
      const batch: Batch = { reads, end: new AbortController(), waiting: reads.length };
      const asking = this.#ask(batch).then(() => {
        this.#underWay.delete(batch);
        this.#send();
      });
      this.#underWay.set(batch, asking);
    }
  }

  /** Takes as many reads as one request may have, in order; at least one. */
  #take(): WantedRead[] {
    this.#queue = this.#queue.filter(({ isOver }) => !isOver);
    let [count, ranges, bytes] = [0, 0, 0];
    for (const { range } of this.#queue) {
      ranges += Math.ceil(range.length / PIECE);
      bytes += range.length;
      if (count > 0 && (ranges > MOST_RANGES || bytes > MOST_BYTES)) break;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  async #ask(batch: Batch): Promise<void> {
    const { driver, deadlineMs, onOutcomes } = this.#parts;
    const { reads } = batch;
    for (const read of reads) read.onLeft = () => this.#left(batch);
    const stopWatching = this.#watch.after(deadlineMs, () => this.#late(batch));
    const asked = reads.map(({ range }) => inPieces(range));
    const outcomes = await driver.readMany(
      asked.flatMap(({ requests }) => requests),
      { signal: batch.end.signal },
    );
    stopWatching();
    if (!batch.end.signal.aborted) onOutcomes(outcomes);
    let at = 0;
    for (const [index, { bytes, requests }] of asked.entries()) {
      const own = outcomes.slice(at, (at += requests.length));
      const read = reads[index];
      if (read === undefined || read.isOver) continue;
      const error = this.#errorOf(own, read);
      if (error === undefined) read.give(bytes);
      else read.fail(error);
    }
  }

  /** The error of a read by its outcomes; undefined if it has all of its bytes. */
  #errorOf(outcomes: readonly ReadOutcome[], { range }: WantedRead): unknown {
    let got = 0;
    for (const outcome of outcomes) {
      if ('error' in outcome) return outcome.error;
      got += outcome.bytes;
    }
    const { key, offset, length: wanted } = range;
    return got === wanted ? undefined : sourceChanged(this.#parts.driver, key, { offset, got, wanted });
  }

  #left(batch: Batch): void {
    batch.waiting -= 1;
    if (batch.waiting === 0) batch.end.abort(new Error('Nobody waits for it any more.'));
  }

  #late(batch: Batch): void {
    const error = this.#deadlineError();
    batch.end.abort(error);
    this.#parts.onOutcomes([{ error }]);
    for (const read of batch.reads) if (!read.isOver) read.fail(error);
  }

  #deadlineError(): TieredError {
    const { driver, deadlineMs } = this.#parts;
    return new TieredError('TIERED_DEADLINE', `${driver.name} has not answered within ${deadlineMs} ms.`, {
      driver: driver.name,
      operation: 'readMany',
      retryable: true,
    });
  }
}

/** Splits a range into requests that fill its memory. */
function inPieces({ key, offset, length, etag }: WantedRange): {
  readonly bytes: Uint8Array;
  readonly requests: readonly ReadRequest[];
} {
  const bytes = memoryFor(length, key);
  const requests: ReadRequest[] = [];
  for (let at = 0; at < length; at += PIECE)
    requests.push({ key, offset: offset + at, target: bytes.subarray(at, at + PIECE), version: etag });
  return { bytes, requests };
}
