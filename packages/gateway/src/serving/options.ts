import {
  parseBytes,
  systemClock,
  type ByteSize,
  type Clock,
  type Hierarchy,
  type StorageDriver,
} from '@tiered/core';
import { assertCounts, configError } from '@tiered/core/internal';
import type { S3Credentials } from '../protocol/authentication.js';
import type { AccessLogEntry } from './access-log.js';

/** What clients may write, and how it gets to the source. */
export interface GatewayWrites {
  /**
   * Writes to the source of the hierarchy: an `S3Driver` with `writable: true`. Uploads in parts need a
   * driver with `MultipartWrites`. Other drivers take objects of up to 64 MiB, whole. The gateway opens and
   * closes the driver, unless it is already open elsewhere.
   */
  readonly driver: StorageDriver;
  /** Prefix of the hierarchy's keys in the keys of the driver. Default: none. */
  readonly prefix?: string | undefined;
  /**
   * Prefixes of the keys that may be written and deleted, without the `prefix` of the bucket, such as
   * `checkpoints/`. Each ends with `/`.
   */
  readonly prefixes: readonly string[];
  /**
   * Whether other gateways write there too, such as those of other processes at the same port. Then the
   * source is asked about these keys as about those of `changing`, so that the other gateways' writes are
   * seen. Default: false.
   */
  readonly isShared?: boolean | undefined;
}

/** Results of reads from another worker of a cluster, for monitoring. */
export interface PeerFigures {
  readonly rank: number;
  /** Reads that it answered, and their bytes. */
  readonly reads: number;
  readonly bytes: number;
  /** Reads of objects that it does not have, and reads that failed. */
  readonly missed: number;
  readonly failed: number;
  /** False while it is skipped. */
  readonly isAsked: boolean;
}

/** A bucket to serve. */
export interface GatewayBucket {
  /** An open hierarchy. Its owner closes it, after the gateway. */
  readonly hierarchy: Hierarchy;
  /**
   * Prefix of the hierarchy's keys, so that clients find an object under the key that it has in the source's
   * bucket. Ends with `/`. Default: none.
   */
  readonly prefix?: string | undefined;
  /**
   * Globs of keys, without `prefix`, whose objects change: manifests, logs, and pointers to the newest of
   * them. The source is asked before a request for such an object is answered, and before a listing of a
   * directory that may directly contain such objects. Needs a hierarchy with `versions: 'refresh'`. Default:
   * none; changes are seen when the hierarchy lists its source.
   */
  readonly changing?: readonly string[] | undefined;
  /**
   * Whether an object that is on no tier is read from the source for a client. Otherwise it is missing (404)
   * until it is on a tier. For peers, which have the same source. Must be fast, and not throw. Default: it is
   * read.
   */
  readonly fetches?: ((key: string, bytes: number) => boolean) | undefined;
  /** The peers that its hierarchy reads from, for `/metrics`. Must not throw. Default: none. */
  readonly peers?: (() => readonly PeerFigures[]) | undefined;
  /**
   * What clients may write. Needs a hierarchy with `versions: 'refresh'`. Default: nothing, so that writes
   * are refused.
   */
  readonly writes?: GatewayWrites | undefined;
}

/** Limits for clients. Times are in milliseconds. */
export interface GatewayLimits {
  /** Concurrent connections. Further ones are closed at once. Default: 1024. */
  readonly connections: number;
  /**
   * Memory for bytes in flight to clients. Each connection that sends an object may use 256 KiB beyond it,
   * and one that sends a batch 512 KiB. Default: 256 MiB.
   */
  readonly memory: ByteSize;
  /** Concurrent writes, in all buckets. Others wait. Each may use 64 MiB of memory. Default: 8. */
  readonly writes: number;
  /** Bytes of the head of a request. Default: 16 KiB. */
  readonly headerBytes: number;
  /** Items of a batch. Default: 16,384. */
  readonly batchItems: number;
  /** Bytes of the body of a request for a batch. Other requests have none. Default: 2 MiB. */
  readonly batchBytes: number;
  /** Time for the head of a request to arrive. Default: 10,000. */
  readonly headersMs: number;
  /** Time for a whole request to arrive, unless it writes. Default: 60,000. */
  readonly requestMs: number;
  /** Time that a connection without a request stays open. Default: 60,000. */
  readonly idleMs: number;
  /**
   * Time for a client to take 256 KiB of an answer, or to send as much of a write, or what is left of it. A
   * slower client is cut off, after twice this time at the latest. Default: 30,000.
   */
  readonly stallMs: number;
  /** Time that `close` leaves to answers in flight. Default: 10,000. */
  readonly closeMs: number;
}

