import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { systemClock } from '@tiered/core';
import type { StoredObject } from '../storage.js';
import type { Range } from './ranges.js';
import type { S3Error } from './s3-error.js';
import { element, xmlDocument } from './xml.js';

/**
 * Where an answer breaks off: after this many bytes of its body, by a reset (RST) or an orderly end of the
 * connection.
 */
interface Cut {
  readonly bytes: number;
  readonly by: 'reset' | 'close';
}

/** The answer to a request. */
export interface Answer {
  readonly status: number;
  /** Names and values in turn, which Node writes without looking at each. Content-Length is added. */
  readonly headers: readonly string[];
  readonly body?: Uint8Array;
  /** The length of the body that a HEAD request does not get. */
  readonly contentLength?: number;
  /** The object that the body is from, and which of its bytes. */
  readonly content?: { readonly object: StoredObject; readonly range: Range };
  readonly cut?: Cut;
}

/** Makes an answer whose body is XML. */
export function xmlAnswer(document: string, headers: readonly string[] = []): Answer {
  return {
    status: 200,
    headers: ['Content-Type', 'application/xml', ...headers],
    body: Buffer.from(document),
  };
}

/** Makes the answer to a request that failed. */
export function errorAnswer(error: S3Error, requestId: string): Answer {
  const headers = ['Content-Type', 'application/xml', ...(error.details.headers ?? [])];
  // 304 is no error. It has no body, and its headers are those of the object.
  if (error.status === 304) return { status: 304, headers: error.details.headers ?? [] };
  return { status: error.status, headers, body: Buffer.from(errorDocument(error, requestId)) };
}

/** Makes the `<Error>` document. */
export function errorDocument({ code, message, details }: S3Error, requestId: string): string {
  const extra = Object.entries(details.elements ?? {}).map(([name, value]) => element(name, String(value)));
  const children = [
    element('Code', code),
    element('Message', message),
    ...extra,
    element('RequestId', requestId),
  ];
  return xmlDocument('Error', children.join(''), undefined);
}

/** Returns the headers with one of them replaced. */
export function replaceHeader(headers: readonly string[], name: string, value: string): string[] {
  const wanted = name.toLowerCase();
  return headers.map((text, index) =>
    index % 2 === 1 && headers[index - 1]?.toLowerCase() === wanted ? value : text,
  );
}

/** Sends an answer. Header and body leave in one write. */
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
 * Waits two turns before the reset. If libuv sees data and a RST in one turn, it reports an orderly end.
 * Within two turns a client in this process has read the data.
 */
async function resetSoon(socket: Socket | null): Promise<void> {
  await systemClock.turn();
  await systemClock.turn();
  socket?.resetAndDestroy();
}
