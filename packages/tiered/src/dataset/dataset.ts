import { TieredError, type Clock, type Hierarchy, type OperationOptions } from '@tiered/core';
import {
  listSequence,
  Prefetcher,
  shuffledSequence,
  type AccessSequence,
  type PrefetcherOptions,
} from '@tiered/prefetch';
import { reportOf } from './report.js';

/** Options of `Dataset.epochs`: those of the order, and those of a `Prefetcher`. */
export interface EpochsOptions extends PrefetcherOptions {
  /** How often the dataset is read, at least 1. Default: 1. */
  readonly epochs?: number | undefined;
  /**
   * Whole number from 0 to 2^53 - 1. Each epoch has another order, which the seed decides on every machine.
   * Default: 0.
   */
  readonly seed?: number | undefined;
  /** Whether each epoch has a random order. `false` reads in the order of the keys. Default: true. */
  readonly shuffle?: boolean | undefined;
  /** Which objects are read. Default: all. */
  readonly filter?: ((key: string) => boolean) | undefined;
}

/** A dataset that is open, see `openDataset`. */
export class Dataset implements AsyncDisposable {
  /** What reads it, with its tiers, statistics and events. */
  readonly hierarchy: Hierarchy;
  /** The keys of all objects, in order of their UTF-16 code units. */
  readonly keys: readonly string[];
  readonly #clock: Clock;
  /** Not held: a training may make one for each validation, and those that ended free their memory. */
  readonly #prefetchers = new Set<WeakRef<Prefetcher>>();
  #latest: Prefetcher | undefined;

  private constructor(hierarchy: Hierarchy, keys: readonly string[], clock: Clock) {
    this.hierarchy = hierarchy;
    this.keys = keys;
    this.#clock = clock;
  }

  /** @internal Lists what an open hierarchy has. */
  static async of(
    hierarchy: Hierarchy,
    { signal, clock }: OperationOptions & { readonly clock: Clock },
  ): Promise<Dataset> {
    const keys: string[] = [];
    for await (const page of hierarchy.list({ signal })) for (const { key } of page) keys.push(key);
    if (keys.length > 0) return new Dataset(hierarchy, keys.sort(), clock);
    const { driver } = hierarchy.stats().source;
    throw new TieredError('TIERED_NOT_FOUND', `${driver} has no objects; check the path and the prefix.`, {
      driver,
    });
  }

  /**
   * Reads the dataset, ahead of whoever takes the samples: `for await (const { key, data } of
   * dataset.epochs({ seed, epochs }))`. The bytes are lent until the loop goes on; copy what you keep, or ask
   * for copies (`copy: true`).
   *
   * What it returns is a `Prefetcher`, with `epoch()` for one loop per epoch, `state()` for checkpoints
   * (continue with `resume`), and `profile()`.
   * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work, or if `filter` leaves nothing.
   */
  epochs(options: EpochsOptions = {}): Prefetcher {
    const { epochs = 1, seed = 0, shuffle = true, filter, ...rest } = options;
    const keys = filter === undefined ? this.keys : this.keys.filter(filter);
    if (keys.length === 0) {
      throw new TieredError('TIERED_CONFIG_INVALID', 'filter: expected one that leaves some of the objects');
    }
    const sequence: AccessSequence = shuffle
      ? shuffledSequence(keys, { seed, epochs })
      : listSequence(keys, { epochs });
    const prefetcher = new Prefetcher(this.hierarchy, sequence, { clock: this.#clock, ...rest });
    for (const made of this.#prefetchers) if (made.deref() === undefined) this.#prefetchers.delete(made);
    this.#prefetchers.add(new WeakRef(prefetcher));
    this.#latest = prefetcher;
    return prefetcher;
  }

  /**
   * Says in words what each epoch took, where its bytes came from, what limited it, and what is on the tiers.
   * The epochs are those of the latest call of `epochs`.
   */
  report(): string {
    return reportOf(this.hierarchy.stats(), this.#latest?.profile());
  }

  /** Ends all reading, and closes the hierarchy. Idempotent. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#prefetchers, async (made) => made.deref()?.close()));
    this.#prefetchers.clear();
    await this.hierarchy.close();
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
