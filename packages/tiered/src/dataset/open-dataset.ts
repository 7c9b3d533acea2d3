import { loadConfig, type HierarchyConfig, type SourceConfig, type TierConfig } from '@tiered/config';
import { isTieredError, systemClock, type Clock, type OperationOptions } from '@tiered/core';
import { configError, definedOf } from '@tiered/core/internal';
import { closeAll, type Closable } from '../closing.js';
import { ClusterWorker } from '../cluster/cluster-worker.js';
import { handlerOf } from '../configuration/levels.js';
import { ControlStage } from '../control/control-stage.js';
import { ListingProgress, type Terminal } from '../progress.js';
import { Dataset } from './dataset.js';
import { assertKnown, type OptionNames } from './known-options.js';
import { objectAt, sourceAt, tierOf } from './locations.js';

/** Options of `openDataset`. */
export interface DatasetOptions
  extends
    OperationOptions,
    Pick<
      HierarchyConfig,
      'placement' | 'manifest' | 'versions' | 'model' | 'prefetcher' | 'cluster' | 'control'
    > {
  /**
   * The whole dataset, which is only read: the path of a directory or of a file, `s3://bucket/prefix/`,
   * `gs://bucket/prefix/`, `az://container/prefix/`, the URL of an object there, or a mapping as in a configuration file
   * (`docs/configuration.md`), such as `{ driver: 's3', bucket, endpoint }`.
   */
  readonly source: string | SourceConfig;
  /**
   * What is kept nearer, fastest first: `ram:8GiB`, a directory of a local disk with its quota
   * (`/nvme/cache:200GiB`), or a mapping as in a configuration file. A quota may be a share of all that the
   * storage has (`/nvme/cache:80%`). A directory is empty at first, or a tier's. Default: none, and every
   * epoch reads from the source.
   */
  readonly tiers?: readonly (string | TierConfig)[] | undefined;
  /**
   * Where it is shown how far the listing of the source is, and the search for samples in objects: a bar from
   * two seconds on if that is a terminal, else a line every ten seconds. `false` shows none. Default:
   * `process.stderr`.
   */
  readonly progress?: Terminal | false | undefined;
  /**
   * A directory in which this process offers a socket, so that `tiered top` can watch it. Only this user can
   * open it. Default: none.
   */
  readonly monitor?: string | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

const NAMES: OptionNames<DatasetOptions> = {
  source: true,
  tiers: true,
  placement: true,
  manifest: true,
  versions: true,
  model: true,
  prefetcher: true,
  cluster: true,
  control: true,
  progress: true,
  monitor: true,
  clock: true,
  signal: true,
};

/**
 * Opens a dataset: its source, the tiers above it, and the list of its objects. Everything inside is there
 * for programs that outgrow it: `hierarchy`, and the prefetchers that `epochs` returns.
 * @param options Where it is, or the path of a configuration file.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that do not exist or cannot work;
 * `TIERED_NOT_FOUND` if the source has no objects; errors of the source's listing. An abort rejects with
 * `signal.reason`. Everything that was opened is closed again then.
 */
export async function openDataset(options: string | URL | DatasetOptions): Promise<Dataset> {
  const isFile = typeof options === 'string' || options instanceof URL;
  if (!isFile) assertOptions(options);
  const given: Omit<DatasetOptions, 'source'> = isFile ? {} : options;
  if (isFile) return opened(options, given);
  const { source } = options;
  if (typeof source !== 'string') return opened(configOf(options, source), given);
  try {
    return await opened(configOf(options, await sourceAt(source)), given);
  } catch (error) {
    // Only the storage knows whether a URL means an object or what lies below it.
    const object = objectAt(source);
    if (object === undefined || !isTieredError(error, 'TIERED_NOT_FOUND')) throw error;
    return opened(configOf(options, object), given).catch((second: unknown) => {
      throw isTieredError(second, 'TIERED_NOT_FOUND') ? error : second;
    });
  }
}

async function opened(
  from: string | URL | HierarchyConfig,
  { progress = process.stderr, signal, clock = systemClock }: Omit<DatasetOptions, 'source'>,
): Promise<Dataset> {
  const stage = await ControlStage.join(await loadConfig(from, { clock }), { clock, signal });
  const { config } = stage;
  const opening: Closable[] = [stage];
  let listing: ListingProgress | undefined;
  try {
    const worker = await ClusterWorker.join(config, { clock, signal });
    opening.unshift(worker);
    const hierarchy = config.makeHierarchy(worker.changes);
    opening.unshift(hierarchy);
    if (progress !== false) listing = new ListingProgress(hierarchy, progress, clock);
    await hierarchy.open({ signal });
    stage.follow(hierarchy);
    await worker.serve(hierarchy);
    const dataset = await Dataset.of(hierarchy, {
      signal,
      clock,
      worker,
      stage,
      prefetcher: config.prefetcher,
      placement: handlerOf(config.hierarchy),
      progress: progress === false ? undefined : progress,
    });
    if (config.monitor !== undefined) await dataset.monitorAt(config.monitor);
    return dataset;
  } catch (error) {
    await closeAll(opening);
    throw error;
  } finally {
    listing?.stop();
  }
}

function assertOptions(options: DatasetOptions): void {
  assertKnown('openDataset', options, NAMES);
  const { tiers } = options;
  if (tiers !== undefined && !Array.isArray(tiers))
    throw configError('tiers', 'a list, such as ["ram:8GiB", "/nvme/cache:200GiB"]', tiers);
}

function configOf(options: DatasetOptions, source: SourceConfig): HierarchyConfig {
  const { tiers = [], placement, manifest, versions, model, prefetcher, cluster, control, monitor } = options;
  return {
    source,
    tiers: tiers.map((tier) => (typeof tier === 'string' ? tierOf(tier) : tier)),
    // A field without a value is no field of a configuration.
    ...definedOf({ placement, manifest, versions, model, prefetcher, cluster, control, monitor }),
  };
}
