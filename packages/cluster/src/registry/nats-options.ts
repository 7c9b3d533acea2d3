import { assertCounts, configError, hiddenConfigError } from '@tiered/core/internal';
import type { Clock } from '@tiered/core';
import { assertTtl } from './checks.js';

/** What a connection by TLS needs. All are paths of PEM files. */
export interface NatsTls {
  /** Who has signed the certificate of the server. Default: those that Node trusts. */
  readonly caFile?: string | undefined;
  /** The certificate and the key of this client, if the server asks for one. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** Options of a `NatsRegistry`. */
export interface NatsRegistryOptions {
  /** Such as `nats://10.0.0.7:4222`. Several are servers of one cluster: any of them is taken. */
  readonly servers: string | readonly string[];
  /**
   * The bucket. It is made if it is not there (`make`). 1 to 64 letters, digits, `-` and `_`; all members
   * name the same.
   */
  readonly name: string;
  /** One of these, if the server asks for it: a token, */
  readonly token?: string | undefined;
  /** a user with a password, */
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** or the path of a file with a JWT and its key, as `nsc` makes them. It is read at each `open`. */
  readonly credsFile?: string | undefined;
  /**
   * Default: no TLS, unless the server asks for it. Name servers by the names in their certificates: the
   * client takes an address for `localhost`.
   */
  readonly tls?: NatsTls | undefined;
  /**
   * Milliseconds after which a record is gone unless it is put again, at least 1,000: the server has one time
   * for all records of a bucket. All members name the same. Default: 10,000, so that a worker that was killed
   * is forgotten before an epoch has lost much by it, and one that computes is not.
   */
  readonly ttlMs?: number | undefined;
  /**
   * How many servers of a cluster keep the bucket that is made, from 1 to 5. With 3, one of them may fail.
   * Default: 1, which every server can do.
   */
  readonly replicas?: number | undefined;
  /**
   * Whether the bucket is made if it is not there. Default: true. If not, as for those who only look, calls
   * reject with `TIERED_NOT_FOUND`.
   */
  readonly make?: boolean | undefined;
  /** Measures the bound of calls. Default: `systemClock`. */
  readonly clock?: Clock | undefined;
}

const NAME = /^[\w-]{1,64}$/;
const DEFAULT_TTL_MS = 10_000;
const MOST_REPLICAS = 5;

/** Options as they are used. */
export interface NatsSettings {
  readonly servers: readonly string[];
  readonly bucket: string;
  readonly ttlMs: number;
  readonly replicas: number;
  readonly make: boolean;
}

/** @throws TieredError `TIERED_CONFIG_INVALID`. Shows no secrets. */
export function settingsOf(options: NatsRegistryOptions): NatsSettings {
  const { name, ttlMs = DEFAULT_TTL_MS, replicas = 1, make = true } = options;
  const servers = typeof options.servers === 'string' ? [options.servers] : [...options.servers];
  if (servers.length === 0) throw configError('servers', 'at least one URL, such as "nats://host:4222"', 0);
  for (const server of servers) assertServer(server);
  if (!NAME.test(name)) throw configError('name', '1 to 64 letters, digits, "-" and "_"', name);
  assertTtl(ttlMs);
  assertCounts({ replicas });
  if (replicas > MOST_REPLICAS) throw configError('replicas', `at most ${MOST_REPLICAS}`, replicas);
  const { token, user, password, credsFile } = options;
  const ways = [token, user, credsFile].filter((way) => way !== undefined).length;
  if (ways > 1) throw hiddenConfigError('token', 'one of token, user and credsFile', `${ways} of them`);
  if ((user === undefined) !== (password === undefined))
    throw hiddenConfigError('user', 'a user with a password', 'one without the other');
  return { servers, bucket: name, ttlMs, replicas, make };
}

/** Servers are named in messages, so they have no passwords in them. */
function assertServer(server: string): void {
  const url = server.includes('://') ? server : `nats://${server}`;
  if (!URL.canParse(url)) throw configError('servers', 'a URL such as "nats://host:4222"', server);
  const { username, password, protocol } = new URL(url);
  if (username !== '' || password !== '')
    throw hiddenConfigError('servers', 'no user in a URL; use the options token, user, password', 'one');
  if (!['nats:', 'tls:'].includes(protocol)) throw configError('servers', 'nats:// or tls://', server);
}
