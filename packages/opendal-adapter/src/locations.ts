import path from 'node:path';
import { TieredError } from '@tiered/core';
import { traitsOf } from './services.js';

/**
 * An option that is part of the location, and its value if it is not given. Without a default the option is
 * required.
 */
type Part = readonly [option: string, fallback?: string];

/**
 * The options that tell one location from another, for each service that has such options, in the order in
 * which they nest. Other services keep the objects of an account, which only secrets name (drives), or get
 * the location from a connection string, which contains secrets (databases).
 */
const PLACES: Readonly<Record<string, readonly Part[]>> = {
  alluxio: [['endpoint']],
  azblob: [['endpoint'], ['container']],
  azdls: [['endpoint'], ['filesystem']],
  azfile: [['endpoint'], ['share_name']],
  b2: [['bucket']],
  cloudflare_kv: [['account_id'], ['namespace_id']],
  cos: [['endpoint'], ['bucket']],
  dbfs: [['endpoint']],
  gcs: [['endpoint', 'storage.googleapis.com'], ['bucket']],
  github: [['owner'], ['repo']],
  hdfs: [['name_node']],
  hdfs_native: [['name_node']],
  http: [['endpoint']],
  huggingface: [['endpoint', 'huggingface.co'], ['repo_type', 'model'], ['repo_id'], ['revision', 'main']],
  ipfs: [['endpoint']],
  ipmfs: [['endpoint', 'localhost:5001']],
  lakefs: [['endpoint'], ['repository'], ['branch', 'main']],
  memcached: [['endpoint']],
  obs: [['endpoint'], ['bucket']],
  oss: [['endpoint'], ['bucket']],
  redis: [
    ['endpoint', '127.0.0.1:6379'],
    ['db', '0'],
  ],
  s3: [['endpoint', 's3.amazonaws.com'], ['bucket']],
  seafile: [['endpoint'], ['username'], ['repo_name']],
  supabase: [['endpoint'], ['bucket']],
  swift: [['endpoint'], ['container']],
  upyun: [['bucket']],
  webdav: [['endpoint']],
  webhdfs: [['endpoint', '127.0.0.1:9870']],
};

/** Options that are addresses. `default` refers to another file of this machine, so it is not an address. */
const ADDRESSES = new Set(['endpoint', 'name_node']);

/**
 * Returns the location of a service's objects, according to its options. Different locations give different
 * texts, without secrets. Undefined for memory, and if the options do not determine the location.
 */
export function locationOf(
  service: string,
  options: Readonly<Record<string, string>>,
  prefix: string,
): string | undefined {
  const name = canonical(service);
  if (name === 'fs') {
    const directory = path.resolve(options['root'] ?? '').replaceAll(path.sep, '/');
    return `file://${path.posix.join('/', directory, '/')}${prefix}`;
  }
  const place = PLACES[name]?.map(([option, fallback]) => partOf(option, options[option] || fallback));
  if (place === undefined || place.includes(undefined)) return undefined;
  // As OpenDAL interprets it: without empty segments.
  const root = (options['root'] ?? '').split('/').filter(Boolean);
  return `${name.replaceAll('_', '-')}://${[...place, ...root].map((part) => `${part}/`).join('')}${prefix}`;
}

/**
 * Asserts that the location of the objects is known. Data kept from one location must not be taken for that
 * of another, and a tier must not be inside the source.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function assertLocated(service: string | undefined, location: string | undefined): void {
  if (location !== undefined || traitsOf(service).inMemory) return;
  throw new TieredError(
    'TIERED_CONFIG_INVALID',
    `location: the options of ${service ?? 'an operator'}, as they are given, do not tell where the objects are; say it as ` +
      'text that no other place has, such as "gdrive://team/datasets/".',
  );
}

/** OpenDAL accepts names in more than one form. */
function canonical(service: string): string {
  const name = service.replaceAll('-', '_');
  return name === 'hf' ? 'huggingface' : name;
}

/** A part of a location. Undefined if it says nothing. */
function partOf(option: string, value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined;
  // A slash in it must not look like the next part.
  return ADDRESSES.has(option) ? addressOf(value) : value.replace(/[%/]/g, encodeURIComponent);
}

/** Host, port and path only: an address may contain credentials before them, and parameters after them. */
function addressOf(text: string): string | undefined {
  const url = text.includes('://') ? text : `http://${text}`;
  if (text === 'default' || !URL.canParse(url)) return undefined;
  const { host, pathname } = new URL(url);
  const segments = [host, ...pathname.split('/')].filter(Boolean);
  return segments.length === 0 ? undefined : segments.join('/');
}
