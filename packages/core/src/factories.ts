import type { StorageDriver } from './driver/driver.js';
import type { Placement } from './placement/placement.js';
import type { FetchModel } from './read/place-choice.js';
import type { Clock } from './support/clock.js';

/*
 * Packages of drivers, `@tiered/tiering` and `@tiered/simulator` export these factories so that a
 * configuration file can name them. `@tiered/config` reads such files. The contract is in this package, so a
 * driver needs no parser to be made from a file.
 */

/** The context of a factory, besides the options of the file. */
export interface FactoryContext {
  /** Absolute. Relative paths in the file are resolved against it. */
  readonly baseDirectory: string;
  readonly clock: Clock;
}

/** The context of a driver factory, besides the options of the file. */
export interface DriverContext extends FactoryContext {
  /** A source is never written; a tier always is. */
  readonly role: 'source' | 'tier';
}

/**
 * The export `driverFactory` of a driver package, so that a configuration file can name the package. The
 * options are the keys of the level, without the keys that every level may have, and with `${NAME}` replaced.
 */
export interface DriverFactory<Options = unknown> {
  readonly schema: OptionsSchema<Options>;
  /** Makes the driver, closed. Errors are shown with the level's place in the file. */
  create(options: Options, context: DriverContext): StorageDriver;
  /**
   * Returns the total capacity of the storage in bytes, used or not, so that a quota can be a share of it
   * (`quota: 50%`). Opens and creates nothing, and also answers before the tier exists. Errors are shown with
   * the quota. Omitted for storage of unknown size, such as an object store; a share is refused there.
   */
  capacityBytes?(options: Options, context: DriverContext): Promise<number>;
}

/** The export `placementFactory` of `@tiered/tiering`. */
export interface PlacementFactory<Options = unknown> {
  readonly schema: OptionsSchema<Options>;
  /** Makes the placement. Errors are shown with the place of `placement` in the file. */
  create(options: Options, context: FactoryContext): Placement;
}

/** The context of a model factory, besides the profile. */
export interface ModelContext extends FactoryContext {
  /** Number of tiers of the hierarchy that the model is for. */
  readonly tiers: number;
}

/** The export `modelFactory` of `@tiered/simulator`. */
export interface ModelFactory {
  /**
   * Makes the model of a hierarchy from the measurements of a calibration.
   * @param profile The content of the profile's JSON file, unchecked.
   * @throws TieredError `TIERED_CONFIG_INVALID` for anything but a profile, and for a profile with another
   * number of tiers. The message is shown with the field that names the file.
   */
  create(profile: unknown, context: ModelContext): FetchModel;
}

/**
 * Checks options: the part of Standard Schema (standardschema.dev) that is needed. Schemas of zod, valibot
 * and arktype already conform. A hand-written schema is an object with one function.
 */
export interface OptionsSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    /** The maker of the schema, such as `'zod'`. */
    readonly vendor: string;
    /** Returns the options with their defaults, or every issue with them. */
    readonly validate: (value: unknown) => CheckedOptions<Output> | Promise<CheckedOptions<Output>>;
    /**
     * The schema as a JSON Schema, if there is one. It helps to suggest the key that an unknown key stands
     * for.
     */
    readonly jsonSchema?: {
      /** Returns the schema of the input, before defaults. */
      readonly input: (options: { readonly target: 'draft-07' }) => object;
    };
  };
}

/** Valid options, or every issue with them. */
export type CheckedOptions<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly OptionIssue[] };

/** One issue with the options. */
export interface OptionIssue {
  /** The expected value; shown after the name of the field. */
  readonly message: string;
  /** The field within the options. Default: the options as a whole. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}
