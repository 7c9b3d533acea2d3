import { type StorageDriver } from '@tiered/core';
import { raceAbort, sourceChanged } from '@tiered/core/internal';

/** What a fetch brings. */
export interface FetchRange {
  readonly source: StorageDriver;
  readonly key: string;
  readonly version: string;
  /** First byte, and the one after the last. */
  readonly start: number;
  readonly end: number;
  /** Bytes a request to the source asks for at most. */
  readonly chunkBytes: number;
}

/** What a fetch tells its owner. */
export interface FetchEvents {
  /** A request to the source brought so many bytes. */
  readonly onChunk: (bytes: number) => void;
  /** Nobody uses the fetch any more, and it has stopped; its memory can go. */
  readonly onUnused: () => void;
}

interface Waiter {
  readonly until: number;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * One range of one object on its way from the source into memory, shared by all who want a part of it.
 *
 * The range is filled from its start, chunk by chunk, only as far as somebody has asked: a reader waits until the
 * bytes up to its own end are there, the copy to a tier asks for everything. Each byte is requested once. The fetch
 * lives as long as somebody uses it; when the last user leaves early, the request under way is aborted.
 */
export class Fetch {
  readonly #range: FetchRange;
  readonly #events: FetchEvents;
  readonly #memory: Uint8Array;
  readonly #abort = new AbortController();
  readonly #waiters = new Set<Waiter>();
  #filled: number;
  #wanted: number;
  #users = 0;
  #pumping = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(range: FetchRange, events: FetchEvents) {
    this.#range = range;
    this.#events = events;
    this.#memory = new Uint8Array(Buffer.allocUnsafeSlow(range.end - range.start).buffer);
    this.#filled = range.start;
    this.#wanted = range.start;
  }

  /** Bytes of memory it holds. */
  get bytes(): number {
    return this.#memory.byteLength;
  }

  /** The version of the object that it brings. */
  get version(): string {
    return this.#range.version;
  }

  /** Why the source could not serve it, if it could not. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Whether a read of this range can be served by it: it has the bytes or will have them. */
  covers(offset: number, length: number): boolean {
    return this.#failure === undefined && offset >= this.#range.start && offset + length <= this.#range.end;
  }

  /**
   * The bytes of a covered range, as soon as they are there: as a view, or as a copy if they are a small part. An
   * abort lets go at once; what others wait for goes on.
   */
  async read(offset: number, length: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    this.#users += 1;
    try {
      await this.#until(offset + length, signal);
      const from = offset - this.#range.start;
      const bytes = this.#memory.subarray(from, from + length);
      // A small view that its reader keeps would keep the whole object's memory, which nobody counts any more.
      return length * 4 < this.#memory.byteLength ? bytes.slice() : bytes;
    } finally {
      this.#leave();
    }
  }

  /** Everything, in pieces as they come: for the copy to a tier. Its user counts from the first piece asked for. */
  async *pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    const { start, end } = this.#range;
    let given = start;
    while (given < end) {
      await this.#until(Math.min(end, given + this.#range.chunkBytes), undefined, end);
      // Taken before the piece is given away: more may have come when the taker returns.
      const filled = this.#filled;
      yield this.#memory.subarray(given - start, filled - start);
      given = filled;
    }
  }

  /** Keeps the fetch alive until the returned function is called. */
  hold(): () => void {
    this.#users += 1;
    return () => this.#leave();
  }

  /** Ends it for everybody. */
  cancel(reason: Error): void {
    this.#fail(reason);
    this.#abort.abort(reason);
  }

  /** Resolves when the bytes below `until` are there; asks for those below `wanted`. */
  async #until(until: number, signal: AbortSignal | undefined, wanted = until): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#wanted = Math.max(this.#wanted, wanted);
    if (until <= this.#filled) return;
    if (!this.#pumping) void this.#pump();
    let waiter: Waiter | undefined;
    const there = new Promise<void>((resolve, reject) => {
      waiter = { until, resolve, reject };
      this.#waiters.add(waiter);
    });
    try {
      await raceAbort(there, signal);
    } finally {
      if (waiter !== undefined) this.#waiters.delete(waiter);
    }
  }

  /** The only one who asks the source. */
  async #pump(): Promise<void> {
    this.#pumping = true;
    try {
      while (this.#filled < this.#wanted && this.#failure === undefined) await this.#fetchChunk();
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#pumping = false;
      this.#endIfUnused();
    }
  }

  async #fetchChunk(): Promise<void> {
    const { source, key, start, end, chunkBytes } = this.#range;
    const offset = this.#filled;
    const wanted = Math.min(chunkBytes, end - offset);
    const target = this.#memory.subarray(offset - start, offset - start + wanted);
    const got = await source.readInto(key, target, { offset, signal: this.#abort.signal });
    this.#events.onChunk(got);
    if (got < wanted) throw sourceChanged(source, key, { offset, got, wanted });
    this.#filled += got;
    for (const waiter of this.#waiters) {
      if (waiter.until > this.#filled) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    for (const waiter of this.#waiters) waiter.reject(this.#failure.error);
    this.#waiters.clear();
  }

  #leave(): void {
    this.#users -= 1;
    this.#endIfUnused();
  }

  #endIfUnused(): void {
    if (this.#users > 0) return;
    if (!this.#pumping) this.#events.onUnused();
    else if (this.#failure === undefined) {
      this.cancel(new DOMException('Nobody waits for these bytes any more.', 'AbortError'));
    }
  }
}
