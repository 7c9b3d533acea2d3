import { parseBytes, systemClock, type ByteSize, type Clock } from '@tiered/core';
import {
  assertCounts,
  assertMilliseconds,
  configError,
  definedOf,
  hiddenConfigError,
  type Defined,
} from '@tiered/core/internal';
import type { CredentialsSource } from './http/credentials.js';

/** Options of `S3Driver`. */
export interface S3DriverOptions {
  readonly bucket: string;
  /**
   * Prefix of every key in the bucket, such as `imagenet/`; ends with `/`. Objects elsewhere are never seen
   * or touched. Default: none.
   */
  readonly prefix?: string | undefined;
  /** The region of the bucket. Default: `AWS_REGION`, else `AWS_DEFAULT_REGION`, else `us-east-1`. */
  readonly region?: string | undefined;
  /**
   * URL of the server. Default: `AWS_ENDPOINT_URL_S3`, else `AWS_ENDPOINT_URL`, else AWS's endpoint in the
   * region.
   */
  readonly endpoint?: string | undefined;
  /**
   * Whether requests name the bucket in the path instead of the host name. Default: false for AWS, unless the
   * bucket's name has a dot (no certificate fits that); true for other endpoints, whose host names are seldom
   * set up for it.
   */
  readonly pathStyle?: boolean | undefined;
  /**
   * The credentials to sign requests with: the credentials themselves, a function that gets them, or
   * `'anonymous'` for public buckets. The function is called again from 5 minutes before the credentials
   * expire, while the present ones are still used, and when the server says that they have expired. Requests
   * wait for it for up to `deadlineMs`.
   *
   * Default: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; else the credentials that
   * `@aws-sdk/credential-providers`, if installed, finds in the shared configuration, SSO, web identity,
   * container and instance roles.
   */
  readonly credentials?: CredentialsSource | undefined;
  /**
   * Profile of the shared configuration to take credentials from. Takes precedence over the environment.
   * Default: AWS's own choice.
   */
  readonly profile?: string | undefined;
  /** Whether the requester pays for requests and transfer. Default: false. */
  readonly requesterPays?: boolean | undefined;
  /**
   * Additional headers of every request. They are signed, except for those that Signature Version 4 leaves
   * out, such as `user-agent`. Default: none, and no user agent is sent.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * The proxy: `'environment'` follows `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, `'none'` connects
   * directly, a URL is the proxy itself. Default: `'environment'`.
   */
  readonly proxy?: 'environment' | 'none' | URL | undefined;
  /**
   * Concurrent requests, each on a connection of its own; at least 1. The number in use adapts to the server:
   * half as many after a 503 or 429, and one more after as many successes. Default: 64, which fills 10 Gbit/s
   * with objects of 100 KB.
   */
  readonly concurrency?: number | undefined;
  /**
   * Bytes of one request, at least 5 MiB because S3 requires that of the parts of an upload. Longer reads are
   * split into parts that are fetched concurrently. Writes of more than twice as much are multipart uploads.
   * Default: 8 MiB, at which the overhead of a request hardly counts.
   */
  readonly chunk?: ByteSize | undefined;
  /**
   * How `readMany` asks a gateway of tiered for ranges. `offered`: together, if the endpoint has said that it
   * returns many in one answer. Reads that it does not answer are made singly, so that outcomes are those of
   * single reads. `only`: always together, up to 1 MiB each, and each with a checksum of the gateway, which
   * is verified. A read that the gateway does not answer is an error, and nothing is retried. This is for
   * peers, since the caller has another place to read from. Default: `offered`.
   */
  readonly batches?: 'offered' | 'only' | undefined;
  /** Ranges of keys that are listed concurrently, at least 1. Default: 8. */
  readonly listConcurrency?: number | undefined;
  /**
   * Most attempts at a request, at least 1. Counted from zero again whenever bytes have arrived. Default: as
   * many as the deadline allows. While the server has never answered and `deadlineMs` was not given, it is 8,
   * with about 6 s of pauses, because then the endpoint is most likely wrong.
   */
  readonly attempts?: number | undefined;
  /**
   * Milliseconds without progress after which an operation gives up. The wait for a free connection does not
   * count. Bytes are progress for as long as they take at `leastBytesPerSecond`. Default: 60,000, longer than
   * any throttling that passes by itself. 600,000 survives an outage of ten minutes.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * Milliseconds after which a connection counts as broken if it is silent, or if its answer is behind
   * `leastBytesPerSecond`. Default: 10,000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Lowest average rate of an answer's body in bytes per second, at least 1. Without this limit a server that
   * sends a byte now and then would hold a read forever. The answer to one request takes at most `timeoutMs`
   * plus the time of its bytes at this rate. Default: 8192, which 64 connections reach together on a line of
   * 4 Mbit/s.
   */
  readonly leastBytesPerSecond?: ByteSize | undefined;
  /**
   * Whether the driver may write and delete, as a tier does. Default: false, because the source is never
   * written.
   */
  readonly writable?: boolean | undefined;
  /** Seeds the jitter of pauses, so that a run can be repeated. Default: 0. */
  readonly seed?: number | undefined;
  /** Times pauses and deadlines. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

type Optional = 'region' | 'endpoint' | 'pathStyle' | 'credentials' | 'profile';

/** The options with their defaults, checked. */
export type CheckedS3Options = Required<
  Defined<Omit<S3DriverOptions, Optional | 'chunk' | 'leastBytesPerSecond'>>
> &
  Pick<S3DriverOptions, Optional> & {
    /** Bytes. */
    readonly chunk: number;
    readonly leastBytesPerSecond: number;
    /** Most attempts while the server has never answered. */
    readonly firstAttempts: number;
  };

/** Attempts at a server that has never answered. */
const FIRST_ATTEMPTS = 8;

/** Replaces a value that may be secret in messages. */
const NOT_SHOWN = 'something else (not shown: it may be secret)';

const MIN_PART_BYTES = 5 * 2 ** 20;

/** Headers that the driver sets, or that define how the request is framed. */
const RESERVED =
  /^(host|authorization|range|if-match|if-none-match|content-(length|md5)|connection|transfer-encoding|expect|upgrade|keep-alive|x-amz-(date|content-sha256|security-token|checksum-mode|request-payer))$/;

/**
 * Checks options. No message shows a value that may be secret.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function checkedOptions(options: S3DriverOptions): CheckedS3Options {
  const checked = {
    prefix: '',
    requesterPays: false,
    proxy: 'environment' as const,
    concurrency: 64,
    listConcurrency: 8,
    batches: 'offered' as const,
    attempts: Infinity,
    firstAttempts: options.attempts ?? (options.deadlineMs === undefined ? FIRST_ATTEMPTS : Infinity),
    deadlineMs: 60_000,
    timeoutMs: 10_000,
    writable: false,
    seed: 0,
    clock: systemClock,
    ...definedOf(options),
    chunk: parseBytes(options.chunk ?? '8MiB', 'chunk'),
    leastBytesPerSecond: parseBytes(options.leastBytesPerSecond ?? 8192, 'leastBytesPerSecond'),
    headers: checkedHeaders(options.headers ?? {}),
  };
  const { bucket, prefix, credentials, proxy, concurrency, listConcurrency, attempts, chunk } = checked;
  if (typeof bucket !== 'string' || !/^[\w.-]+$/.test(bucket))
    throw configError('bucket', 'the name of a bucket', bucket);
  if (typeof prefix !== 'string' || (prefix !== '' && !prefix.endsWith('/')) || !prefix.isWellFormed())
    throw configError('prefix', 'text that ends with "/"', prefix);
  if (options.attempts !== undefined) assertCounts({ attempts });
  assertCounts({ concurrency, listConcurrency, leastBytesPerSecond: checked.leastBytesPerSecond });
  assertCounts({ chunk }, MIN_PART_BYTES);
  const { deadlineMs, timeoutMs } = checked;
  assertMilliseconds({ deadlineMs, timeoutMs });
  if (proxy !== 'environment' && proxy !== 'none' && !(proxy instanceof URL))
    throw hiddenConfigError(
      'proxy',
      '"environment", "none" or a URL object, new URL("http://...")',
      NOT_SHOWN,
    );
  assertCredentials(credentials);
  return checked;
}

function checkedHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const [name] of entries) {
    if (RESERVED.test(name)) throw configError('headers', 'no header that the driver sets itself', name);
  }
  return Object.fromEntries(entries);
}

function assertCredentials(credentials: unknown): void {
  if (credentials === undefined || credentials === 'anonymous' || typeof credentials === 'function') return;
  const { accessKeyId, secretAccessKey } = (credentials ?? {}) as Record<string, unknown>;
  if (typeof accessKeyId === 'string' && typeof secretAccessKey === 'string') return;
  throw hiddenConfigError(
    'credentials',
    'accessKeyId and secretAccessKey, a function that gets them, or "anonymous"',
    NOT_SHOWN,
  );
}
