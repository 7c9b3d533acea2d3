import { parseBytes, TieredError } from '@tiered/core';
import type { SourceConfig, TierConfig } from '@tiered/config';
import { parseShare } from '@tiered/config/fields';
import { stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Makes the configuration of a source from text: `s3://bucket/prefix/`, `gs://bucket/prefix/`,
 * `az://container/prefix/`, or the path of a directory. A prefix ends with `/`, which is added if it is
 * missing.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a URL of another kind, or of no bucket.
 */
export function sourceOf(text: string): SourceConfig {
  return levelOf('source', text);
}

/**
 * Makes the configuration of a source from text, as `sourceOf`. The path of a file is that one file.
 */
export async function sourceAt(text: string): Promise<SourceConfig> {
  const config = sourceOf(text);
  if (config.driver !== 'fs') return config;
  const found = await stat(text).catch(() => undefined);
  if (found?.isFile() !== true) return config;
  return { driver: 'fs', root: path.dirname(text), object: path.basename(text) };
}

/** The one object that the URL of a prefix may mean, as far as it does not end with `/`. */
export function objectAt(text: string): SourceConfig | undefined {
  const { prefix, ...bucket } = sourceOf(text);
  if (prefix === undefined || text.endsWith('/')) return undefined;
  return { ...bucket, object: prefix.slice(0, -1) };
}

/**
 * Makes the configuration of a tier from text: where it is, a colon, and its quota, such as `ram:8GiB`,
 * `/nvme/cache:200GiB` or `/nvme/cache:80%`. Where it is can be `ram`, or what a source can be.
 * @throws TieredError `TIERED_CONFIG_INVALID` for text without a quota, and as `sourceOf`.
 */
export function tierOf(text: string): TierConfig {
  const colon = text.lastIndexOf(':');
  const where = text.slice(0, colon);
  const size = text.slice(colon + 1);
  // The colon of a URL, or of a drive, is followed by a slash.
  if (colon < 1 || size === '' || /[/\\]/.test(size)) throw noTier(text);
  const quota = quotaOf(text, size);
  return where === 'ram' ? { driver: 'memory', quota } : { ...levelOf('tiers', where), quota };
}

function quotaOf(text: string, size: string): string {
  try {
    if (parseShare(size) === undefined) parseBytes(size);
    return size;
  } catch (cause) {
    throw noTier(text, cause);
  }
}

function noTier(text: string, cause?: unknown): TieredError {
  return invalid(
    'tiers',
    `a place and its quota, such as "ram:8GiB", "/nvme/cache:200GiB" or "/nvme/cache:80%", got ${JSON.stringify(text)}`,
    cause,
  );
}

/** Buckets by the beginning of their URL. */
const BUCKETS: ReadonlyMap<string, (bucket: string) => SourceConfig> = new Map<
  string,
  (bucket: string) => SourceConfig
>([
  ['s3', (bucket) => ({ driver: 's3', bucket })],
  ['gs', (bucket) => ({ driver: 'opendal', service: 'gcs', options: { bucket } })],
  ['az', (container) => ({ driver: 'opendal', service: 'azblob', options: { container } })],
]);

function levelOf(field: string, text: string): SourceConfig {
  const [, scheme, rest = ''] = /^([a-z][a-z\d+.-]+):\/\/(.*)$/is.exec(text) ?? [];
  if (scheme === undefined) {
    if (text === '') throw invalid(field, 'a path or a URL such as "s3://bucket/prefix/", got nothing');
    return { driver: 'fs', root: text };
  }
  const bucketOf = BUCKETS.get(scheme.toLowerCase());
  const slash = rest.indexOf('/');
  const bucket = slash === -1 ? rest : rest.slice(0, slash);
  if (bucketOf === undefined || bucket === '') {
    const kinds = [...BUCKETS.keys()].map((kind) => `"${kind}://bucket/prefix/"`).join(', ');
    // Without the text: a URL may hold a password.
    throw invalid(field, `a path, or one of ${kinds}; other storage goes into a mapping with driver`);
  }
  const prefix = rest.slice(bucket.length + 1);
  if (prefix === '') return bucketOf(bucket);
  return { ...bucketOf(bucket), prefix: prefix.endsWith('/') ? prefix : `${prefix}/` };
}

function invalid(field: string, expected: string, cause?: unknown): TieredError {
  return new TieredError('TIERED_CONFIG_INVALID', `${field}: expected ${expected}`, { cause });
}
