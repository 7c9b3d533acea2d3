import { parseBytes, systemClock, type ByteSize, type Clock } from '@tiered/core';
import {
  assertCounts,
  assertMilliseconds,
  configError,
  definedOf,
  hiddenConfigError,
} from '@tiered/core/internal';

/** TLS options: trusted authorities, and the client's certificate, in PEM. */
export interface RedisTls {
  /** Certificates of the authorities that sign the servers' certificates. Default: Node's. */
  readonly ca?: string | Buffer | undefined;
  /** The certificate of the client, if the server requires one. Needs `key`. Default: none. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
}

/** Options of `RedisDriver`. One of `url`, `sentinel` and `cluster` locates the servers. */
export interface RedisDriverOptions {
  /**
   * One server: `redis://host:6379/0`, or `rediss://` for TLS. The path is the number of the database. A user
   * and a password in the URL are used as `username` and `password`.
   */
  readonly url?: string | undefined;
  /**
   * A server and its replicas that Sentinels watch: the name of the master, and the Sentinels as `host:port`.
   * `username` and `password` here are for the Sentinels; default: none.
   */
  readonly sentinel?:
    | {
        readonly name: string;
        readonly nodes: readonly string[];
        readonly username?: string | undefined;
        readonly password?: string | undefined;
      }
    | undefined;
  /** A cluster: some of its servers as `host:port`. The others are found. */
  readonly cluster?: { readonly nodes: readonly string[] } | undefined;
  /** Default: the user `default`. */
  readonly username?: string | undefined;
  /** Default: none. */
  readonly password?: string | undefined;
  /** Whether connections are encrypted, and how. Default: according to the `url`, else false. */
  readonly tls?: boolean | RedisTls | undefined;
  /**
   * Prefix of every key in Redis. Other keys are never seen or touched. Must not contain `{`, which would put
   * all chunks into one hash slot. Default: `tiered:`.
   */
  readonly prefix?: string | undefined;
  /**
   * Bytes of a chunk; a longer object has several keys. Default: 512 KiB. Most samples are then one key and
   * one command. A chunk of a large object delays the other clients of its server by less than a millisecond.
   */
  readonly chunk?: ByteSize | undefined;
  /**
   * Milliseconds after which written keys expire. So the leftovers of a dead writer go away, without a second
   * command for each chunk. Default: 7 days, longer than most jobs; expired objects are fetched again.
   */
  readonly ttlMs?: number | undefined;
  /**
   * Milliseconds for a command, including its wait for a connection and for its turn. An operation on a large
   * object makes several commands. Default: 5000.
   */
  readonly timeoutMs?: number | undefined;
  /** Commands in flight at the same time. Default: 1024. They share one connection to each server. */
  readonly concurrency?: number | undefined;
  /** Bytes in flight at the same time, in both directions. Default: 64 MiB. */
  readonly memory?: ByteSize | undefined;
  /** Whether the driver may write and delete, as a tier has to. Default: false. */
  readonly writable?: boolean | undefined;
  /** Times deadlines. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/** The address of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The user to log in as. */
export interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** Options of connections to any server. */
export interface ServerOptions extends Credentials {
  readonly tls: RedisTls | undefined;
  readonly database: number;
  readonly timeoutMs: number;
}

/** Sentinels, and their name for the master. */
export interface SentinelOptions extends Credentials {
  readonly name: string;
  readonly nodes: readonly Address[];
}

/** The location of the servers. */
type Servers =
  | { readonly kind: 'server'; readonly address: Address }
  | { readonly kind: 'sentinel'; readonly sentinel: SentinelOptions }
  | { readonly kind: 'cluster'; readonly nodes: readonly Address[] };

/** The options with their defaults, checked. */
export interface CheckedRedisOptions {
  readonly servers: Servers;
  readonly connection: ServerOptions;
  readonly prefix: string;
  readonly chunk: number;
  readonly ttlMs: number;
  readonly concurrency: number;
  readonly memory: number;
  readonly writable: boolean;
  readonly clock: Clock;
  /** The location of the objects, without credentials, with a slash at its end. */
  readonly location: string;
  /** Secrets that no message may show. */
  readonly secrets: readonly string[];
}

const PORT = 6379;

/** Redis takes strings of up to 512 MB. A larger chunk would delay all other clients. */
const MOST_CHUNK = 64 * 2 ** 20;

/** The largest lifetime: Redis counts milliseconds, and the time of day must still fit. */
const MOST_TTL_MS = 2 ** 52;

/**
 * Checks options. No message shows a value that may hold a password.
 * @throws TieredError `TIERED_CONFIG_INVALID`
 */
export function checkedOptions(options: RedisDriverOptions): CheckedRedisOptions {
  const { prefix = 'tiered:', ttlMs = 7 * 86_400_000, timeoutMs = 5000, concurrency = 1024 } = options;
  const chunk = parseBytes(options.chunk ?? '512KiB', 'chunk');
  const memory = parseBytes(options.memory ?? '64MiB', 'memory');
  assertCounts({ chunk, ttlMs, concurrency, memory });
  if (chunk > MOST_CHUNK) throw configError('chunk', 'at most 64 MiB', options.chunk);
  if (ttlMs > MOST_TTL_MS) throw configError('ttlMs', `at most ${MOST_TTL_MS}`, ttlMs);
  assertMilliseconds({ timeoutMs });
  if (typeof prefix !== 'string' || !prefix.isWellFormed() || /[{\0]/.test(prefix))
    throw configError('prefix', 'text without "{", such as "tiered:"', prefix);
  const { servers, ...url } = serversOf(options);
  const { username = url.username, password = url.password } = options;
  const connection = {
    username,
    password,
    tls: tlsOf(options, url.isTls),
    database: url.database,
    timeoutMs,
  };
  const secrets = [password, options.sentinel?.password].filter(
    (secret) => secret !== undefined && secret !== '',
  );
  return {
    ...{ servers, connection, prefix, chunk, ttlMs, concurrency, memory },
    writable: options.writable ?? false,
    clock: options.clock ?? systemClock,
    location: `${placeOf(servers)}/${url.database}/${prefix}/`,
    secrets: secrets as string[],
  };
}

interface FromUrl extends Credentials {
  readonly servers: Servers;
  readonly isTls: boolean;
  readonly database: number;
}

function serversOf({ url, sentinel, cluster }: RedisDriverOptions): FromUrl {
  if ([url, sentinel, cluster].filter((given) => given !== undefined).length !== 1)
    throw hiddenConfigError('url', 'one of url, sentinel and cluster', 'none or several of them');
  if (url !== undefined) return fromUrl(url);
  const others = { isTls: false, database: 0 };
  if (cluster !== undefined)
    return { servers: { kind: 'cluster', nodes: nodesOf(cluster.nodes, 'cluster.nodes') }, ...others };
  const { name = '', nodes, username, password } = sentinel ?? {};
  if (typeof name !== 'string' || name === '')
    throw configError('sentinel.name', 'the name of a master', name);
  const checked = { name, nodes: nodesOf(nodes, 'sentinel.nodes'), username, password };
  return { servers: { kind: 'sentinel', sentinel: checked }, ...others };
}

const URL_FORM = 'a URL such as "redis://host:6379/0", or with rediss:// for TLS';

function fromUrl(text: string): FromUrl {
  const wrong = () =>
    hiddenConfigError('url', URL_FORM, 'something else (not shown: it may hold a password)');
  if (typeof text !== 'string' || !/^rediss?:\/\//.test(text) || !URL.canParse(text)) throw wrong();
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  if (hostname === '' || !/^(\/\d*)?$/.test(pathname) || search + hash !== '') throw wrong();
  return {
    servers: { kind: 'server', address: { host: bare(hostname), port: Number(port || PORT) } },
    isTls: protocol === 'rediss:',
    database: Number(pathname.slice(1)),
    username: decoded(username),
    password: decoded(password),
  };
}

function decoded(part: string): string | undefined {
  if (part === '') return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    throw hiddenConfigError('url', 'user and password percent-encoded', 'a "%" that begins nothing');
  }
}

function nodesOf(nodes: unknown, field: string): readonly Address[] {
  const form = 'a list of servers such as ["host-1:6379", "host-2:6379"]';
  if (!Array.isArray(nodes) || nodes.length === 0) throw configError(field, form, nodes);
  return nodes.map((node: unknown) => {
    const isNode = typeof node === 'string' && /^[^\s@/]+$/.test(node) && URL.canParse(`redis://${node}`);
    if (!isNode) throw hiddenConfigError(field, form, 'something that is no host:port');
    return parsedAddress(node);
  });
}

/** Parses `host:port`. */
export function parsedAddress(node: string): Address {
  const { hostname, port } = new URL(`redis://${node}`);
  return { host: bare(hostname), port: Number(port || PORT) };
}

/** An IPv6 address without its brackets. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function tlsOf({ tls, url }: RedisDriverOptions, isTls: boolean): RedisTls | undefined {
  if (tls === false && isTls) throw configError('tls', 'nothing beside rediss://', tls);
  if (tls === undefined || tls === false) return isTls ? {} : undefined;
  if (url !== undefined && !isTls)
    throw hiddenConfigError('tls', 'a url with rediss:// beside it', 'redis://');
  if (tls === true) return {};
  const { ca, cert, key } = tls;
  if ((cert === undefined) !== (key === undefined))
    throw hiddenConfigError('tls', 'cert and key together', 'one of them');
  return definedOf({ ca, cert, key });
}

function placeOf(servers: Servers): string {
  const text = (nodes: readonly Address[]) =>
    nodes
      .map(({ host, port }) => `${host}:${port}`)
      .sort()
      .join(',');
  if (servers.kind === 'server') return `redis://${text([servers.address])}`;
  if (servers.kind === 'cluster') return `redis-cluster://${text(servers.nodes)}`;
  return `redis-sentinel://${text(servers.sentinel.nodes)}/${servers.sentinel.name}`;
}
