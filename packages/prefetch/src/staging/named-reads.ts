import { OperationScope, raceAbort } from '@tiered/core/internal';
import type { Entry } from './entry.js';
import type { Taken } from './queue-ports.js';
import { noKeysError } from '../errors.js';
import { sizeOf, type SampleSource } from '../request.js';
import type { SampleReadOptions } from '../sample.js';
import type { Waiters } from './waiters.js';
import type { Window } from './window.js';

/** The reason for a failure, if there is one. */
type Failure = { readonly error: unknown } | undefined;

/** Dependencies of reads by name on their queue. */
export interface NamedReadsParts {
  /** The source of keys; undefined if there are no keys. */
  readonly source: SampleSource | undefined;
  readonly window: Window;
  readonly waiters: Waiters;
  /** The error that the queue ended with. */
  readonly failure: () => Failure;
  /** An entry was read to its end, and has left the window. */
  readonly onTaken: (taken: Taken) => void;
  /** A read of an object that was not admitted begins. */
  readonly onBypass: () => void;
  /** An object that was not admitted was read to its end, and is to be passed over. */
  readonly onEarly: (key: string) => void;
  /** An entry that was held is to be read after all, or has failed. */
  readonly onGivenBack: (entry: Entry, failure: Failure) => void;
}

/** A read that may reach the end of an object that was not admitted when it began. */
interface Reservation {
  readonly key: string;
  /** The entry of the object that was admitted meanwhile. */
  entry?: Entry;
  /** Why the entry cannot be read. */
  failure?: Failure;
}

/**
 * Reads by name, from the window or past it.
 *
 * **Problem.** A read past the window takes its object only if it reaches the end, which is known when the
 * read has ended. The object's turn may come before that.
 *
 * **Invariants.** An object that is admitted during such a read is held: it has its place and its memory, but
 * is not read a second time. If the read reaches the end of the object, the entry leaves the window.
 * Otherwise the entry is read and delivered at its place. So a failed read neither loses a sample nor puts
 * one out of order.
 */
export class NamedReads {
  readonly #parts: NamedReadsParts;
  readonly #underWay = new Map<string, Reservation[]>();
  /**
   * Calls of the source, which end with the queue: those of callers with a signal of their own, and the
   * others.
   */
  readonly #scope = new OperationScope();
  readonly #ending = new AbortController();
  readonly #calls = new Set<Promise<unknown>>();

  constructor(parts: NamedReadsParts) {
    this.#parts = parts;
  }

  /** As `SampleReader.readInto`. */
  async readInto(key: string, target: Uint8Array, options: SampleReadOptions): Promise<number> {
    const { source, window, waiters } = this.#parts;
    const { offset = 0, signal } = options;
    signal?.throwIfAborted();
    this.#throwIfEnded();
    if (source === undefined) throw noKeysError(key);
    // A file reader reads once more after the end; that call takes nothing.
    if (offset > 0 && offset >= (sizeOf(source, key) ?? Infinity)) return 0;
    for (let entry = window.find(key); entry !== undefined; entry = window.find(key)) {
      const read = this.#fromEntry(entry, target, offset, signal);
      const count = typeof read === 'number' ? read : await raceAbort(waiters.during(read), signal);
      // Otherwise another consumer was faster. The object may be in the window a second time.
      if (count !== undefined) return count;
    }
    return this.#bypass(source, key, target, offset, signal);
  }

  /** Ends the reads from the source. Resolves when no read writes to its target any more. Idempotent. */
  async end(reason: Error): Promise<void> {
    this.#ending.abort(reason);
    await this.#scope.close(reason);
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
  }

  /**
   * Holds an entry if its object is being read by name. Each such read holds one entry. Returns whether it is
   * held.
   */
  hold(entry: Entry, failure: Failure): boolean {
    const read = this.#underWay.get(entry.request.key)?.find((each) => each.entry === undefined);
    if (read === undefined) return false;
    read.entry = entry;
    read.failure = failure;
    entry.isHeld = true;
    return true;
  }

