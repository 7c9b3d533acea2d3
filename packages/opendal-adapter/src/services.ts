/** What has to be known of a service before it can be asked, or what it does not tell. Unlisted ones are remote stores. */

/** Objects in the memory of this process, gone with the operator that holds them. */
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

/** What the driver treats differently from service to service. */
export interface ServiceTraits {
  /** Files below a directory: names conflict with directories, and backslashes do not survive a listing. */
  readonly files: boolean;
  /** Reads past the end must be cut before they are made: OpenDAL panics, and says so on stderr. */
  readonly inMemory: boolean;
  /** A `stat` is no request to anybody. */
  readonly local: boolean;
  readonly lists: boolean;
}

/** The traits of a service; of an unknown one those of a remote store. */
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
