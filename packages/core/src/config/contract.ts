import type { ByteSize } from '../support/bytes.js';
import type { Clock } from '../support/clock.js';
import type { HedgeDriverOptions } from '../decorators/hedge-driver.js';
import type { LimitDriverOptions } from '../decorators/limit-driver.js';
import type { RetryDriverOptions } from '../decorators/retry-driver.js';
import type { ThrottleDriverOptions } from '../decorators/throttle-driver.js';
import type { StorageDriver } from '../driver/driver.js';
import type { Placement, VersionPolicy } from '../placement.js';
import type { TierLayout } from '../tier/tier.js';

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

/** Options of `Hierarchy.fromConfig`: what a file cannot hold. */
export interface FromConfigOptions {
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
  /** What relative paths of a configuration given as an object are relative to. Default: the working directory. */
  readonly baseDirectory?: string | undefined;
  /** As in `HierarchyOptions`. Default: `process.emitWarning`. */
  readonly warn?: ((line: string) => void) | undefined;
  /** Where `${NAME}` is looked up. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What a factory is told beside the options of the file. */
export interface FactoryContext {
  /** Absolute; relative paths of the file are relative to it. */
  readonly baseDirectory: string;
  readonly clock: Clock;
}

/** What a driver's factory is told beside the options of the file. */
export interface DriverContext extends FactoryContext {
  /** A source is never written; a tier always is. */
  readonly role: 'source' | 'tier';
}

/**
 * What a driver package exports as `driverFactory`, so that a configuration file can name the package. The options
 * are the keys of the level that are not `LevelConfig`'s own, with `${NAME}` replaced.
 */
export interface DriverFactory<Options = unknown> {
  readonly schema: OptionsSchema<Options>;
  /** Makes the driver, closed. What it throws is shown beside the level's place in the file. */
  create(options: Options, context: DriverContext): StorageDriver;
}

/** What `@tiered/tiering` exports as `placementFactory`. */
export interface PlacementFactory<Options = unknown> {
  readonly schema: OptionsSchema<Options>;
  create(options: Options, context: FactoryContext): Placement;
}

/**
 * Checks options: the part of Standard Schema (standardschema.dev) that is needed. Schemas of zod, valibot and arktype
 * are this already; by hand it is an object with one function.
 */
export interface OptionsSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    /** Who made the schema, such as `'zod'`. */
    readonly vendor: string;
    readonly validate: (value: unknown) => CheckedOptions<Output> | Promise<CheckedOptions<Output>>;
    /** The schema as a JSON Schema, if there is one: it tells which key was meant by an unknown one. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: 'draft-07' }) => object };
  };
}

/** Options that are right, or everything that is wrong with them. */
export type CheckedOptions<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly OptionIssue[] };

/** One thing that is wrong. */
export interface OptionIssue {
  /** What was expected; shown after the name of the field. */
  readonly message: string;
  /** The field within the options. Default: the options as a whole. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}
