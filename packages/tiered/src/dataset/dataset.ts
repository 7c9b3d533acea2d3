import type { Cluster } from '@tiered/cluster';
import type { PrefetcherConfig } from '@tiered/config';
import type { Control } from '@tiered/control';
import { TieredError, type Clock, type Hierarchy, type OperationOptions } from '@tiered/core';
import { ABSENT, definedOf } from '@tiered/core/internal';
import { isDirectoryMark } from '@tiered/formats/internal';
import type { CollatedBy, DataLoader } from '@tiered/loader';
import {
  listSequence,
  Prefetcher,
  shuffledSequence,
  type AccessSequence,
  type PrefetcherOptions,
} from '@tiered/prefetch';
import { adaptiveAutotuner } from '@tiered/prefetch/autotuner';
import type { PlacementHandler } from '@tiered/tiering';
import { closeAll } from '../closing.js';
import type { ClusterWorker } from '../cluster/cluster-worker.js';
import type { ControlStage } from '../control/control-stage.js';
import { serveMonitor, type Monitor } from '../monitor/serve-monitor.js';
import type { Terminal } from '../progress.js';
import { assertKnown, type OptionNames } from './known-options.js';
import { loaderOf, type LoaderOptions } from './loader.js';
import { reportOf } from './report.js';

/**
 * Options of `Dataset.epochs`: those of the order, and those of a `Prefetcher`, whose defaults are what the
 * configuration says of prefetchers (`prefetcher`), or else those of `Prefetcher`.
 */
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

const NAMES: OptionNames<EpochsOptions> = {
  epochs: true,
  seed: true,
  shuffle: true,
  filter: true,
  staging: true,
  priority: true,
  resume: true,
  copy: true,
  detach: true,
  onError: true,
  maxSkipped: true,
  onSkip: true,
  memory: true,
  producers: true,
  concurrency: true,
  autotuner: true,
  debug: true,
  clock: true,
  signal: true,
};

/** What a dataset is made of, beside its hierarchy. */
interface DatasetParts {
  readonly clock: Clock;
  readonly prefetcher: PrefetcherConfig;
  /** Belongs to the dataset. Default: it is alone. */
  readonly worker?: ClusterWorker | undefined;
  /** Belongs to the dataset. Default: it shares nothing with other jobs. */
  readonly stage?: ControlStage | undefined;
  /** Of the hierarchy, if it has one of this SDK. */
  readonly placement?: PlacementHandler | undefined;
  /** Where it is shown how far long work is. Default: nowhere. */
  readonly progress?: Terminal | undefined;
}

/** A dataset that is open, see `openDataset`. */
export class Dataset implements AsyncDisposable {
  /** What reads it, with its tiers, statistics and events. */
  readonly hierarchy: Hierarchy;
  /**
   * The keys of all objects when it was opened, in order of their UTF-16 code units. Marks of directories in
   * S3 are none.
   */
  readonly keys: readonly string[];
  readonly #clock: Clock;
  readonly #settings: PrefetcherConfig;
  /** Not held: a training may make one for each validation, and those that ended free their memory. */
  readonly #made = new Set<WeakRef<{ close(): Promise<void> }>>();
  readonly #placement: PlacementHandler | undefined;
  readonly #worker: ClusterWorker | undefined;
  readonly #stage: ControlStage | undefined;
  readonly #progress: Terminal | undefined;
  #latest: Prefetcher | undefined;
  #monitor: Monitor | undefined;

  private constructor(
    hierarchy: Hierarchy,
    keys: readonly string[],
    { clock, prefetcher, worker, stage, placement, progress }: DatasetParts,
  ) {
    this.hierarchy = hierarchy;
    this.keys = keys;
    this.#clock = clock;
    this.#progress = progress;
    this.#settings = prefetcher;
    this.#placement = placement;
    this.#worker = worker;
    this.#stage = stage;
  }

  /** The workers that this one shares its tiers with. Undefined if it is alone. */
  get cluster(): Cluster | undefined {
    return this.#worker?.cluster;
  }

  /** The stage of the job in the control plane. Undefined if it shares nothing with other jobs. */
  get control(): Control | undefined {
    return this.#stage?.control;
  }

  /** @internal Lists what an open hierarchy has. */
  static async of(
    hierarchy: Hierarchy,
    { signal, ...parts }: OperationOptions & DatasetParts,
  ): Promise<Dataset> {
    const keys: string[] = [];
    for await (const page of hierarchy.list({ signal }))
      for (const { key, size } of page) if (!isDirectoryMark(key, size)) keys.push(key);
    if (keys.length > 0) return new Dataset(hierarchy, keys.sort(), parts);
    const { driver } = hierarchy.stats().source;
    throw new TieredError('TIERED_NOT_FOUND', `${driver} has no objects; check the path and the prefix.`, {
      driver,
    });
  }

