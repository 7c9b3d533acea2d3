import { TieredError, type Clock, type StorageDriver } from '@tiered/core';
import type { ReadOutcome, ReadRequest } from '@tiered/core/driver';
import { LateWatch, memoryFor, sourceChanged } from '@tiered/core/internal';
import { WantedRead, type WantedRange } from './wanted-read.js';

/** The largest range that a batch may have. Larger ones are several. */
const PIECE = 2 ** 20;
/** Ranges, and bytes, of one request. One that breaks costs these at most. */
const MOST_RANGES = 256;
const MOST_BYTES = 4 * 2 ** 20;
/** Requests under way at a peer. What is wanted meanwhile waits, and goes together. */
const REQUESTS = 2;

/** The peer, and for how long it is waited for. */
export interface GatheredReadsParts {
  /** Takes batches of ranges of up to 1 MiB. */
  readonly driver: StorageDriver;
  readonly clock: Clock;
  /** Milliseconds until a request is given up, and a read, which may have waited for its request. */
  readonly deadlineMs: number;
  /** Told of the outcomes of each request. Those that somebody else ended are not among them. */
  readonly onOutcomes: (outcomes: readonly ReadOutcome[]) => void;
}

/** Reads that go in one request, and how many of them somebody still waits for. */
interface Batch {
  readonly reads: readonly WantedRead[];
  readonly end: AbortController;
  waiting: number;
}

/**
 * Reads ranges from one peer, many in a request: those that are wanted in one turn of the event loop, and
 * those that come while its requests are under way. So a small sample costs a share of a request.
 *
 * A request reads into memory of its own, as large as what its callers wait for. So an abort, and the
 * deadline, let a caller go at once, and nothing is written into memory that it has back.
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
   * Resolves to all bytes of the range, or rejects as the driver does; with `TIERED_DEADLINE` if it was
   * not answered in time. An abort rejects at once, and ends a request that nobody waits for any more.
   */
  read(range: WantedRange): Promise<Uint8Array> {
    const read = new WantedRead(range);
    if (this.#hasEnded) read.fail(this.#endedError());
    if (!read.isOver) {
      // Its request goes on to a deadline of its own, which decides on the peer.
      const expire = () => read.fail(this.#deadlineError());
      read.onEnd = this.#watch.after(this.#parts.deadlineMs, expire);
      this.#queue.push(read);
    }
    this.#gather();
    return read.bytes;
  }

  /** Fails all reads with `TIERED_CLOSED`, at once. Resolves when no request is under way. */
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

  /** Sends what is wanted once this turn is over. */
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

  /** As many as one request may have, in their order; one at least. */
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

  /** What is wrong with what came for a read; undefined if it has all of its bytes. */
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

/** The requests for a range, which fill its memory. */
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
