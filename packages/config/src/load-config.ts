import { Hierarchy, isTieredError, systemClock, TieredError, type HierarchyOptions } from '@tiered/core';
import type { FactoryContext } from '@tiered/core/driver';
import { addressOf, invariant } from '@tiered/core/internal';
import path from 'node:path';
import { Problems } from './check/problems.js';
import { hierarchySchema, sourceSchema } from './check/schema.js';
import { isMapping, located, readDocument, type ConfigDocument, type Mapping } from './file/document.js';
import { expandVariables } from './file/environment.js';
import type { HierarchyConfig, LoadOptions, PrefetcherConfig } from './hierarchy-config.js';
import type { ClusterSettings } from './cluster-config.js';
import type { ControlSettings } from './control-config.js';
import { clusterOf } from './make/cluster.js';
import { levelOf } from './make/level.js';
import { modelOf, placementOf } from './make/factories.js';
import { tableIn } from './make/registry.js';
import { tiersOf } from './make/tiers.js';
import { writesOf, type SourceWrites } from './make/writes.js';

/** A loaded configuration. */
export interface LoadedConfig {
  /** The options of the hierarchy. The drivers are made, but not opened. */
  readonly hierarchy: HierarchyOptions;
  /** Options for the prefetchers of a training. Empty if the configuration has none. */
  readonly prefetcher: PrefetcherConfig;
  /** Options for the bucket of a gateway. */
  readonly gateway: {
    readonly changing?: readonly string[] | undefined;
    readonly writes?: SourceWrites | undefined;
  };
  /** The workers that this one shares its tiers with, if any. Contains a secret: the token. */
  readonly cluster: ClusterSettings | undefined;
  /** The job of this process, if it shares its source with others. Contains secrets: those of NATS. */
  readonly control: ControlSettings | undefined;
  /**
   * The location of the source's storage, whichever part of it is the dataset: without `prefix` and `object`.
   * A directory is returned as given.
   */
  readonly storage: string;
  /** The absolute path of the profile that `model` names, whether or not it is loaded. */
  readonly profile: string | undefined;
  /** The absolute path of the directory for monitoring the process, if one is configured. */
  readonly monitor: string | undefined;
  /** By tier, the percentage of its storage if the quota was given as a share. Undefined for bytes. */
  readonly shares: readonly (number | undefined)[];
  /**
   * Makes the hierarchy, without starting it.
   * @param changes Options that replace those of the configuration. Default: none.
   * @throws TieredError `TIERED_CONFIG_INVALID` for problems that only the hierarchy finds, such as levels
   * that share storage, with the name of the file and without values of environment variables.
   */
  readonly makeHierarchy: (changes?: Partial<HierarchyOptions>) => Hierarchy;
}

/**
 * Loads a configuration from the path of a `.yaml`, `.yml` or `.json` file, or from an object with the
 * content of such a file. The packages that it names are loaded, so it must be trusted like code. Quotas
 * given as shares are converted to bytes.
 * @throws TieredError `TIERED_CONFIG_INVALID` that lists all problems, each with its field and, for a file,
 * its line. Messages about a field show the name of an environment variable, never its value.
 */
