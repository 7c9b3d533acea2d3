import type { ByteSize, Clock, TierLayout, VersionPolicy } from '@tiered/core';
import type {
  HedgeDriverOptions,
  LimitDriverOptions,
  RetryDriverOptions,
  ThrottleDriverOptions,
} from '@tiered/core/decorators';

/** A hierarchy as a file or an object describes it; `docs/configuration.md` tells what each field means. */
export interface HierarchyConfig {
  /** The JSON Schema, for editors; not read. */
  readonly $schema?: string;
  readonly source: SourceConfig;
  /** Fastest first. */
  readonly tiers?: readonly TierConfig[] | undefined;
  readonly placement?: PlacementConfig | undefined;
  readonly scan?: boolean | undefined;
  readonly manifest?: string | undefined;
  readonly versions?: VersionPolicy | undefined;
}

/** A level: its driver, what is put around it, and the driver's own options beside them. */
export interface LevelConfig {
  /** `memory`, `fs`, `s3`, `opendal`, the name of a package, or a path relative to the file. */
  readonly driver: string;
  readonly prefix?: string | undefined;
  readonly retry?: Omit<RetryDriverOptions, 'clock'> | undefined;
  readonly limit?: LimitDriverOptions | undefined;
  readonly throttle?: Omit<ThrottleDriverOptions, 'clock'> | undefined;
  readonly [option: string]: unknown;
}

/** The level that has all. */
export interface SourceConfig extends LevelConfig {
  readonly hedge?: Omit<HedgeDriverOptions, 'clock'> | undefined;
}

/** A level above the source. */
export interface TierConfig extends LevelConfig {
  readonly quota: ByteSize;
  readonly readDeadlineMs?: number | undefined;
  readonly layout?: TierLayout | undefined;
}

/** Options of `PlacementHandler` in `@tiered/tiering`, a policy by its name. */
export type PlacementConfig = Readonly<Record<string, unknown>>;

/** What a file cannot hold. */
export interface LoadOptions {
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
  /**
   * What relative paths of a configuration given as an object are relative to. Default: the working
   * directory.
   */
  readonly baseDirectory?: string | undefined;
  /** As in `HierarchyOptions`. Default: `process.emitWarning`. */
  readonly warn?: ((line: string) => void) | undefined;
  /** Where `${NAME}` is looked up. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}
