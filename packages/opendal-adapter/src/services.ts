import { TieredError } from '@tiered/core';
import { closest, distance } from 'fastest-levenshtein';

/**
 * Facts about a service that are needed before it can be asked, or that it does not report. Services not
 * listed here are remote stores.
 */

/** Services that keep objects in the memory of this process. The objects are gone with their operator. */
const IN_MEMORY = new Set(['memory', 'dashmap', 'moka', 'mini_moka']);

/** Services of OpenDAL 0.49.2 that cannot enumerate. */
const WITHOUT_LISTING = new Set([
  'cacache',
  'ghac',
  'gridfs',
  'http',
  'memcached',
  'mongodb',
  'mysql',
  'persy',
  'postgresql',
  'redb',
  'redis',
  'sqlite',
  'vercel_artifacts',
]);

/** Services in the binary of OpenDAL 0.49.2 for Node. */
const SERVICES = [
  ...IN_MEMORY,
  ...WITHOUT_LISTING,
  ...['aliyun_drive', 'alluxio', 'azblob', 'azdls', 'azfile', 'b2', 'cos', 'dropbox', 'fs', 'gcs', 'gdrive'],
  ...['huggingface', 'ipfs', 'ipmfs', 'koofr', 'obs', 'onedrive', 'oss', 's3', 'seafile', 'sled', 'swift'],
  ...['upyun', 'webdav', 'webhdfs', 'yandex_disk'],
];

/** Services of OpenDAL that are not in that binary. */
const NOT_BUILT = [
  ...[
    'atomicserver',
    'cloudflare_kv',
    'compfs',
    'd1',
    'dbfs',
    'etcd',
    'foundationdb',
    'ftp',
    'github',
    'hdfs',
  ],
  ...['hdfs_native', 'icloud', 'lakefs', 'libsql', 'monoiofs', 'nebula_graph', 'pcloud', 'rocksdb', 'sftp'],
  ...['supabase', 'surrealdb', 'tikv', 'vercel_blob'],
];

/** The error of a service that OpenDAL does not have. */
export function unknownService(driver: string, service: string, cause: unknown): TieredError {
  const meant = closest(service.toLowerCase(), [...SERVICES, ...NOT_BUILT]);
  // Two transposed letters are a distance of 2.
  const isNear = distance(service.toLowerCase(), meant) <= Math.max(2, 0.45 * service.length);
  const isThere = isNear && SERVICES.includes(meant);
  const advice = isThere ? `did you mean ${meant}?` : `it has ${[...SERVICES].sort().join(', ')}`;
  const message = `service: OpenDAL, as it is built for Node, has no service ${JSON.stringify(service)}; ${advice}`;
  return new TieredError('TIERED_UNSUPPORTED', message, { cause, driver, operation: 'open' });
}

/** Differences between services that matter to the driver. */
export interface ServiceTraits {
  /** Files below a directory: names conflict with directories, and backslashes do not survive a listing. */
  readonly files: boolean;
  /**
   * Reads past the end must be cut before they are made, because OpenDAL panics and prints that to stderr.
   */
  readonly inMemory: boolean;
  /** A `stat` costs no request. */
  readonly local: boolean;
  readonly lists: boolean;
}

/** The traits of a service. An unknown service has those of a remote store. */
export function traitsOf(service: string | undefined): ServiceTraits {
  const files = service === 'fs';
  const inMemory = service !== undefined && IN_MEMORY.has(service);
  return {
    files,
    inMemory,
    local: files || inMemory,
    lists: service === undefined || !WITHOUT_LISTING.has(service),
  };
}