/** The port for monitoring: `/healthz`, `/readyz` and `/metrics`. */
export interface GatewayMetricsOptions {
  /** 0 picks a free port. */
  readonly port: number;
  /** Default: the gateway's `host`. */
  readonly host?: string | undefined;
  /** If given, `/metrics` requires it as `Authorization: Bearer TOKEN`. Default: none. */
  readonly token?: string | undefined;
}

/** Options of `Gateway.start`. */
export interface GatewayOptions {
  /** Buckets by name. */
  readonly buckets: Readonly<Record<string, GatewayBucket>>;
  /**
   * The keys that sign requests. Default: none, so that anyone may read, which is only allowed on loopback.
   */
  readonly credentials?: S3Credentials | undefined;
  /** The address to listen on. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Default: 0, a free port. */
  readonly port?: number | undefined;
  readonly limits?: Partial<GatewayLimits> | undefined;
  /** Default: no metrics port. */
  readonly metrics?: GatewayMetricsOptions | undefined;
  /** Called with each answer when it has ended. Must not throw. Default: none. */
  readonly onAnswer?: ((entry: AccessLogEntry) => void) | undefined;
  /** Default: the clock of the machine. Dates, and limits that Node enforces, do not follow it. */
  readonly clock?: Clock | undefined;
  /** Aborts the start. */
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_LIMITS = {
  connections: 1024,
  memory: '256MiB',
  writes: 8,
  headerBytes: 16 * 1024,
  batchItems: 16 * 1024,
  batchBytes: 2 * 1024 * 1024,
  headersMs: 10_000,
  requestMs: 60_000,
  idleMs: 60_000,
  stallMs: 30_000,
  closeMs: 10_000,
} as const;

/** The options with their defaults. */
export interface CheckedOptions extends GatewayOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: GatewayLimits & { readonly memory: number };
  readonly clock: Clock;
}

/** As in S3. No such name is a path of another server, such as `-`. */
const BUCKET_NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/**
 * Fills in the defaults.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field.
 */
export function checkedOptions(options: GatewayOptions): CheckedOptions {
  const { buckets, credentials, host = '127.0.0.1', port = 0, clock = systemClock } = options;
  const names = Object.keys(buckets);
  if (names.length === 0) throw configError('buckets', 'at least one', 'none');
  for (const name of names) {
    if (!BUCKET_NAME.test(name))
      throw configError('buckets', 'names of 3 to 63 lower-case letters, digits, dots and hyphens', name);
    const { prefix = '', changing = [] } = buckets[name] ?? {};
    if (prefix !== '' && !prefix.endsWith('/'))
      throw configError(`buckets.${name}.prefix`, 'a prefix that ends with "/"', prefix);
    const wrong = changing.find((pattern) => pattern === '' || /^[/!]/.test(pattern));
    if (wrong !== undefined)
      throw configError(`buckets.${name}.changing`, 'globs of keys, such as "**/_versions/*"', wrong);
    assertWrites(`buckets.${name}.writes`, buckets[name]?.writes);
  }
  if (credentials === undefined && !isLoopback(host)) {
    throw configError(
      'host',
      '127.0.0.1, ::1 or localhost, because there are no credentials; give credentials to serve others',
      host,
    );
  }
  if (credentials?.accessKeyId === '' || credentials?.secretAccessKey === '')
    throw configError('credentials', 'an access key id and a secret access key', 'an empty one');
  const { memory, ...counts } = { ...DEFAULT_LIMITS, ...options.limits };
  assertCounts({ ...counts });
  return {
    ...options,
    host,
    port,
    clock,
    limits: { ...counts, memory: parseBytes(memory, 'limits.memory') },
  };
}

function assertWrites(field: string, writes: GatewayWrites | undefined): void {
  if (writes === undefined) return;
  const { driver, prefixes } = writes;
  const { write, delete: deletes, index } = driver.capabilities;
  if (!write || !deletes)
    throw configError(
      `${field}.driver`,
      'a driver that writes, such as one with writable: true',
      driver.name,
    );
  // A directory's driver would create an index there, and take existing files for copies.
  if (index) throw configError(`${field}.driver`, 'that of a bucket, not of a directory', driver.name);
  const isPrefix = (one: string) => one.endsWith('/') && !/^\/|(^|\/)\.{0,2}\//.test(one);
  const wrong = prefixes.length === 0 ? 'none' : prefixes.find((one) => !isPrefix(one));
  if (wrong !== undefined)
    throw configError(
      `${field}.prefixes`,
      'prefixes of keys that end with "/", such as "checkpoints/"',
      wrong,
    );
}

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
