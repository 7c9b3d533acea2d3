import { systemClock, type Clock } from '@tiered/core';
import { assertCounts, assertNoTilde, configError } from '@tiered/core/internal';
import { problemOf } from './keys.js';
import { locationOf } from './locations.js';
import type { OpenDalOperator } from './opendal.js';
import { traitsOf } from './services.js';

/**
 * Options of a service under OpenDAL's names, in snake_case, with numbers and flags as text; or a function
 * that returns them.
 */
export type OpenDalConfig =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

interface CommonOptions {
  /**
   * Includes only objects whose keys begin with this prefix, and removes it from their keys. It is added to
   * keys unchanged: end it with `/` if it is a directory. Default: all objects.
   */
  readonly prefix?: string | undefined;
  /**
   * Whether the driver may write and delete, as a tier does. Default: false, because the source is never
   * written.
   */
  readonly writable?: boolean | undefined;
  /** The name in messages and metrics, without secrets. Default: the service and its location. */
  readonly name?: string | undefined;
  /**
   * Identifies the location of the objects: different for every location, without secrets, ending with `/`.
   * Copies and manifests are found again by it, and it shows which levels share storage. Default: derived
   * from the options. Required where they do not determine the location: for an operator, for options from a
   * function, and for services that identify a location by its account or a connection string, such as
   * `gdrive` and `mysql`.
   */
  readonly location?: string | undefined;
  /** Limits how long `close` waits. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/** A service. The driver creates the operator for it. */
export interface OpenDalServiceOptions extends CommonOptions {
  /** OpenDAL's name for the service: `gcs`, `azblob`, `webhdfs`, `fs`, `memory` and so on. */
  readonly service: string;
  /**
   * The options of the service as OpenDAL documents them, such as `{ bucket, credential }`. A function is
   * called at every `open`, so that secrets can come from elsewhere and change. In that case `location` is
   * required. Default: none.
   */
  readonly options?: OpenDalConfig | undefined;
  /**
   * Concurrent HTTP requests, at least 1. Others wait. Default: 64, which keeps an object store busy and
   * stays well below the number at which services begin to refuse. Has no effect on `fs` and `memory`.
   */
  readonly concurrency?: number | undefined;
  readonly operator?: undefined;
}

/** An operator made by the user, with its own layers. The driver adds no retries, timeouts or limits. */
export interface OpenDalOperatorOptions extends CommonOptions {
  /** An `Operator` of the package `opendal`. Stays open after `close`. */
  readonly operator: OpenDalOperator;
  /**
   * The service of the operator. Default: unknown, and treated as a remote store, so name `fs` and `memory`.
   */
  readonly service?: string | undefined;
  readonly options?: undefined;
  readonly concurrency?: undefined;
}

/** Options of `OpenDalDriver`: a service, or an operator. */
export type OpenDalDriverOptions = OpenDalServiceOptions | OpenDalOperatorOptions;

/** The options with their defaults, checked. */
export interface CheckedDriverOptions {
  readonly service: string | undefined;
  readonly config: OpenDalConfig;
  readonly operator: OpenDalOperator | undefined;
  readonly concurrency: number;
  readonly prefix: string;
  readonly writable: boolean;
  readonly name: string;
  readonly location: string | undefined;
  readonly clock: Clock;
}

/** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
export function checkedOptions(options: OpenDalDriverOptions): CheckedDriverOptions {
  const { operator, options: config = {}, concurrency = 64, prefix = '', writable = false } = options;
  const service = options.service?.toLowerCase();
  if (operator === undefined && (service === undefined || service === ''))
    throw configError('service', 'the name of a service of OpenDAL, or an operator instead', options.service);
  for (const field of ['options', 'concurrency'] as const) {
    if (operator !== undefined && options[field] !== undefined)
      throw configError(field, 'nothing beside operator', {});
  }
  if (service === 'fs' && typeof config !== 'function') assertNoTilde('options.root', config['root'] ?? '');
  assertCounts({ concurrency });
  // OpenDAL must keep the path unchanged, whatever the key.
  if (problemOf(`${prefix}x`, traitsOf(service).files) !== undefined)
    throw configError('prefix', 'the beginning of a path, such as "train/"', prefix);
  if (options.location !== undefined && !/^[a-z][a-z\d+.-]*:\/\/[^/@]*\/(.*\/)?$/s.test(options.location))
    throw configError('location', 'text such as "gdrive://team/datasets/"', options.location);
  const told = options.location === undefined ? undefined : options.location + prefix;
  const location =
    told ?? (typeof config === 'function' ? undefined : locationOf(service ?? '', config, prefix));
  const name = options.name ?? `opendal:${location ?? service ?? 'operator'}`;
  const { clock = systemClock } = options;
  return { service, config, operator, concurrency, prefix, writable, name, location, clock };
}
