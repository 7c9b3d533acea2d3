import type { StorageDriver } from '@tiered/core';
import type { FactoryContext } from '@tiered/core/driver';
import type { Problems } from '../check/problems.js';
import { sourceSchema } from '../check/schema.js';
import { isMapping, partOf, type Mapping } from '../file/document.js';
import { levelOf } from './level.js';

/** The way writes of gateway clients reach the source; see `GatewayWrites` of `@tiered/gateway`. */
export interface SourceWrites {
  /** Made, but not opened. */
  readonly driver: StorageDriver;
  /** The prefix of the hierarchy's keys in the keys of the driver. */
  readonly prefix: string;
  readonly prefixes: readonly string[];
}

/**
 * Makes a driver that writes to the source, if anything may be written. It is a separate driver, since the
 * source's driver never writes. It has no decorators, so that it can pass on multipart uploads.
 * @param mapping The configuration. Its source must have no problems.
 */
export async function writesOf(
  problems: Problems,
  { source, gateway }: Mapping,
  context: FactoryContext,
): Promise<SourceWrites | undefined> {
  const prefixes: unknown = isMapping(gateway) ? gateway['writes'] : undefined;
  if (!Array.isArray(prefixes) || prefixes.length === 0 || !isMapping(source)) return undefined;
  const { prefix = '', object } = source as { readonly prefix?: string; readonly object?: unknown };
  const isOfDriver = (key: string) => key === 'driver' || !Object.hasOwn(sourceSchema.shape, key);
  const options = partOf(source, isOfDriver);
  const level = await levelOf(problems, ['source'], options, sourceSchema, { ...context, role: 'tier' });
  if (level === undefined) return undefined;
  const { driver } = level;
  // A directory would become a tier, and memory belongs to another driver.
  const isBucket = !driver.capabilities.index && driver.location?.startsWith('file:') === false;
  if (isBucket && driver.capabilities.write && object === undefined)
    return { driver, prefix, prefixes: prefixes as string[] };
  problems.add(['gateway', 'writes'], 'needs a source that is a bucket, such as driver: s3, without object');
  return undefined;
}
