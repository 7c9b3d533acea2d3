import type { ObjectStat } from '@tiered/core';
import type { OpenDalMetadata } from './opendal.js';

const ETAG = 'etag ';

/**
 * An object as OpenDAL describes it. Its version is the ETag. Without one it is the time of the last change
 * and the size, which miss a replacement by as many bytes within the resolution of that time. Without both,
 * as in memory, it is the size alone.
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
export function ifMatchOf(version: string | undefined): string | undefined {
  if (version?.startsWith(ETAG) !== true) return undefined;
  const etag = version.slice(ETAG.length);
  return etag.startsWith('W/') ? undefined : etag;
}
