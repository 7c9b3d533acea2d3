import type { HierarchyConfig } from '@tiered/config';
import { TieredError, type StorageDriver } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { sourceAt, tierOf } from '../../dataset/locations.js';
import { directoryOf } from './look.js';

/** What is served: a configuration, or a source and its tiers. */
export interface ServedOptions {
  readonly config?: string | undefined;
  readonly source?: string | undefined;
  /** Each as `tierOf` takes it. */
  readonly tier: readonly string[];
  /** Beside a source: the file that keeps the list of its objects. */
  readonly manifest?: string | undefined;
}

/** Below this, programs find the objects of a source that is no directory, if nobody says where. */
const ROOTS = '/tiered';

/**
 * What `loadConfig` is to load.
 * @throws TieredError `TIERED_CONFIG_INVALID` unless it is one of both.
 */
export async function servedConfig({
  config,
  source,
  tier,
  manifest,
}: ServedOptions): Promise<string | HierarchyConfig> {
  const isAlone = source === undefined && manifest === undefined && tier.length === 0;
  if (config !== undefined && isAlone) return config;
  if (config !== undefined)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      '--config: cannot be combined with a source, --tier and --manifest',
    );
  if (source === undefined || tier.length === 0)
    throw configError(
      source === undefined ? 'source' : '--tier',
      'a source and its tiers, such as /mnt/data --tier /nvme/cache:200GiB, or --config',
      source === undefined ? source : 'none',
    );
  const levels = { source: await sourceAt(source), tiers: tier.map(tierOf) };
  return manifest === undefined ? levels : { ...levels, manifest };
}

/**
 * The path below which programs find the objects of a source that is no directory: the name of the bucket and
 * the prefix, below `/tiered`. Undefined for a directory, whose files are where they are.
 */
export function defaultRoot(source: StorageDriver): string | undefined {
  if (directoryOf(source) !== undefined) return undefined;
  const [, scheme = '', rest = source.name] = /^(\w+):\/\/(.*)$/s.exec(source.location ?? '') ?? [];
  const names = rest.split('/').filter((name) => !['', '.', '..'].includes(name));
  // Of a server's URL, the host says nothing of the data.
  const isUrl = scheme.startsWith('http') && names.length > 1;
  return [ROOTS, ...(isUrl ? names.slice(1) : names)].join('/');
}
