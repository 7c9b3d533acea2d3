import { TieredError } from '@tiered/core';
import Denque from 'denque';
import type { RequestOf, SampleRequest } from '../request.js';
import type { Access, AccessSequence } from './access-sequence.js';

/**
 * Accesses for a prefetcher: a sequence, which can be resumed, or a list or stream of accesses. At most 256
 * accesses of a stream are taken ahead of their reads. A string is a key; its epoch is 0, and its position is
 * its place in the list or stream.
 */
export type AccessInput = AccessSequence | Iterable<Access | string> | AsyncIterable<Access | string>;

/**
 * Returns the accesses as a sequence, which can be resumed in its middle.
 * @throws TieredError `TIERED_CONFIG_INVALID` if they are not a sequence.
 */
export function sequenceOf(accesses: AccessInput): AccessSequence {
  if (isSequence(accesses)) return accesses;
  throw new TieredError(
    'TIERED_CONFIG_INVALID',
    'Only an AccessSequence can be resumed: make one with shuffledSequence or listSequence.',
  );
}

/** Whether accesses can be read from it at all. A string is rejected, although it is iterable. */
export function isIterable(accesses: unknown): boolean {
  if (typeof accesses !== 'object' || accesses === null) return false;
  return Symbol.iterator in accesses || Symbol.asyncIterator in accesses;
}

function isSequence(accesses: object): accesses is AccessSequence {
  return 'from' in accesses && 'epochLength' in accesses;
}

/** The requests of a sequence, as the look-ahead asks for them. */
export interface RequestFeed {
  /**
   * Returns the next request; `later` if it has not arrived yet, undefined at the end.
   * @throws The error of the sequence.
   */
  next(): SampleRequest | 'later' | undefined;
  /** Ends the feed before the end of the sequence. Never throws. */
  leave(): void;
}

/**
 * Most accesses taken from a stream ahead of their admission. Enough for batches, and bounded if a stream has
 * no end.
 */
const STREAMED_AHEAD = 256;

/**
 * @param requestOf Makes the requests.
 * @param onReady Called when `next` would no longer return `later`.
 */
export function feedOf(
  accesses: Iterable<Access | string> | AsyncIterable<Access | string>,
  requestOf: RequestOf,
  onReady: () => void,
): RequestFeed {
  return Symbol.iterator in accesses
    ? new IteratorFeed(accesses, requestOf)
    : new StreamFeed(accesses, requestOf, onReady);
}

/** Accesses that are available at once. */
class IteratorFeed implements RequestFeed {
  readonly #accesses: Iterable<Access | string>;
  readonly #requestOf: RequestOf;
  #iterator: Iterator<Access | string> | undefined;
  #count = 0;

  constructor(accesses: Iterable<Access | string>, requestOf: RequestOf) {
    this.#accesses = accesses;
    this.#requestOf = requestOf;
  }

  next(): SampleRequest | undefined {
    this.#iterator ??= this.#accesses[Symbol.iterator]();
    const step = this.#iterator.next();
    return step.done === true ? undefined : this.#requestOf(step.value, this.#count++);
  }

  leave(): void {
    try {
      this.#iterator?.return?.();
    } catch {
      // The feed was already left for another reason, and no consumer waits for more.
    }
  }
}

/** Accesses from a stream, requested one at a time. */
class StreamFeed implements RequestFeed {
  readonly #accesses: AsyncIterable<Access | string>;
  readonly #requestOf: RequestOf;
  readonly #onReady: () => void;
  readonly #ready = new Denque<SampleRequest>();
  #iterator: AsyncIterator<Access | string> | undefined;
  #count = 0;
  #isPulling = false;
  /** Whether no more requests are made, because the stream has ended, has failed, or was left. */
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(accesses: AsyncIterable<Access | string>, requestOf: RequestOf, onReady: () => void) {
    this.#accesses = accesses;
    this.#requestOf = requestOf;
    this.#onReady = onReady;
  }

  next(): SampleRequest | 'later' | undefined {
    const request = this.#ready.shift();
    if (this.#ready.length <= STREAMED_AHEAD / 2) void this.#pull();
    if (request !== undefined) return request;
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#isOver ? undefined : 'later';
  }

  leave(): void {
    const isPulled = !this.#isOver;
    this.#isOver = true;
    this.#ready.clear();
    if (isPulled) void this.#return();
  }

  async #pull(): Promise<void> {
    if (this.#isPulling || this.#isOver) return;
    this.#isPulling = true;
    while (!this.#isOver && this.#ready.length < STREAMED_AHEAD) {
      await this.#pullOne();
      // With more than one, the look-ahead was told of the first one and has yet to look at the others.
      if (this.#ready.length <= 1) this.#onReady();
    }
    this.#isPulling = false;
  }

  async #pullOne(): Promise<void> {
    try {
      this.#iterator ??= this.#accesses[Symbol.asyncIterator]();
      const step = await this.#iterator.next();
      if (this.#isOver) return;
      if (step.done === true) this.#isOver = true;
      else this.#ready.push(this.#requestOf(step.value, this.#count++));
    } catch (error) {
      this.#isOver = true;
      this.#failure = { error };
    }
  }

  async #return(): Promise<void> {
    try {
      await this.#iterator?.return?.();
    } catch {
      // As in IteratorFeed.
    }
  }
}
