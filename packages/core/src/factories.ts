import type { StorageDriver } from './driver/driver.js';
import type { Placement } from './placement/placement.js';
import type { FetchModel } from './read/place-choice.js';
import type { Clock } from './support/clock.js';

/*
 * What packages of drivers, `@tiered/tiering` and `@tiered/simulator` export so that they can be made from a
 * configuration file. `@tiered/config` reads such files; the contract stands here, so that a driver needs no
 * parser to be made from one.
 */

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
 * What a driver package exports as `driverFactory`, so that a configuration file can name the package. The
 * options are the keys of the level, without those that every level may have, and with `${NAME}` replaced.
 */
export interface DriverFactory<Options = unknown> {
  readonly schema: OptionsSchema<Options>;
  /** Makes the driver, closed. Its errors are shown beside the level's place in the file. */
  create(options: Options, context: DriverContext): StorageDriver;
  /**
   * Returns the bytes that the storage has in all, used or not, so that a quota can be a share of it (`quota:
   * 50%`). It opens and makes nothing, and answers before the tier is there too. Its errors are shown beside
   * the quota. Left out for storage that knows no size, such as an object store: there a share is refused.
   */
  capacityBytes?(options: Options, context: DriverContext): Promise<number>;
}

/** What `@tiered/tiering` exports as `placementFactory`. */
export interface PlacementFactory<Options = unknown> {
  readonly schema: OptionsSchema<Options>;
  /** Makes the placement. Its errors are shown beside the place of `placement` in the file. */
  create(options: Options, context: FactoryContext): Placement;
}

/** What a model's factory is told beside the profile. */
export interface ModelContext extends FactoryContext {
  /** Tiers of the hierarchy that the model is for. */
  readonly tiers: number;
}

/** What `@tiered/simulator` exports as `modelFactory`. */
export interface ModelFactory {
  /**
   * Makes the model of a hierarchy from what a calibration measured.
   * @param profile What the JSON file of the profile holds, unchecked.
   * @throws TieredError `TIERED_CONFIG_INVALID` for anything but a profile, and for a profile of another
   * number of tiers. The message is shown beside the field that names the file.
   */
  create(profile: unknown, context: ModelContext): FetchModel;
}

/**
 * Checks options: the part of Standard Schema (standardschema.dev) that is needed. Schemas of zod, valibot
 * and arktype are this already; by hand it is an object with one function.
 */
export interface OptionsSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    /** Who made the schema, such as `'zod'`. */
    readonly vendor: string;
    /** Returns the options with their defaults, or everything that is wrong with them. */
    readonly validate: (value: unknown) => CheckedOptions<Output> | Promise<CheckedOptions<Output>>;
    /** The schema as a JSON Schema, if there is one: it tells which key was meant by an unknown one. */
    readonly jsonSchema?: {
      /** Returns the schema of what is put in, before defaults. */
      readonly input: (options: { readonly target: 'draft-07' }) => object;
    };
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
