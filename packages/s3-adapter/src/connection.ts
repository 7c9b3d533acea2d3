import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { Clock } from '@tiered/core';
import { EnvHttpProxyAgent, Pool, ProxyAgent, type Dispatcher } from 'undici';
import type { Answer, Condition } from './answers.js';
import type { Endpoint } from './endpoint.js';
import { Exchange, type Sink } from './exchange.js';
import { Pace } from './pace.js';

/** What connections are made with. */
export interface ConnectionOptions {
  readonly connections: number;
  /** How long silence may last, in milliseconds. */
  readonly silenceMs: number;
  /** How fast bodies of answers come at least. */
  readonly leastBytesPerSecond: number;
  readonly proxy: 'environment' | 'none' | URL;
  readonly clock: Clock;
}

/** A request as it goes over the wire, its path encoded. */
export interface WireRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  /** How long the server may work before its answer is there, beyond the silence that is allowed, in milliseconds. */
  readonly workMs: number;
  /** Most bytes of an answer's body that has no sink. */
  readonly answerBytes: number;
}

/** A connection that was not used for so long is closed, unless the server wants it sooner: AWS does after some 20 s. */
const IDLE_MS = 10_000;
/** Uploads are given the time that they take at this speed beyond the silence. */
const SLOWEST_UPLOAD_BYTES_PER_MS = 64;
const CONDITIONS: readonly Condition[] = ['if-match', 'if-none-match'];
const PROXY_VARIABLES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];

/** The connections to a server: kept alive, one request at a time on each, spread over the addresses of the host. */
export class Connection {
  readonly #dispatcher: Dispatcher;
  readonly #origin: string;
  readonly #options: ConnectionOptions;

  constructor({ origin }: Endpoint, options: ConnectionOptions) {
    this.#origin = origin;
    this.#options = options;
    this.#dispatcher = dispatcherFor(origin, options);
  }

  /** Connections that are open; undefined where a proxy has them. */
  get open(): number | undefined {
    return this.#dispatcher instanceof Pool ? this.#dispatcher.stats.connected : undefined;
  }

  /** Sends a request; its answer's body goes to the sink, or is collected if there is none. */
  send(
    { method, path, headers, body, workMs, answerBytes }: WireRequest,
    sink: Sink | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const pace = new Pace({ ...this.#options, workMs });
    const condition = CONDITIONS.find((name) => name in headers);
    const exchange = new Exchange(sink, signal, { condition, answerBytes, pace });
    const sendingMs = (body?.byteLength ?? 0) / SLOWEST_UPLOAD_BYTES_PER_MS;
    this.#dispatcher.dispatch(
      {
        origin: this.#origin,
        path,
        method,
        headers: { ...headers },
        body: body ?? null,
        // Repeating is decided above; here it says that the request need not wait for others on its connection.
        idempotent: true,
        // Else undici closes the connection after every HEAD, for servers that send a body with it.
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
  if (proxy instanceof URL) return new ProxyAgent({ ...options, uri: proxy.href });
  if (proxy === 'environment' && PROXY_VARIABLES.some((name) => process.env[name]))
    return new EnvHttpProxyAgent({ ...options, connect });
  return new Pool(origin, { ...options, connect });
}

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** Looks a host up so that each connection begins with the next of its addresses: S3 has many, each with its limit. */
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
