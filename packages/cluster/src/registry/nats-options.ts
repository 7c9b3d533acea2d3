import { assertCounts, configError, hiddenConfigError } from '@tiered/core/internal';
import type { Clock } from '@tiered/core';
import { assertTtl } from './checks.js';

/** TLS options. All are paths of PEM files. */
export interface NatsTls {
  /** The authorities that signed the server's certificate. Default: those that Node trusts. */
  readonly caFile?: string | undefined;
  /** The certificate and the key of this client, if the server requires one. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** Options of a `NatsRegistry`. */
export interface NatsRegistryOptions {
  /**
   * The URL of a server, such as `nats://10.0.0.7:4222`, or of several servers of one cluster, of which any
   * is used.
   */
  readonly servers: string | readonly string[];
  /**
   * The name of the bucket, the same for all members. 1 to 64 letters, digits, `-` and `_`. It is created if
   * it is missing (`make`).
   */
  readonly name: string;
  /** A token, if the server requires one. Give at most one of `token`, `user` and `credsFile`. */
  readonly token?: string | undefined;
  /** A user, which needs a `password`, if the server requires one. */
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** The path of a file with a JWT and its key, as `nsc` makes them. It is read at each `open`. */
  readonly credsFile?: string | undefined;
  /**
   * Default: no TLS, unless the server requires it. Name servers by the names in their certificates: the
   * client treats an address as `localhost`.
   */
  readonly tls?: NatsTls | undefined;
  /**
   * Milliseconds after which a record expires unless it is put again, at least 1,000. The server has one
   * lifetime for all records of a bucket, so all members give the same value. Default: 10,000, so that a
   * killed worker is forgotten before it costs an epoch much, and a busy worker is not forgotten.
   */
  readonly ttlMs?: number | undefined;
  /**
   * The number of servers of a cluster that keep the created bucket, from 1 to 5. With 3, one of them may
   * fail. Default: 1, which every server supports.
   */
  readonly replicas?: number | undefined;
  /**
   * Whether to create the bucket if it is missing. Default: true. If false, for example for clients that only
   * read, calls reject with `TIERED_NOT_FOUND` instead.
   */
  readonly make?: boolean | undefined;
  /** Times out calls. Default: `systemClock`. */
  readonly clock?: Clock | undefined;
}

const NAME = /^[\w-]{1,64}$/;
const DEFAULT_TTL_MS = 10_000;
const MOST_REPLICAS = 5;

/** Options with their defaults. */
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

/** Messages name servers, so their URLs may not contain passwords. */
function assertServer(server: string): void {
  const url = server.includes('://') ? server : `nats://${server}`;
  if (!URL.canParse(url)) throw configError('servers', 'a URL such as "nats://host:4222"', server);
  const { username, password, protocol } = new URL(url);
  if (username !== '' || password !== '')
    throw hiddenConfigError('servers', 'no user in a URL; use the options token, user, password', 'one');
  if (!['nats:', 'tls:'].includes(protocol)) throw configError('servers', 'nats:// or tls://', server);
}
