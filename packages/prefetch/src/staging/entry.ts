import { invariant, tooLargeError, traceEnd, traceStart } from '@tiered/core/internal';
import { prefetchChannel, type PrefetchTrace } from '@tiered/core/tracing';
import { AsyncResource } from 'node:async_hooks';
import type { SampleRequest } from '../request.js';
import type { Block } from './arena.js';
import type { MemoryPort } from './queue-ports.js';

/**
 * The state of an admitted sample: `reading`, then `ready` or `failed`; `gone` once it was taken or dropped.
 */
export type EntryState = 'reading' | 'ready' | 'failed' | 'gone';

/** An admitted sample: it has memory, and is being read or waits for its consumer. */
export class Entry {
  readonly request: SampleRequest;
  /** Size of the request in bytes, as known at its admission. */
  readonly size: number;
  /** Its place in the queue, counted from 0. */
  readonly order: number;
  state: EntryState = 'reading';
  /**
   * Whether it waits for a consumer that reads the object by name. Other consumers look for another entry.
   */
  isHeld = false;
  error: unknown;
  /** Undefined if it is not traced. */
  trace: TracedSample | undefined;
  #block: Block;
  #bytes: Uint8Array;
  readonly #memory: Pick<MemoryPort, 'outside'>;
  /**
   * Nearly always undefined: with an entry for each sample, neither an array nor a closure is made up front.
   */
  #followers: Entry[] | undefined;
  #lookers: (() => void)[] | undefined;
  readonly #onSettled: (entry: Entry) => void;

  /**
   * @param memory Gives it other memory if its object does not have the expected size.
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

  /** The memory it is read into, and its content once it is ready. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /**
   * Returns memory for an object that does not have the expected size. The caller owns it until it is passed
   * to `succeed`.
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
   * Calls back synchronously when it is ready or has failed. Its memory is valid at that moment, but maybe
   * not later.
   */
  whenSettled(callback: () => void): void {
    if (this.state !== 'reading') callback();
    else (this.#lookers ??= []).push(callback);
  }

  /** Gets its bytes from an entry of the same object that is being read or ready: PRISMA's n_reads. */
  follow(first: Entry): void {
    this.trace?.repeats();
    if (first.state === 'reading') (first.#followers ??= []).push(this);
    else this.#end(this.#copyFrom(first));
  }

  /**
   * Marks it as ready. All of its bytes are in the memory that it was given, or in another block if the
   * object has changed size.
   */
  succeed(bytes: Uint8Array, block = this.#block): void {
    invariant(this.state === 'reading', 'a sample was read twice');
    if (block !== this.#block) this.#block.free();
    this.#block = block;
    this.#bytes = bytes;
    const followers = this.#followers;
    // Copy first, because the memory may be freed once this entry has settled.
    const failures = followers?.map((follower) => follower.#copyFrom(this));
    this.#settle('ready');
    // By now others may follow these entries.
    followers?.forEach((follower, i) => follower.#end(failures?.[i]));
  }

  fail(error: unknown): void {
    invariant(this.state === 'reading', 'a sample was read twice');
    this.error = error;
    this.#settle('failed');
    this.#followers?.forEach((follower) => follower.fail(error));
  }

  /** Leaves the queue with its memory, which the caller has to free. */
  leave(): Block {
    invariant(
      this.state !== 'reading' && this.state !== 'gone',
      'a sample left the queue that was not there',
    );
    this.state = 'gone';
    return this.#block;
  }

  /** Returns the error if it cannot copy, which does not affect the first entry. */
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
 * A sample traced for subscribers of `tiered:prefetch`, from its admission until it has settled. Made only if
 * there are subscribers.
 */
export class TracedSample {
  readonly #context: { -readonly [Field in keyof PrefetchTrace]: PrefetchTrace[Field] };
  /** Keeps the context that subscribers bind to the start, for the later read. */
  readonly #scope: AsyncResource;

  constructor(hierarchy: string | undefined, { request, size }: Pick<Entry, 'request' | 'size'>) {
    const { key, epoch, position } = request;
    this.#context = { hierarchy, key, epoch, position, bytes: size, repeated: false };
    this.#scope = traceStart(prefetchChannel, this.#context, () => new AsyncResource('tiered:prefetch'));
  }

  /** Runs a read as a part of the trace. */
  run<T>(read: () => T): T {
    return this.#scope.runInAsyncScope(read);
  }

  /** Notes that its bytes are copied from another sample. */
  repeats(): void {
    this.#context.repeated = true;
  }

  /** @param bytes Bytes read, unless the read failed. */
  end(failure: { readonly error: unknown } | undefined, bytes: number): void {
    if (failure === undefined) this.#context.bytes = bytes;
    traceEnd(prefetchChannel, this.#context, failure);
  }
}
