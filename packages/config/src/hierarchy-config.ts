import type { ByteSize, Clock, TierLayout, VersionPolicy } from '@tiered/core';
import type {
  HedgeDriverOptions,
  LimitDriverOptions,
  RetryDriverOptions,
  ThrottleDriverOptions,
} from '@tiered/core/decorators';
import type { ClusterConfig } from './cluster-config.js';
import type { ControlConfig } from './control-config.js';

/** A hierarchy as a file or an object describes it. `docs/configuration.md` explains each field. */
export interface HierarchyConfig {
  /** The JSON Schema, for editors. Ignored. */
  readonly $schema?: string;
  readonly source: SourceConfig;
  /** Fastest first. */
  readonly tiers?: readonly TierConfig[] | undefined;
  readonly placement?: PlacementConfig | undefined;
  /** The path of a profile that `tiered calibrate -o` wrote. */
  readonly model?: string | undefined;
  /**
   * Not part of the hierarchy: `openDataset` of the package `tiered` uses it, and `loadConfig` returns it.
   */
  readonly prefetcher?: PrefetcherConfig | undefined;
  /** Not part of the hierarchy: `tiered serve` uses it, and `loadConfig` returns it. */
  readonly gateway?: GatewayConfig | undefined;
  /** Not part of the hierarchy: `openDataset` and commands that serve use it, and `loadConfig` returns it. */
  readonly cluster?: ClusterConfig | undefined;
  /** Not part of the hierarchy, like `cluster`. */
  readonly control?: ControlConfig | undefined;
  /** The path of a directory. Not part of the hierarchy, like `prefetcher`. */
  readonly monitor?: string | undefined;
  readonly scan?: boolean | undefined;
  readonly manifest?: string | undefined;
  readonly versions?: VersionPolicy | undefined;
}

/** A level: its driver, its decorators, and the driver's own options beside them. */
export interface LevelConfig {
  /** `memory`, `fs`, `s3`, `opendal`, `redis`, the name of a package, or a path relative to the file. */
  readonly driver: string;
  readonly prefix?: string | undefined;
  readonly retry?: Omit<RetryDriverOptions, 'clock'> | undefined;
  readonly limit?: LimitDriverOptions | undefined;
  readonly throttle?: Omit<ThrottleDriverOptions, 'clock'> | undefined;
  readonly [option: string]: unknown;
}

/** The level that has the whole dataset. */
export interface SourceConfig extends LevelConfig {
  /** The key of the single object that is the whole dataset. */
  readonly object?: string | undefined;
  readonly hedge?: Omit<HedgeDriverOptions, 'clock'> | undefined;
}

/** A level above the source. */
export interface TierConfig extends LevelConfig {
  /**
   * Bytes, such as `200GiB`, or a share of the storage's total capacity, such as `50%`: of the file system of
   * a directory, or of the memory that this process may use.
   */
  readonly quota: ByteSize;
  readonly readDeadlineMs?: number | undefined;
  readonly layout?: TierLayout | undefined;
}

/** Options of `PlacementHandler` in `@tiered/tiering`. A policy is given by its name. */
export type PlacementConfig = Readonly<Record<string, unknown>>;

/** Options of a `Prefetcher` in `@tiered/prefetch` that a file can hold. */
export interface PrefetcherConfig {
  /** Bytes. */
  readonly memory?: ByteSize | undefined;
  readonly producers?: number | undefined;
  /** For `adaptiveAutotuner`. Not together with `producers`. */
  readonly initialProducers?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly onError?: 'throw' | 'skip' | undefined;
  readonly maxSkipped?: number | undefined;
}

/** Features of a gateway for S3 clients beyond reading. */
export interface GatewayConfig {
  /** Globs of keys; see `GatewayBucket` of `@tiered/gateway`. */
  readonly changing?: readonly string[] | undefined;
  /** Prefixes of keys that clients may write. */
  readonly writes?: readonly string[] | undefined;
}

/** Options that a file cannot hold. */
export interface LoadOptions {
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
  /**
   * The directory that relative paths start from if the configuration is given as an object. Default: the
   * working directory.
   */
  readonly baseDirectory?: string | undefined;
  /** As in `HierarchyOptions`. Default: `process.emitWarning`. */
  readonly warn?: ((line: string) => void) | undefined;
  /**
   * Whether to load the profile that `model` names. `false` for programs that are about to make it. Default:
   * true.
   */
  readonly model?: boolean | undefined;
  /**
   * The absolute path of a directory where tiers of `driver: memory` keep their copies as files: those of the
   * first tier in `0`, and so on. For programs that open copies themselves. A quota given as a share is then
   * a share of its file system. Default: none; such tiers are in the memory of the process.
   */
  readonly memoryDirectory?: string | undefined;
  /** The environment for `${NAME}`. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}
