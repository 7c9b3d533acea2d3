import path from 'node:path';
import { systemClock, type Clock } from '@tiered/core';
import { assertCounts, configError } from '@tiered/core/internal';
import { problemOf } from './keys.js';
import type { OpenDalOperator } from './opendal.js';
import { traitsOf } from './services.js';

/** Options of a service under OpenDAL's names for them, in snake_case, or what gives them; numbers and flags as text. */
export type OpenDalConfig =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

interface CommonOptions {
  /**
   * Only objects whose keys begin with this, without it. It is put before keys as it is: end it with `/` if it is a
   * directory. Default: all objects.
   */
  readonly prefix?: string;
  /** Whether the driver may write and delete, as a tier does. Default: false, because the source is never written. */
  readonly writable?: boolean;
  /** Name in messages and metrics; no secrets. Default: the service and where it is. */
  readonly name?: string;
  /** Bounds how long `close` waits. Default: the clock of the machine. */
  readonly clock?: Clock;
}

/** A service, for which the driver makes the operator. */
export interface OpenDalServiceOptions extends CommonOptions {
  /** OpenDAL's name of the service: `gcs`, `azblob`, `webhdfs`, `fs`, `memory` and so on. */
  readonly service: string;
  /**
   * What the service needs to know, as OpenDAL documents it, such as `{ bucket, credential }`. A function is called at every
   * `open`, so that secrets can come from elsewhere and change; the driver then has no location. Default: none.
   */
  readonly options?: OpenDalConfig;
  /**
   * HTTP requests under way at the same time, at least 1; the others wait. Default: 64, which keeps an object store busy
   * and stays well below what services begin to refuse. Without effect on `fs` and `memory`.
   */
  readonly maxInFlight?: number;
  readonly operator?: undefined;
}

/** An operator that the user made, with layers of their own: the driver adds no retries, timeouts and limits. */
export interface OpenDalOperatorOptions extends CommonOptions {
  /** An `Operator` of the package `opendal`. Stays open after `close`. */
  readonly operator: OpenDalOperator;
  /** The service that the operator is of. Default: unknown, and treated as a remote store; so say `fs` and `memory`. */
  readonly service?: string;
  readonly options?: undefined;
  readonly maxInFlight?: undefined;
}

/** Options of `OpenDalDriver`: a service, or an operator. */
export type OpenDalDriverOptions = OpenDalServiceOptions | OpenDalOperatorOptions;

/** The options with their defaults, checked. */
export interface CheckedDriverOptions {
  readonly service: string | undefined;
  readonly config: OpenDalConfig;
  readonly operator: OpenDalOperator | undefined;
  readonly maxInFlight: number;
  readonly prefix: string;
  readonly writable: boolean;
  readonly name: string;
  readonly location: string | undefined;
  readonly clock: Clock;
}

/** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
export function checkedOptions(options: OpenDalDriverOptions): CheckedDriverOptions {
  const { operator, options: config = {}, maxInFlight = 64, prefix = '', writable = false } = options;
  const service = options.service?.toLowerCase();
  if (operator === undefined && (service === undefined || service === ''))
    throw configError('service', 'the name of a service of OpenDAL, or an operator instead', options.service);
  for (const field of ['options', 'maxInFlight'] as const) {
    if (operator !== undefined && options[field] !== undefined)
      throw configError(field, 'nothing beside operator', {});
  }
  assertCounts({ maxInFlight });
  // Whatever the key, the path must be one that OpenDAL keeps.
  if (problemOf(`${prefix}x`, traitsOf(service).files) !== undefined)
    throw configError('prefix', 'the beginning of a path, such as "train/"', prefix);
  const location = operator === undefined ? locationOf(service ?? '', config, prefix) : undefined;
  const name = options.name ?? `opendal:${location ?? service ?? 'operator'}`;
  const { clock = systemClock } = options;
  return { service, config, operator, maxInFlight, prefix, writable, name, location, clock };
}

/**
 * Where a service keeps objects, as far as its options tell: the server, and what it calls the part of it that is meant.
 * Undefined for memory, and where options come from a function.
 */
function locationOf(service: string, config: OpenDalConfig, prefix: string): string | undefined {
  if (typeof config === 'function' || traitsOf(service).inMemory) return undefined;
  const root = config['root'] ?? '';
  if (service === 'fs') {
    const directory = path.resolve(root).replaceAll(path.sep, '/');
    return `file://${path.posix.join('/', directory, '/')}${prefix}`;
  }
  const container = config['bucket'] ?? config['container'] ?? config['filesystem'] ?? config['share_name'];
  const parts = [hostOf(config['endpoint']), container].filter((part) => part !== undefined);
  if (parts.length === 0) return undefined;
  return `${service.replaceAll('_', '-')}://${path.posix.join(...parts, root, '/')}${prefix}`;
}

/** Host and port alone: an endpoint may have credentials before them, and parameters behind. */
function hostOf(endpoint: string | undefined): string | undefined {
  if (endpoint === undefined || !URL.canParse(endpoint)) return undefined;
  return new URL(endpoint).host || undefined;
}
