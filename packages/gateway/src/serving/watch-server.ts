import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { sameText } from '../protocol/same-text.js';
import { boundConnections } from './connections.js';
import { listening } from './listening.js';

/** Address and content of the metrics port. */
export interface WatchServerParts {
  readonly host: string;
  readonly port: number;
  readonly token: string | undefined;
  /** In the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
  /** Whether requests are answered as they should be. */
  readonly isReady: () => boolean;
}

/** Monitoring clients ask for little, and are few. */
const MOST_CONNECTIONS = 32;
const TIMEOUT_MS = 5_000;

/**
 * `/healthz`, `/readyz` and `/metrics`, on a port of their own. On the gateway's port each path belongs to a
 * bucket, and a probe has to be answered even when that port has no connection left.
 */
export class WatchServer {
  readonly #parts: WatchServerParts;
  readonly #server: Server;
  #endpoint = '';

  static async start(parts: WatchServerParts): Promise<WatchServer> {
    const server = new WatchServer(parts);
    server.#endpoint = await listening(server.#server, parts.host, parts.port);
    return server;
  }

  private constructor(parts: WatchServerParts) {
    this.#parts = parts;
    const limits = { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS };
    this.#server = createServer(limits, (message, response) => void this.#answer(message, response));
    boundConnections(this.#server, MOST_CONNECTIONS);
  }

  get endpoint(): string {
    return this.#endpoint;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const {
      status,
      body,
      type = 'text/plain',
    } = await this.#look(message).catch(() => ({
      status: 500,
      body: 'The metrics cannot be collected.\n',
      type: undefined,
    }));
    response.writeHead(status, {
      'content-type': `${type}; charset=utf-8`,
      'cache-control': 'no-store',
      connection: 'close',
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    });
    response.end(body);
  }

  async #look(
    message: IncomingMessage,
  ): Promise<{ status: number; body: string; type?: string | undefined }> {
    const { metrics, isReady } = this.#parts;
    const [path = ''] = (message.url ?? '').split('?');
    if (message.method !== 'GET' && message.method !== 'HEAD') return { status: 405, body: 'GET only.\n' };
    switch (path) {
      case '/healthz':
        return { status: 200, body: 'ok\n' };
      case '/readyz':
        return isReady() ? { status: 200, body: 'ok\n' } : { status: 503, body: 'not ready\n' };
      case '/metrics':
        if (!this.#isAllowed(message)) return { status: 401, body: 'Give the token as a bearer.\n' };
        return { status: 200, body: await metrics(), type: 'text/plain; version=0.0.4' };
      default:
        return { status: 404, body: 'There are /healthz, /readyz and /metrics.\n' };
    }
  }

  #isAllowed({ headers }: IncomingMessage): boolean {
    const { token } = this.#parts;
    if (token === undefined) return true;
    return sameText(headers.authorization ?? '', `Bearer ${token}`);
  }
}
