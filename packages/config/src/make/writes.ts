import type { StorageDriver } from '@tiered/core';
import type { FactoryContext } from '@tiered/core/driver';
import type { Problems } from '../check/problems.js';
import { sourceSchema } from '../check/schema.js';
import { isMapping, partOf, type Mapping } from '../file/document.js';
import { levelOf } from './level.js';

/** How what clients of a gateway write gets to the source, see `GatewayWrites` of `@tiered/gateway`. */
export interface SourceWrites {
  /** Made, but not opened. */
  readonly driver: StorageDriver;
  /** Stands before the keys of the hierarchy, in the keys of the driver. */
  readonly prefix: string;
  readonly prefixes: readonly string[];
}

/**
 * Makes a driver that writes to the source, if anything may be written: one of its own, since that of the
 * source never writes. It has none of the decorators, so that it can pass uploads in parts on.
 * @param mapping The configuration, whose source has no problems.
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
  // A directory would be made a tier, and memory is that of another driver.
  const isBucket = !driver.capabilities.index && driver.location?.startsWith('file:') === false;
  if (isBucket && driver.capabilities.write && object === undefined)
    return { driver, prefix, prefixes: prefixes as string[] };
  problems.add(['gateway', 'writes'], 'needs a source that is a bucket, such as driver: s3, without object');
  return undefined;
}