  /** @internal Offers a socket for `tiered top`, until this is closed. */
  async monitorAt(directory: string): Promise<void> {
    const prefetcher = () => this.#latest;
    this.#monitor = await serveMonitor(this.hierarchy, { directory, prefetcher, clock: this.#clock });
  }

  /**
   * Reads the dataset, ahead of the loop that takes the samples: `for await (const { key, data } of
   * dataset.epochs({ seed, epochs }))`. The bytes are lent until the loop goes on; copy what you keep, or ask
   * for copies (`copy: true`).
   *
   * It returns a `Prefetcher`, with `epoch()` for one loop per epoch, `state()` for checkpoints (continue
   * with `resume`), and `profile()`. Objects that `hierarchy.rescan()` found gone before are left
   * out.
   * @throws TieredError `TIERED_CONFIG_INVALID` for options that do not exist or cannot work, or if `filter`
   * leaves nothing.
   */
  epochs(options: EpochsOptions = {}): Prefetcher {
    assertKnown('epochs', options, NAMES);
    const { epochs = 1, seed = 0, shuffle = true, filter, ...rest } = options;
    const { namespace } = this.hierarchy;
    const areAllThere = namespace.known === namespace.count;
    const there = areAllThere ? this.keys : this.keys.filter((key) => namespace.find(key) !== ABSENT);
    const keys = filter === undefined ? there : there.filter(filter);
    if (keys.length === 0) {
      throw new TieredError('TIERED_CONFIG_INVALID', 'filter: expected one that leaves some of the objects');
    }
    const sequence: AccessSequence = shuffle
      ? shuffledSequence(keys, { seed, epochs })
      : listSequence(keys, { epochs });
    const told = { clock: this.#clock, ...withDefaults(this.#settings, rest) };
    const make = (given: PrefetcherOptions) => new Prefetcher(this.hierarchy, sequence, given);
    const prefetcher = this.#stage?.followed(told, make) ?? make(told);
    this.#latest = prefetcher;
    return this.#toClose(prefetcher);
  }

  /**
   * Reads samples inside the objects, in batches: finds them (`format`), and makes a `DataLoader` of
   * `@tiered/loader`, which reads ahead, decodes, transforms and collates. `clairvoyant: true` has the tiers
   * keep what this rank reads most often.
   * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work; as `openSamples` of
   * `@tiered/formats`. An abort rejects with `signal.reason`.
   */
  loader<S = unknown, T = S, C = readonly T[]>(
    options: CollatedBy<T, C, LoaderOptions<S, T, C>>,
  ): Promise<DataLoader<S, T, C>>;
  // Not one signature, as the constructor of `DataLoader`.
  // eslint-disable-next-line @typescript-eslint/unified-signatures
  loader<S = unknown, T = S, C = readonly T[]>(options: LoaderOptions<S, T, C>): Promise<DataLoader<S, T, C>>;
  async loader<S, T, C>(options: LoaderOptions<S, T, C>): Promise<DataLoader<S, T, C>> {
    const loader = await loaderOf<S, T, C>(
      {
        hierarchy: this.hierarchy,
        placement: this.#placement,
        cluster: this.cluster,
        stage: this.#stage,
        clock: this.#clock,
        progress: this.#progress,
      },
      options,
    );
    return this.#toClose(loader);
  }

  /**
   * Says in words what each epoch took, where its bytes came from, what limited it, and what is on the tiers.
   * The epochs are those of the latest call of `epochs`.
   */
  report(): string {
    const latest = this.#latest;
    const prefetched = latest && { profile: latest.profile(), stats: latest.stats() };
    return reportOf(this.hierarchy.stats(), prefetched);
  }

  /** Ends all reading, closes the hierarchy, and leaves the cluster and the jobs. Idempotent. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#made, async (made) => made.deref()?.close()));
    this.#made.clear();
    await closeAll([this.#monitor, this.hierarchy, this.#worker, this.#stage]);
  }

  /** Has `close` end it, if it has not ended before. */
  #toClose<R extends { close(): Promise<void> }>(reader: R): R {
    for (const made of this.#made) if (made.deref() === undefined) this.#made.delete(made);
    this.#made.add(new WeakRef(reader));
    return reader;
  }

  /** Calls `close`, at the end of an `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Adds what the configuration says to the options of a call. Options in code are stronger, and a buffer that
 * was given keeps its own settings.
 */
function withDefaults(
  { onError, maxSkipped, initialProducers, ...buffer }: PrefetcherConfig,
  options: PrefetcherOptions,
): PrefetcherOptions {
  const given = definedOf(options);
  if (given.staging !== undefined) return { onError, maxSkipped, ...given };
  const isTuned = initialProducers !== undefined && given.producers === undefined;
  return {
    onError,
    maxSkipped,
    ...buffer,
    ...(isTuned && { autotuner: adaptiveAutotuner({ initialProducers }) }),
    ...given,
  };
}
