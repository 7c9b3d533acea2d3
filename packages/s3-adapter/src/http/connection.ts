import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { Clock } from '@tiered/core';
import { hiddenConfigError } from '@tiered/core/internal';
import { EnvHttpProxyAgent, Pool, ProxyAgent, type Dispatcher } from 'undici';
import type { Answer, Condition } from './answers.js';
import type { Endpoint } from './endpoint.js';
import { Exchange, type Sink } from './exchange.js';
import { Pace } from './pace.js';

/** Options of the connections. */
export interface ConnectionOptions {
  readonly connections: number;
  /** Milliseconds for which a connection may be silent. */
  readonly silenceMs: number;
  /** The lowest acceptable rate of answer bodies. */
  readonly leastBytesPerSecond: number;
  readonly proxy: 'environment' | 'none' | URL;
  readonly clock: Clock;
}

/** A request in the form in which it is sent, with its path encoded. */
export interface WireRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  /** Milliseconds for which the server may work before it answers, beyond the allowed silence. */
  readonly workMs: number;
  /** Most bytes of an answer's body without a sink. */
  readonly answerBytes: number;
}

/**
 * A connection that is idle for this long is closed, or earlier if the server wants that. AWS closes after
 * some 20 s.
 */
const IDLE_MS = 10_000;
/** An upload may take as long as it needs at this speed, beyond the allowed silence. */
const SLOWEST_UPLOAD_BYTES_PER_MS = 64;
const CONDITIONS: readonly Condition[] = ['if-match', 'if-none-match'];
/** The first variable of each pair that is set takes effect, as in undici. */
const PROXY_VARIABLES = [
  ['http_proxy', 'HTTP_PROXY'],
  ['https_proxy', 'HTTPS_PROXY'],
] as const;

/**
 * The connections to a server: kept alive, one request at a time on each, spread over the addresses of the
 * host.
 */
export class Connection {
  readonly #dispatcher: Dispatcher;
  readonly #origin: string;
  readonly #options: ConnectionOptions;

  constructor({ origin }: Endpoint, options: ConnectionOptions) {
    this.#origin = origin;
    this.#options = options;
    this.#dispatcher = dispatcherFor(origin, options);
  }

  /** Open connections. Undefined if a proxy holds them. */
  get open(): number | undefined {
    return this.#dispatcher instanceof Pool ? this.#dispatcher.stats.connected : undefined;
  }

  /** Sends a request. The answer's body goes to the sink, or is collected without one. */
  send(
    { method, path, headers, body, workMs, answerBytes }: WireRequest,
    sink: Sink | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const sendingMs = (body?.byteLength ?? 0) / SLOWEST_UPLOAD_BYTES_PER_MS;
    const pace = new Pace({ ...this.#options, workMs, sendingMs });
    const condition = CONDITIONS.find((name) => name in headers);
    const exchange = new Exchange(sink, signal, { condition, answerBytes, pace });
    this.#dispatcher.dispatch(
      {
        origin: this.#origin,
        path,
        method,
        headers: { ...headers },
        body: body ?? null,
        // The caller decides about retries. Here it means that the request need not wait for others on its
        // connection.
        idempotent: true,
        // Otherwise undici closes the connection after every HEAD, because some servers send a body with it.
        reset: false,
        headersTimeout: this.#options.silenceMs + sendingMs + workMs,
      },
      exchange,
    );
    return exchange.answer;
  }

  /** Closes every connection, and resolves when they are closed. */
  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }
}

function dispatcherFor(origin: string, { connections, silenceMs, proxy }: ConnectionOptions): Dispatcher {
  const options = {
    connections,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
  };
  const connect = { timeout: silenceMs, lookup: spreadingLookup() };
  if (proxy instanceof URL) {
    assertProxy('proxy', proxy.href);
    return new ProxyAgent({ ...options, uri: proxy.href });
  }
  if (proxy === 'environment' && hasProxyVariable()) return new EnvHttpProxyAgent({ ...options, connect });
  return new Pool(origin, { ...options, connect });
}

/** @throws TieredError `TIERED_CONFIG_INVALID` for a variable that does not contain a proxy. */
function hasProxyVariable(): boolean {
  const names = PROXY_VARIABLES.flatMap((pair) => pair.find((name) => process.env[name] !== undefined) ?? []);
  const set = names.filter((name) => process.env[name]);
  for (const name of set) assertProxy(name, process.env[name] ?? '');
  return set.length > 0;
}

/**
 * Checks a proxy before undici does, because undici's errors contain the whole URL, including the password.
 */
function assertProxy(field: string, text: string): void {
  const wrong = problemOfProxy(text);
  if (wrong !== undefined)
    throw hiddenConfigError(
      field,
      'the http or https URL of a proxy, such as "http://proxy.example.com:8080"',
      `${wrong} (not shown: it may be secret)`,
    );
}

function problemOfProxy(text: string): string | undefined {
  if (!URL.canParse(text)) return 'text that is not a URL';
  const { protocol, username, password } = new URL(text);
  if (!/^https?:$/.test(protocol)) return 'a URL that begins with something else';
  try {
    decodeURIComponent(username + password);
    return undefined;
  } catch {
    return 'a URL whose user or password has a "%" that is not written "%25"';
  }
}

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/**
 * Resolves a host so that each connection starts with the next of its addresses. S3 has many, each with a
 * limit of its own.
 */
function spreadingLookup() {
  let turn = 0;
  return (hostname: string, options: LookupOptions, callback: LookupCallback): void => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const first = addresses?.length ? turn++ % addresses.length : 0;
      const turned = [...(addresses ?? []).slice(first), ...(addresses ?? []).slice(0, first)];
      if (error !== null || options.all === true) callback(error, turned);
      else callback(null, turned[0]?.address ?? '', turned[0]?.family);
    });
  };
}
