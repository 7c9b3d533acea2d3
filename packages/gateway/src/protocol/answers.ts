import type { Range } from './ranges.js';
import type { S3Error } from './s3-error.js';
import { element, xmlDocument } from './xml.js';

/** The answer to a request. */
export interface Answer<Found = never> {
  readonly status: number;
  /** Names and values in turn, which Node writes without looking at each. Content-Length is added. */
  readonly headers: readonly string[];
  readonly body?: Uint8Array;
  /** Length of the body if `body` is not set: that of `content`, or for a HEAD request. */
  readonly contentLength?: number;
  /** Whether the length of the body is not known in advance. */
  readonly isOfAnyLength?: boolean;
  /** The object that the body comes from, and the range of its bytes. */
  readonly content?: { readonly object: Found; readonly range: Range };
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
  return xmlDocument('Error', children.join(''));
}

/** The headers that give the length of the body. */
export function lengthHeaders({ status, contentLength, body, isOfAnyLength }: Answer<unknown>): string[] {
  if (status === 204 || status === 304 || isOfAnyLength === true) return [];
  return ['Content-Length', String(body?.byteLength ?? contentLength ?? 0)];
}
