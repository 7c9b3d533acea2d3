import { Random } from '@tiered/core';
import { assertCounts, configError, invariant } from '@tiered/core/internal';

/** Orders kept: prefetching across the boundary of two epochs needs both. */
const ORDERS_KEPT = 2;

/** One access: which object, and where in the training run. */
export interface Access {
  readonly key: string;
  /** Counted from 0. */
  readonly epoch: number;
  /** Counted from 0 within the epoch. */
  readonly position: number;
}

/**
 * The order in which a training run reads its objects, known in advance (the access sequence R of NoPFS,
 * section 3). It is computed on demand. The same arguments give the same sequence on every machine and in
 * every version.
 */
export interface AccessSequence extends Iterable<Access> {
  readonly epochs: number;
  /** Accesses of one epoch. */
  readonly epochLength: number;
  /** Returns one access, without replaying those before it. */
  at(epoch: number, position: number): Access;
  /**
   * Iterates over the accesses from this position to the end of the last epoch. For resuming.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a position that the sequence does not reach.
   */
  from(epoch: number, position: number): IterableIterator<Access>;
}

/** Options of `listSequence`. */
export interface ListSequenceOptions {
  /** How many times the list is read, at least 1. Default: 1. */
  readonly epochs?: number | undefined;
}

/** Options of `shuffledSequence`. */
export interface ShuffledSequenceOptions extends ListSequenceOptions {
  /**
   * Whole number from 0 to 2^53 - 1 that determines the order of every epoch. No default: record it with your
   * results.
   */
  readonly seed: number;
}

/**
 * Makes a sequence that reads the keys in the order given, the same in every epoch.
 * @param keys Copied; O(keys) memory.
 * @throws TieredError `TIERED_CONFIG_INVALID` for an invalid number of epochs.
 */
export function listSequence(keys: Iterable<string>, options: ListSequenceOptions = {}): AccessSequence {
  const { epochs = 1 } = options;
  return new KeySequence([...keys], { epochs, indexAt: (_, position) => position });
}

/**
 * Makes a sequence that reads the keys in a new order each epoch. Epoch e is the permutation of the keys, in
 * the order given, that `Random(seed, e)` of `@tiered/core` draws (xoshiro128\*\*, Fisher and Yates). It is
 * stable forever, so sort the keys if they come from a listing. Drawing the order of an epoch takes 4 bytes
 * per key and O(keys) time, once. The two orders drawn last are kept.
 * @param keys Copied.
 * @throws TieredError `TIERED_CONFIG_INVALID` for an invalid seed or number of epochs.
 */
export function shuffledSequence(keys: Iterable<string>, options: ShuffledSequenceOptions): AccessSequence {
  const { seed, epochs = 1 } = options;
  // Rejects a bad seed here, not in the first epoch.
  new Random(seed);
  const copied = [...keys];
  const orders = new EpochOrders((epoch) => new Random(seed, epoch).permutation(copied.length));
  return new KeySequence(copied, { epochs, indexAt: (epoch, position) => orders.of(epoch)[position] });
}

/** The parts that a sequence of keys is made of. */
interface KeySequenceParts {
  readonly epochs: number;
  /** Default: the number of keys. */
  readonly epochLength?: number | undefined;
  /** Index of the key that is read there. */
  readonly indexAt: (epoch: number, position: number) => number | undefined;
}

/** Accesses to keys by their index. */
export class KeySequence implements AccessSequence {
  readonly epochs: number;
  readonly epochLength: number;
  readonly #keys: ArrayLike<string>;
  readonly #indexAt: KeySequenceParts['indexAt'];

  /** @param keys Kept, not copied. */
  constructor(keys: ArrayLike<string>, { epochs, epochLength = keys.length, indexAt }: KeySequenceParts) {
    assertCounts({ epochs });
    this.epochs = epochs;
    this.epochLength = epochLength;
    this.#keys = keys;
    this.#indexAt = indexAt;
  }

  at(epoch: number, position: number): Access {
    assertIndex('epoch', epoch, this.epochs);
    assertIndex('position', position, this.epochLength);
    const key = this.#keys[this.#indexAt(epoch, position) ?? -1];
    invariant(key !== undefined, `no key at position ${position} of epoch ${epoch}`);
    return { key, epoch, position };
  }

  from(epoch: number, position: number): IterableIterator<Access> {
    // The end is a valid position to resume from.
    assertIndex('epoch', epoch, this.epochs + 1);
    assertIndex('position', position, this.epochLength + 1);
    return this.#walk(epoch, position);
  }

  [Symbol.iterator](): IterableIterator<Access> {
    return this.from(0, 0);
  }

  *#walk(epoch: number, position: number): IterableIterator<Access> {
    if (this.epochLength === 0) return;
    for (let e = epoch, p = position; e < this.epochs; e++, p = 0) {
      for (; p < this.epochLength; p++) yield this.at(e, p);
    }
  }
}

/** Rejects a value that is not an index from 0 to `count - 1`. */
export function assertIndex(field: string, value: number, count: number): void {
  if (Number.isSafeInteger(value) && value >= 0 && value < count) return;
  throw configError(field, `a whole number from 0 to ${count - 1}`, value);
}

/** The orders of epochs, drawn on demand. The two drawn last are kept. */
export class EpochOrders {
  readonly #draw: (epoch: number) => Uint32Array;
  readonly #kept = new Map<number, Uint32Array>();

  constructor(draw: (epoch: number) => Uint32Array) {
    this.#draw = draw;
  }

  of(epoch: number): Uint32Array {
    const kept = this.#kept.get(epoch);
    if (kept !== undefined) return kept;
    // Drop the oldest before the next is drawn, so that there are never three.
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < ORDERS_KEPT) break;
      this.#kept.delete(oldest);
    }
    const order = this.#draw(epoch);
    this.#kept.set(epoch, order);
    return order;
  }
}
