import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { systemClock } from '@tiered/core';
import type { StoredObject } from '../storage.js';
import type { Range } from './ranges.js';
import { errorDocument, type S3Error } from './s3-error.js';

/**
 * Where an answer breaks off: after so many bytes of its body, with a RST or with an orderly end of the
 * connection.
 */
interface Cut {
  readonly bytes: number;
  readonly by: 'reset' | 'close';
}

/** What a request is answered with. */
export interface Answer {
  readonly status: number;
  /** Names and values in turn, as Node takes them without looking at each. Content-Length is added. */
  readonly headers: readonly string[];
  readonly body?: Uint8Array;
  /** Length of the body that a HEAD does not get. */
  readonly contentLength?: number;
  /** Which bytes of which object the body is. */
  readonly content?: { readonly object: StoredObject; readonly range: Range };
  readonly cut?: Cut;
}

/** An answer whose body is XML. */
export function xmlAnswer(document: string, headers: readonly string[] = []): Answer {
  return {
    status: 200,
    headers: ['Content-Type', 'application/xml', ...headers],
    body: Buffer.from(document),
  };
}

/** The answer of a request that failed. */
export function errorAnswer(error: S3Error, requestId: string): Answer {
  const headers = ['Content-Type', 'application/xml', ...(error.details.headers ?? [])];
  // 304 has no body: it is not an error, and its headers are those of the object.
  if (error.status === 304) return { status: 304, headers: error.details.headers ?? [] };
  return { status: error.status, headers, body: Buffer.from(errorDocument(error, requestId)) };
}

/** The headers with one of them replaced. */
export function replaceHeader(headers: readonly string[], name: string, value: string): string[] {
  const wanted = name.toLowerCase();
  return headers.map((text, index) =>
    index % 2 === 1 && headers[index - 1]?.toLowerCase() === wanted ? value : text,
  );
}

/** Sends an answer; header and body leave in one write. */
export function send(
  response: ServerResponse,
  answer: Answer,
  common: readonly string[],
  bodyless: boolean,
): void {
  const { status, body, cut } = answer;
  if (cut?.by === 'reset' && cut.bytes === 0) {
    response.socket?.resetAndDestroy();
    return;
  }
  const length = answer.contentLength ?? body?.byteLength ?? 0;
  const sized = status === 204 || status === 304 ? [] : ['Content-Length', String(length)];
  response.sendDate = false;
  response.writeHead(status, common.concat(answer.headers, sized));
  if (cut !== undefined && body !== undefined && !bodyless) breakOff(response, body, cut);
  else response.end(bodyless ? undefined : body);
}

function breakOff(response: ServerResponse, body: Uint8Array, { bytes, by }: Cut): void {
  const { socket } = response;
  const end = () => (by === 'reset' ? void resetSoon(socket) : socket?.destroySoon());
  response.flushHeaders();
  response.write(body.subarray(0, bytes), end);
}

/**
 * Data and a RST that meet in one turn of libuv are an orderly end to it: a client in this process reads the
 * data first.
 */
async function resetSoon(socket: Socket | null): Promise<void> {
  await systemClock.turn();
  await systemClock.turn();
  socket?.resetAndDestroy();
}
