import type { ObjectRef } from '@tiered/core/placement';
import { memoryFor, OperationScope, raceAbort } from '@tiered/core/internal';
import { CoveringRanges, type Span } from './covering-ranges.js';
import type { SourceGate } from './gate.js';
import type { SourceReads } from './reads.js';

/** A range of an object that is read without being placed. */
export interface Range extends Span {
  readonly object: ObjectRef;
}

/** A request in flight, and its readers. */
interface Running extends Range {
  /** The memory that the bytes arrive in. It belongs to the reader that began the request. */
  readonly memory: Uint8Array;
  readonly arrived: Promise<void>;
  /**
   * Make the copies for readers that joined. Called before the reader that began the request gets its memory
   * and may change it.
   */
  readonly onArrival: Set<(memory: Uint8Array) => void>;
  /** The readers of memory that no caller owns yet. When the last one leaves, the request is aborted. */
  readonly shared: { readers: number; readonly abort: AbortController } | undefined;
  /** Aborts the request of a reader that brought its own memory. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads objects that are not being placed. A request for a range is shared by all readers that want a part of
 * it while it is in flight, and is aborted when the last of them leaves. The reader that begins it gets the
 * bytes directly, the others get copies.
 */
export class RangeReads {
  readonly #source: SourceReads;
  readonly #gate: SourceGate;
  /** By object and version. */
  readonly #running = new Map<string, CoveringRanges<Running>>();
  readonly #scope = new OperationScope();
  #bytes = 0;

  constructor(source: SourceReads, gate: SourceGate) {
    this.#source = source;
    this.#gate = gate;
  }

  /** Requests in flight. */
  get count(): number {
    return this.#scope.size;
  }

  /** Bytes of memory that the requests fill. The memory belongs to readers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a request in flight fetches this range of this version. */
  covers(range: Range): boolean {
    return this.#covering(range) !== undefined;
  }

  /** Reads a range. An abort rejects at once; a request that other readers wait for continues. */
  async read(range: Range, signal: AbortSignal | undefined): Promise<Uint8Array> {
    signal?.throwIfAborted();
    const running = this.#covering(range);
    if (running !== undefined) {
      const bytes = memoryFor(range.length, range.object.key);
      return (await this.#join(running, range, bytes, signal)) ? bytes : this.read(range, signal);
    }
    const begun = this.#startShared(range);
    await this.#arrival(begun, signal);
    return begun.memory;
  }

  /**
   * Fills the target, which is as long as the range. An abort ends this when nothing writes to the target any
   * more.
   */
  async readInto(range: Range, target: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const running = this.#covering(range);
    if (running === undefined) return this.#startOwn(range, target, signal).arrived;
    if (!(await this.#join(running, range, target, signal))) await this.readInto(range, target, signal);
  }

  /**
   * As `readInto`, for several pieces. They are one request that is not shared: looking for each piece among
   * other requests costs more than sharing gains.
   */
  async readPieces(
    { object, offset }: Range,
    target: Uint8Array,
    pieces: Float64Array,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { byteLength } = target;
    this.#bytes += byteLength;
    try {
      await this.#scope.run(signal, (under) =>
        this.#gate.foreground(() => this.#source.pieces(object, target, offset, pieces, under)),
      );
    } finally {
      this.#bytes -= byteLength;
    }
  }

  /** Aborts all requests, and waits until none is left. */
  close(reason: Error): Promise<void> {
    return this.#scope.close(reason);
  }

  #covering(range: Range): Running | undefined {
    return this.#running.get(contentOf(range))?.find(range);
  }

  /**
   * Takes a part of the bytes of another reader's request. False if that reader aborted, or transferred its
   * memory: then the caller must make a new request.
   */
  async #join(
    running: Running,
    range: Range,
    target: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const from = range.offset - running.offset;
    let isTaken = false;
    const take = (memory: Uint8Array) => {
      // Either memory may have been transferred meanwhile, which does not affect the other readers.
      if (!isAttached(memory, running) || !isAttached(target, range)) return;
      target.set(memory.subarray(from, from + range.length));
      isTaken = true;
    };
    running.onArrival.add(take);
    try {
      await this.#arrival(running, signal);
      return isTaken;
    } catch (error) {
      signal?.throwIfAborted();
      const { memory, shared, signal: owners } = running;
      const isOwners = shared === undefined && (owners?.aborted === true || !isAttached(memory, running));
      if (isOwners) return false;
      throw error;
    } finally {
      running.onArrival.delete(take);
    }
  }

  /** Waits for a request as one of its readers. */
  async #arrival(running: Running, signal: AbortSignal | undefined): Promise<void> {
    const { arrived, shared } = running;
    if (shared === undefined) return raceAbort(arrived, signal);
    shared.readers += 1;
    try {
      await raceAbort(arrived, signal);
    } finally {
      shared.readers -= 1;
      if (shared.readers === 0) this.#abandon(running, shared.abort);
    }
  }

  #startShared(range: Range): Running {
    const abort = new AbortController();
    const memory = memoryFor(range.length, range.object.key);
    return this.#start(range, memory, abort.signal, { readers: 0, abort });
  }

  #startOwn(range: Range, target: Uint8Array, signal: AbortSignal | undefined): Running {
    return this.#start(range, target, signal, undefined);
  }

  #start(
    range: Range,
    memory: Uint8Array,
    signal: AbortSignal | undefined,
    shared: Running['shared'],
  ): Running {
    const { object, offset, length } = range;
    const onArrival: Running['onArrival'] = new Set();
    this.#bytes += length;
    const arrived = this.#scope
      .run(signal, (under) => this.#gate.foreground(() => this.#source.into(object, memory, offset, under)))
      .then(
        () => {
          // In one step, because a reader that joined after the copies were made would get none.
          this.#ended(running);
          for (const take of onArrival) take(memory);
        },
        (error: unknown) => {
          this.#ended(running);
          throw error;
        },
      );
    const running: Running = { ...range, memory, arrived, onArrival, shared, signal };
    const content = contentOf(range);
    const siblings = this.#running.get(content) ?? new CoveringRanges();
    siblings.add(running);
    this.#running.set(content, siblings);
    // All its readers may have left when it fails.
    arrived.catch(() => undefined);
    return running;
  }

  /** Later readers make new requests: arrived bytes belong to their readers, and an error is not kept. */
  #ended(running: Running): void {
    this.#bytes -= running.length;
    this.#forget(running);
  }

  #abandon(running: Running, abort: AbortController): void {
    if (this.#forget(running)) {
      abort.abort(new DOMException('Nobody waits for these bytes any more.', 'AbortError'));
    }
  }

  #forget(running: Running): boolean {
    const content = contentOf(running);
    const siblings = this.#running.get(content);
    if (siblings?.remove(running) !== true) return false;
    if (siblings.isEmpty) this.#running.delete(content);
    return true;
  }
}

/** Identifies the object and version that a range belongs to. */
function contentOf({ object: { id, version } }: Range): string {
  return `${id} ${version}`;
}

/** Whether the memory for a range is still attached. It is empty once transferred to another thread. */
function isAttached(memory: Uint8Array, { length }: Range): boolean {
  return memory.byteLength === length;
}