export async function loadConfig(
  config: string | URL | HierarchyConfig,
  options: LoadOptions = {},
): Promise<LoadedConfig> {
  const { clock = systemClock, baseDirectory = '.', env = process.env, warn } = options;
  const document = isFile(config) ? await readDocument(config) : documentOf(config, baseDirectory);
  const { value, variables, problems: unset } = expandVariables(document.value, env);
  const problems = new Problems(document, variables);
  for (const problem of unset) problems.add(problem.path, problem.message);
  const checked = await problems.check([], hierarchySchema, value);
  const context = { baseDirectory: document.baseDirectory, clock };
  const parts = await partsOf(problems, isMapping(value) ? value : {}, context, options);
  problems.throwIfAny();

  const { source, tiers } = parts;
  invariant(checked !== undefined && source !== undefined, 'a wrong configuration has no problem');
  const { scan, versions, manifest, prefetcher = {}, gateway = {}, monitor } = checked.value;
  const { cluster, control, model } = checked.value;
  const inBase = (file: string) => path.resolve(document.baseDirectory, file);
  const hierarchy = {
    source: source.driver,
    tiers: tiers.options,
    placement: parts.placement,
    ...(parts.model !== undefined && { model: parts.model }),
    ...(manifest !== undefined && { manifest: inBase(manifest) }),
    scan,
    versions,
    clock,
    warn,
  };
  return {
    hierarchy,
    prefetcher,
    gateway: { changing: gateway.changing, writes: parts.writes },
    cluster: clusterOf(cluster, inBase),
    control: control && { ...control, registry: control.registry && tableIn(control.registry, inBase) },
    storage: addressOf(source.storage),
    profile: model === undefined ? undefined : inBase(model),
    monitor: monitor === undefined ? undefined : inBase(monitor),
    shares: tiers.shares,
    makeHierarchy: (changes = {}) => {
      try {
        return new Hierarchy({ ...hierarchy, ...changes });
      } catch (error) {
        throw inFile(document.name, problems, error);
      }
    },
  };
}

/**
 * Makes a hierarchy from a configuration, without starting it. `prefetcher`, `gateway`, `cluster`, `control`
 * and `monitor` are checked but not used: they are for `loadConfig`, and for the package `tiered`.
 * @throws Like `loadConfig`, and for problems that only the hierarchy finds, such as levels that share
 * storage.
 */
export async function loadHierarchy(
  config: string | URL | HierarchyConfig,
  options: LoadOptions = {},
): Promise<Hierarchy> {
  return (await loadConfig(config, options)).makeHierarchy();
}

/**
 * Returns the options that `loadHierarchy` would make a hierarchy from. Use it to add options that a file
 * cannot hold, such as your own policy. The drivers are made, but not opened. `prefetcher`, `gateway`,
 * `cluster`, `control` and `monitor` are checked but not used, as by `loadHierarchy`.
 * @throws Like `loadConfig`.
 */
export async function loadHierarchyOptions(
  config: string | URL | HierarchyConfig,
  options: LoadOptions = {},
): Promise<HierarchyOptions> {
  return (await loadConfig(config, options)).hierarchy;
}

/** Makes all parts that the configuration names, and adds mistakes to the problems. */
async function partsOf(
  problems: Problems,
  mapping: Mapping,
  context: FactoryContext,
  { model: withModel = true, memoryDirectory }: LoadOptions,
) {
  const { source, tiers, placement, model } = mapping;
  const tierList: readonly unknown[] = Array.isArray(tiers) ? tiers : [];
  const needsPlacement = placement !== undefined || tierList.length > 0;
  // If `tiers` is no list, the number of tiers is unknown.
  const hasModel = withModel && typeof model === 'string' && (tiers === undefined || Array.isArray(tiers));
  const made = await levelOf(problems, ['source'], source, sourceSchema, { ...context, role: 'source' });
  return {
    source: made,
    writes: made && (await writesOf(problems, mapping, context)),
    tiers: await tiersOf(problems, tierList, context, memoryDirectory),
    placement: needsPlacement ? await placementOf(problems, placement ?? {}, context) : undefined,
    model: hasModel ? await modelOf(problems, model, { ...context, tiers: tierList.length }) : undefined,
  };
}

function isFile(config: string | URL | HierarchyConfig): config is string | URL {
  return typeof config === 'string' || config instanceof URL;
}

function documentOf(value: HierarchyConfig, baseDirectory: string): ConfigDocument {
  return {
    name: undefined,
    value,
    baseDirectory: path.resolve(baseDirectory),
    positionOf: () => undefined,
  };
}

/** Adds the file's name to an error of the hierarchy itself. */
function inFile(name: string | undefined, problems: Problems, error: unknown): unknown {
  if (!isTieredError(error, 'TIERED_CONFIG_INVALID')) return error;
  const message = problems.withoutValue(error.message);
  return new TieredError(error.code, name === undefined ? message : located(name, undefined, message), {
    cause: message === error.message ? error.cause : undefined,
  });
}