  /**
   * Copies from an entry, now or when it is ready. Returns undefined if the entry has left the window by
   * then.
   */
  #fromEntry(
    entry: Entry,
    target: Uint8Array,
    offset: number,
    signal: AbortSignal | undefined,
  ): number | Promise<number | undefined> {
    if (entry.state === 'ready') return this.#copy(entry, target, offset);
    return new Promise((resolve, reject) => {
      entry.whenSettled(() => {
        const failure = this.#parts.failure();
        // The target belongs to the caller again.
        if (signal?.aborted === true) resolve(undefined);
        else if (failure !== undefined) reject(failure.error);
        else if (entry.state === 'ready') resolve(this.#copy(entry, target, offset));
        else if (entry.state === 'failed') reject(entry.error);
        else resolve(undefined);
      });
    });
  }

  #copy(entry: Entry, target: Uint8Array, offset: number): number {
    const { bytes, request } = entry;
    const part = bytes.subarray(offset, offset + target.byteLength);
    target.set(part);
    if (reachesEnd(offset, part.byteLength, bytes.byteLength)) {
      this.#parts.window.remove(entry).free();
      this.#parts.onTaken({ samples: 1, bytes: bytes.byteLength, epoch: request.epoch });
    }
    return part.byteLength;
  }

  /** Reads an object from the source, because it was not admitted. */
  async #bypass(
    source: SampleSource,
    key: string,
    target: Uint8Array,
    offset: number,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const { waiters, onBypass } = this.#parts;
    const isPart = offset + target.byteLength < (sizeOf(source, key) ?? 0);
    const reservation = isPart ? undefined : this.#reserve(key);
    onBypass();
    let isTaken = false;
    try {
      const read = this.#call(signal, (under) => source.readInto(key, target, { offset, signal: under }));
      const count = await waiters.during(read);
      // A source without known sizes is asked only if the target is full, which does not show the end.
      const known = count < target.byteLength ? offset + count : sizeOf(source, key);
      const size = known ?? (await this.#askForSize(source, key, signal));
      // The state of an ended queue does not change any more.
      this.#throwIfEnded();
      isTaken = reachesEnd(offset, count, size);
      return count;
    } finally {
      if (reservation !== undefined) this.#end(reservation, isTaken);
    }
  }

  async #call<T>(signal: AbortSignal | undefined, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal !== undefined) return this.#scope.run(signal, call);
    // One signal for all: making one for each read takes longer than a read from memory.
    this.#ending.signal.throwIfAborted();
    const running = call(this.#ending.signal);
    this.#calls.add(running);
    try {
      return await running;
    } finally {
      this.#calls.delete(running);
    }
  }

  /**
   * Returns the size of an object in bytes, or more than any object has if it is unknown. An unknown size
   * fails no read, because the bytes have been read.
   */
  async #askForSize(source: SampleSource, key: string, signal: AbortSignal | undefined): Promise<number> {
    try {
      return (await this.#call(signal, (under) => source.stat(key, { signal: under }))).size;
    } catch {
      signal?.throwIfAborted();
      return Infinity;
    }
  }

  #reserve(key: string): Reservation {
    const reservation = { key };
    const same = this.#underWay.get(key);
    if (same === undefined) this.#underWay.set(key, [reservation]);
    else same.push(reservation);
    return reservation;
  }

  #end(reservation: Reservation, isTaken: boolean): void {
    const { key, entry, failure } = reservation;
    const same = this.#underWay.get(key) ?? [];
    if (same.length <= 1) this.#underWay.delete(key);
    else same.splice(same.indexOf(reservation), 1);
    if (entry === undefined) {
      if (isTaken) this.#parts.onEarly(key);
      return;
    }
    entry.isHeld = false;
    // Otherwise the queue has ended.
    if (entry.state === 'reading') this.#settle(entry, isTaken, failure);
  }

  #settle(entry: Entry, isTaken: boolean, failure: Failure): void {
    const { window, onTaken, onGivenBack } = this.#parts;
    if (!isTaken) {
      onGivenBack(entry, failure);
      return;
    }
    entry.succeed(entry.bytes);
    window.remove(entry).free();
    onTaken({ samples: 0, bytes: 0, epoch: entry.request.epoch });
  }

  #throwIfEnded(): void {
    const failure = this.#parts.failure();
    if (failure !== undefined) throw failure.error;
  }
}

/**
 * Whether a read reached the end of an object and did not begin there. A reader reads once more after the
 * end; that call takes nothing.
 */
function reachesEnd(offset: number, count: number, size: number): boolean {
  return offset + count >= size && (count > 0 || offset === 0);
}
