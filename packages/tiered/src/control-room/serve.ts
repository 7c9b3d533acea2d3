import type { Registry } from '@tiered/cluster/registry';
import type { Clock } from '@tiered/core';
import { isLoopback, sameText } from '@tiered/gateway/internal';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { roomFiles, type ServedFile } from './files.js';
import { answerSetting, sayError } from './set-by-page.js';
import { policyLines } from './text.js';
import { Watch, type Frame } from './watch.js';

/** Options of `serveControlRoom`. */
export interface ControlRoomOptions {
  /** Opened already. Closed by who gives it. */
  readonly registry: Registry;
  readonly clock: Clock;
  /** Port of 127.0.0.1. Default: any that is free. */
  readonly port?: number | undefined;
  /** Whether the page may set something. Default: no, because a look is harmless. */
  readonly allowSet?: boolean | undefined;
}

/** A page that is served. */
export interface ControlRoom extends AsyncDisposable {
  /** With the token, which is a secret. */
  readonly url: string;
  /** Stops it. Idempotent. */
  close(): Promise<void>;
}

/** Nothing comes from elsewhere, no markup comes from a script, and nobody puts the page into theirs. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Pages that follow at a time, and connections. */
const MOST_VIEWERS = 16;
const MOST_CONNECTIONS = 64;
const TIMEOUT_MS = 10_000;
/** A page that is behind by so many bytes is left, and asks again. Looks at a crowd are half of it. */
const MOST_BEHIND = 32 * 2 ** 20;

/**
 * Serves a page that shows all jobs and sources while they run. Only this machine reaches it, and only who
 * has the token of its URL sees anything. The token is in the fragment, which browsers send to nobody.
 *
 * Costs a look at the registry each second, and some megabytes for the last five minutes.
 * @throws TieredError `TIERED_UNAVAILABLE` if the registry cannot be reached; the system's error if nothing
 * can listen at the port.
 */
export async function serveControlRoom(options: ControlRoomOptions): Promise<ControlRoom> {
  const { registry, clock, port = 0, allowSet = false } = options;
  const files = await roomFiles(allowSet);
  const token = randomBytes(32).toString('base64url');
  const watch = new Watch(registry, clock);
  await watch.start();
  const room = { files, token, watch, viewers: new Set<ServerResponse>(), registry, allowSet };
  const server = http.createServer(
    { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS },
    (request, response) =>
      void answer(room, request, response).catch((error: unknown) => {
        // Who sends a form and is gone gets no answer. Anything else is a bug.
        if (request.complete) throw error;
        response.destroy();
      }),
  );
  server.maxConnections = MOST_CONNECTIONS;
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= end());
  const end = async () => {
    server.close();
    server.closeAllConnections();
    await watch.close();
  };
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch (error) {
    await close();
    throw error;
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/#${token}`;
  return { url, close, [Symbol.asyncDispose]: close };
}

interface Room {
  readonly files: ReadonlyMap<string, ServedFile>;
  readonly token: string;
  readonly watch: Watch;
  readonly viewers: Set<ServerResponse>;
  readonly registry: Registry;
  readonly allowSet: boolean;
}

async function answer(room: Room, request: IncomingMessage, response: ServerResponse): Promise<void> {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
  const { method = '', headers } = request;
  // A name of others that leads here would make their pages the same origin.
  const [path, base] = [request.url ?? '', `http://${headers.host ?? ''}`];
  if (!URL.canParse(path, base) || !isLoopback(new URL(base).hostname)) {
    sayError(response, 403, 'This is served to 127.0.0.1 only.');
    return;
  }
  const target = new URL(path, base);
  const file = room.files.get(target.pathname);
  if (method === 'GET' && file !== undefined) {
    response.setHeader('content-type', file.type);
    response.end(file.body);
  } else if (method === 'GET' && target.pathname === '/events')
    showTo(room, target.searchParams.get('token') ?? '', response);
  else if (method === 'POST' && target.pathname === '/set') await set(room, request, response);
  else sayError(response, 404, 'There is nothing here.');
}

/** Browsers send no header with what asks for events, so the token is in the address of these. */
function showTo({ token, viewers, watch }: Room, given: string, response: ServerResponse): void {
  if (!sameText(given, token)) {
    sayError(response, 401, 'The token is wrong.');
    return;
  }
  if (viewers.size >= MOST_VIEWERS) {
    sayError(response, 503, 'Too many pages follow.');
    return;
  }
  viewers.add(response);
  let revision: number | undefined;
  const show = (frame: Frame) => {
    if (frame.lost === undefined && frame.revision !== revision) {
      revision = frame.revision;
      response.write(eventOf('policy', policyLines(watch.policy)));
    }
    response.write(eventOf('frame', frame));
    if (response.writableLength > MOST_BEHIND) response.destroy();
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(eventOf('history', watch.frames.slice(0, -1)));
  const last = watch.frames.at(-1);
  if (last !== undefined) show(last);
  const leave = watch.follow(show);
  response.on('close', () => {
    leave();
    viewers.delete(response);
  });
}

function eventOf(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

async function set({ token, allowSet, registry }: Room, request: IncomingMessage, response: ServerResponse) {
  const given = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
  if (!sameText(given, token)) {
    sayError(response, 401, 'The token is wrong.');
    return;
  }
  if (!allowSet) {
    sayError(response, 403, 'This page only shows. Start it with --allow-set.');
    return;
  }
  await answerSetting(registry, request, response);
}
