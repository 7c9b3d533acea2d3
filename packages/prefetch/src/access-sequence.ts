import { Random } from '@tiered/core';
import { configError, invariant } from '@tiered/core/internal';

/** One access: which object, and where in the training run. */
export interface Access {
  readonly key: string;
  /** Counted from 0. */
  readonly epoch: number;
  /** Counted from 0 within the epoch. */
  readonly position: number;
}

/**
 * The order in which a training run reads its objects, known in advance (the access sequence R of NoPFS, section 3).
 * Computed when asked for, and the same on every machine, in every version, for the same arguments.
 */
export interface AccessSequence extends Iterable<Access> {
  readonly epochs: number;
  /** Accesses of one epoch. */
  readonly epochLength: number;
  /** One access, without replaying those before it. */
  at(epoch: number, position: number): Access;
  /**
   * The accesses from there on, to the end of the last epoch: for resuming.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a place that the sequence does not reach.
   */
  from(epoch: number, position: number): IterableIterator<Access>;
}

/** Options of `listSequence`. */
export interface ListSequenceOptions {
  /** How often the list is read, at least 1. Default: 1. */
  readonly epochs?: number;
}

/** Options of `shuffledSequence`. */
export interface ShuffledSequenceOptions extends ListSequenceOptions {
  /** Whole number from 0 to 2^53 - 1 that decides every epoch's order. No default: write it down with your results. */
  readonly seed: number;
}

/**
 * The keys in the order given, the same in every epoch.
 * @param keys Copied; O(keys) memory.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a number of epochs that is none.
 */
export function listSequence(keys: Iterable<string>, options: ListSequenceOptions = {}): AccessSequence {
  return new KeySequence(keys, options, () => undefined);
}

/**
 * The keys in a new order each epoch. Epoch e is the permutation that `Random(seed, e)` of `@tiered/core` draws
 * (xoshiro128\*\*, Fisher and Yates) of the keys in the order given: stable forever, so sort the keys if they come
 * from a listing. An epoch's order takes 4 bytes a key and O(keys) time, once; the two drawn last are kept.
 * @param keys Copied.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a seed or a number of epochs that is none.
 */
export function shuffledSequence(keys: Iterable<string>, options: ShuffledSequenceOptions): AccessSequence {
  const { seed } = options;
  // Refuses a bad seed here, and not in the first epoch.
  new Random(seed);
  return new KeySequence(keys, options, (epoch, length) => new Random(seed, epoch).permutation(length));
}

/** Orders kept: prefetching across the boundary of two epochs needs both. */
const ORDERS_KEPT = 2;

type Order = Uint32Array | undefined;

class KeySequence implements AccessSequence {
  readonly epochs: number;
  readonly #keys: readonly string[];
  readonly #draw: (epoch: number, length: number) => Order;
  readonly #orders = new Map<number, Order>();

  constructor(
    keys: Iterable<string>,
    { epochs = 1 }: ListSequenceOptions,
    draw: (epoch: number, length: number) => Order,
  ) {
    if (!Number.isSafeInteger(epochs) || epochs < 1)
      throw configError('epochs', 'a whole number of at least 1', epochs);
    this.epochs = epochs;
    this.#keys = [...keys];
    this.#draw = draw;
  }

  get epochLength(): number {
    return this.#keys.length;
  }

  at(epoch: number, position: number): Access {
    assertIndex('epoch', epoch, this.epochs);
    assertIndex('position', position, this.epochLength);
    const key = this.#keys[this.#order(epoch)?.[position] ?? position];
    invariant(key !== undefined, `no key at position ${position} of epoch ${epoch}`);
    return { key, epoch, position };
  }

  from(epoch: number, position: number): IterableIterator<Access> {
    // The end is a place to resume from too.
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

  #order(epoch: number): Order {
    if (this.#orders.has(epoch)) return this.#orders.get(epoch);
    const order = this.#draw(epoch, this.epochLength);
    for (const oldest of this.#orders.keys()) {
      if (this.#orders.size < ORDERS_KEPT) break;
      this.#orders.delete(oldest);
    }
    this.#orders.set(epoch, order);
    return order;
  }
}

function assertIndex(field: string, value: number, count: number): void {
  if (Number.isSafeInteger(value) && value >= 0 && value < count) return;
  throw configError(field, `a whole number from 0 to ${count - 1}`, value);
}
