import { invariant, tooLargeError, traceEnd, traceStart } from '@tiered/core/internal';
import { prefetchChannel, type PrefetchTrace } from '@tiered/core/tracing';
import { AsyncResource } from 'node:async_hooks';
import type { SampleRequest } from '../request.js';
import type { Block } from './arena.js';
import type { MemoryPort } from './queue-ports.js';

/**
 * Where an admitted sample stands: `reading`, then `ready` or `failed`; `gone` once it was taken or dropped.
 */
export type EntryState = 'reading' | 'ready' | 'failed' | 'gone';

/** A sample that was admitted: it has memory, and is being read or waits for its consumer. */
export class Entry {
  readonly request: SampleRequest;
  /** Bytes of the request, as far as they were known when it was admitted. */
  readonly size: number;
  /** Its place in the queue, counted from 0. */
  readonly order: number;
  state: EntryState = 'reading';
  /**
   * Whether it waits for a consumer that reads the object by name. Other consumers look for another entry.
   */
  isHeld = false;
  error: unknown;
  /** Undefined where nobody follows it. */
  trace: TracedSample | undefined;
  #block: Block;
  #bytes: Uint8Array;
  readonly #memory: Pick<MemoryPort, 'outside'>;
  /** None, as nearly always: neither an array is made nor a closure, as there is an entry for each sample. */
  #followers: Entry[] | undefined;
  #lookers: (() => void)[] | undefined;
  readonly #onSettled: (entry: Entry) => void;

  /**
   * @param memory Gives it other memory if its object has another size than expected.
   * @param onSettled Called when it is ready or has failed, after the callbacks of `whenSettled`.
   */
  constructor(
    request: SampleRequest,
    size: number,
    order: number,
    block: Block,
    memory: Pick<MemoryPort, 'outside'>,
    onSettled: (entry: Entry) => void,
  ) {
    this.request = request;
    this.size = size;
    this.order = order;
    this.#block = block;
    this.#bytes = block.bytes;
    this.#memory = memory;
    this.#onSettled = onSettled;
  }

  /** Where it is read to, and what was read once it is ready. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /**
   * Returns memory for an object that has another size than expected. It belongs to the caller until it is
   * given to `succeed`.
   * @throws TieredError `TIERED_TOO_LARGE` if there is no such memory.
   */
  blockFor(bytes: number): Block {
    try {
      return this.#memory.outside(bytes);
    } catch (error) {
      throw tooLargeError(this.request.key, bytes, error);
    }
  }

  /**
   * Calls back, synchronously, when it is ready or has failed. Its memory is there at that moment, but maybe
   * not later.
   */
  whenSettled(callback: () => void): void {
    if (this.state !== 'reading') callback();
    else (this.#lookers ??= []).push(callback);
  }

  /** Gets its bytes from an entry of the same object that is being read or there: PRISMA's n_reads. */
  follow(first: Entry): void {
    this.trace?.repeats();
    if (first.state === 'reading') (first.#followers ??= []).push(this);
    else this.#end(this.#copyFrom(first));
  }

  /**
   * Marks it as ready. All of its bytes are in the memory that it was given, or in another block if the
   * object has changed its size.
   */
  succeed(bytes: Uint8Array, block = this.#block): void {
    invariant(this.state === 'reading', 'a sample was read twice');
    if (block !== this.#block) this.#block.free();
    this.#block = block;
    this.#bytes = bytes;
    const followers = this.#followers;
    // First, because its memory may be given back when it has settled.
    const failures = followers?.map((follower) => follower.#copyFrom(this));
    this.#settle('ready');
    // By then others may follow these.
    followers?.forEach((follower, i) => follower.#end(failures?.[i]));
  }

  fail(error: unknown): void {
    invariant(this.state === 'reading', 'a sample was read twice');
    this.error = error;
    this.#settle('failed');
    this.#followers?.forEach((follower) => follower.fail(error));
  }

  /** Leaves the queue with its memory; whoever takes it gives that back. */
  leave(): Block {
    invariant(
      this.state !== 'reading' && this.state !== 'gone',
      'a sample left the queue that was not there',
    );
    this.state = 'gone';
    return this.#block;
  }

  /** Returns why it could not, which is no fault of the first. */
  #copyFrom(first: Entry): unknown {
    const { byteLength } = first.bytes;
    try {
      const block = byteLength === this.#bytes.byteLength ? this.#block : this.blockFor(byteLength);
      if (block !== this.#block) {
        this.#block.free();
        this.#block = block;
        this.#bytes = block.bytes;
      }
    } catch (error) {
      return error;
    }
    this.#bytes.set(first.bytes);
    return undefined;
  }

  #end(failure: unknown): void {
    if (failure === undefined) this.succeed(this.#bytes);
    else this.fail(failure);
  }

  #settle(state: 'ready' | 'failed'): void {
    this.state = state;
    this.trace?.end(state === 'failed' ? { error: this.error } : undefined, this.#bytes.byteLength);
    const lookers = this.#lookers;
    this.#lookers = undefined;
    if (lookers !== undefined) for (const look of lookers) look();
    this.#onSettled(this);
  }
}

/**
 * A sample that subscribers of `tiered:prefetch` follow, from its admission until it has settled. Made only
 * if there are any.
 */
export class TracedSample {
  readonly #context: { -readonly [Field in keyof PrefetchTrace]: PrefetchTrace[Field] };
  /** Keeps what subscribers bind to the start, for the read that comes later. */
  readonly #scope: AsyncResource;

  constructor(hierarchy: string | undefined, { request, size }: Pick<Entry, 'request' | 'size'>) {
    const { key, epoch, position } = request;
    this.#context = { hierarchy, key, epoch, position, bytes: size, repeated: false };
    this.#scope = traceStart(prefetchChannel, this.#context, () => new AsyncResource('tiered:prefetch'));
  }

  /** Makes a read as a part of what is traced. */
  run<T>(read: () => T): T {
    return this.#scope.runInAsyncScope(read);
  }

  /** Tells that its bytes are copied from another sample. */
  repeats(): void {
    this.#context.repeated = true;
  }

  /** @param bytes What was read, unless that failed. */
  end(failure: { readonly error: unknown } | undefined, bytes: number): void {
    if (failure === undefined) this.#context.bytes = bytes;
    traceEnd(prefetchChannel, this.#context, failure);
  }
}
