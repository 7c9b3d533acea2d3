import { TieredError, type ObjectStat, type StorageDriver } from '@tiered/core';
import { notFound, versionChanged, type Operation, type ReadOptions } from '@tiered/core/driver';
import { mayBePastEnd } from './errors.js';
import type { OpenDalMetadata, OpenDalOperator } from './opendal.js';
import type { ServiceTraits } from './services.js';

const ETAG = 'etag ';

/**
 * An object as OpenDAL describes it. Its version is the ETag. Without one it is the modification time and the
 * size, which miss a replacement of the same size within the resolution of that time. Without both, as in
 * memory, it is the size alone.
 */
export function describe(key: string, metadata: OpenDalMetadata): ObjectStat {
  const { etag, lastModified, contentLength } = metadata;
  const size = Number(contentLength ?? 0);
  if (etag !== null) return { key, size, version: ETAG + etag };
  return {
    key,
    size,
    version: lastModified === null ? `size ${size}` : `modified ${lastModified} size ${size}`,
  };
}

/** Whether the metadata tell one content from another. Those of many listings do not. */
export function isIdentified({ etag, lastModified }: OpenDalMetadata): boolean {
  return etag !== null || lastModified !== null;
}

/** The ETag of a version, for If-Match. Undefined if it is weak, because servers never match a weak one. */
function ifMatchOf(version: string | undefined): string | undefined {
  if (version?.startsWith(ETAG) !== true) return undefined;
  const etag = version.slice(ETAG.length);
  return etag.startsWith('W/') ? undefined : etag;
}

/** An object to read or describe, and the driver that does so. */
export interface Target {
  readonly driver: StorageDriver;
  readonly operator: OpenDalOperator;
  readonly traits: ServiceTraits;
  readonly operation: Operation;
  readonly key: string;
  readonly path: string;
}

/** Describes an object. A directory is not an object. */
export async function statObject({ driver, operator, operation, key, path }: Target): Promise<ObjectStat> {
  const metadata = await operator.stat(path);
  if (metadata.isDirectory()) throw notFound(driver, operation, key);
  return describe(key, metadata);
}

/**
 * Reads a range, into OpenDAL's memory. A version is requested by If-Match where the service supports it. If
 * a `stat` costs no request, the version is checked after the read: the caller has seen this version before,
 * so the bytes in between belong to it.
 */
export async function readRange(target: Target, options: ReadOptions): Promise<Uint8Array> {
  const { version, signal } = options;
  const bytes = await readToEnd(target, options);
  signal?.throwIfAborted();
  if (version !== undefined && target.traits.local) await sizeOf(target, version);
  return bytes;
}

/**
 * Cuts the range at the end of the object, after OpenDAL has failed because of that: it has no short reads.
 */
async function readToEnd(target: Target, options: ReadOptions): Promise<Uint8Array> {
  const { offset, length, version, signal } = options;
  // OpenDAL would not check whether there is such an object.
  if (length === 0 || target.traits.inMemory)
    return readWithin(target, options, await sizeOf(target, version));
  try {
    return await readExactly(target, options, length);
  } catch (error) {
    if (!mayBePastEnd(error)) throw error;
    signal?.throwIfAborted();
    const size = await sizeOf(target, version);
    if (offset + length <= size) throw truncated(target);
    signal?.throwIfAborted();
    return readWithin(target, options, size);
  }
}

async function readWithin(target: Target, options: ReadOptions, size: number): Promise<Uint8Array> {
  const length = Math.min(options.length, size - options.offset);
  if (length <= 0) return new Uint8Array();
  try {
    return await readExactly(target, options, length);
  } catch (error) {
    throw mayBePastEnd(error) ? truncated(target) : error;
  }
}

function readExactly(target: Target, options: ReadOptions, length: number): Promise<Uint8Array> {
  const { operator, path } = target;
  const ifMatch = operator.capability().readWithIfMatch ? ifMatchOf(options.version) : undefined;
  const range = { offset: BigInt(options.offset), size: BigInt(length) };
  return operator.read(path, ifMatch === undefined ? range : { ...range, ifMatch });
}

async function sizeOf(target: Target, version: string | undefined): Promise<number> {
  const found = await statObject(target);
  if (version !== undefined && version !== found.version)
    throw versionChanged(target.driver, target.operation, target.key);
  return found.size;
}

/**
 * The object should have the bytes that did not arrive: the connection broke, or the object is being
 * replaced.
 */
function truncated({ driver, operation, key }: Target): TieredError {
  return new TieredError(
    'TIERED_IO',
    `${driver.name}: ${operation} of ${JSON.stringify(key)} ended before the range did; try again.`,
    { retryable: true, driver: driver.name, operation, key },
  );
}
