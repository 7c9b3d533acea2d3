import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { checkHash, S3Error } from '@tiered/gateway/internal';
import { checksumOf, isChecksumAlgorithm } from './checksums.js';

/** A body that agrees with every hash that came with it. */
export interface CheckedBody {
  readonly body: Uint8Array;
  /** The checksums that it came with, by algorithm. */
  readonly checksums: ReadonlyMap<string, string>;
}

const EMPTY = Buffer.alloc(0);
const EMPTY_SHA256 = createHash('sha256').digest('hex');
const NO_CHECKSUMS: ReadonlyMap<string, string> = new Map();
const UNSIGNED_CHUNKS = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER';

/**
 * Reads the body of a request into one piece of memory.
 * @throws S3Error `MissingContentLength`; the error of the connection if the client goes away.
 */
export async function readBody(message: IncomingMessage): Promise<Uint8Array> {
  const { headers } = message;
  const chunked = headers['transfer-encoding'] !== undefined;
  if (!chunked && (headers['content-length'] ?? '0') === '0') return EMPTY;
  if (chunked && headers['x-amz-decoded-content-length'] === undefined) {
    throw new S3Error(411, 'MissingContentLength', 'You must provide the Content-Length HTTP header.');
  }
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/**
 * Takes the body out of its chunks, and compares it with every hash that came with it.
 * @throws S3Error `BadDigest`, and others like it.
 */
export async function checkBody(raw: Uint8Array, headers: IncomingHttpHeaders): Promise<CheckedBody> {
  const hash = headers['x-amz-content-sha256'];
  if (raw.byteLength === 0 && (hash === EMPTY_SHA256 || hash === 'UNSIGNED-PAYLOAD')) {
    if (headers['content-md5'] === undefined)
      return { body: EMPTY, checksums: await checksumsIn(headers, EMPTY) };
  }
  if (hash === UNSIGNED_CHUNKS) return checkChunked(raw, headers);
  checkHash(raw, headers, headers.authorization !== undefined);
  checkMd5(raw, headers['content-md5']);
  return { body: raw, checksums: await checksumsIn(headers, raw) };
}

function checkMd5(body: Uint8Array, md5: string | string[] | undefined): void {
  if (md5 === undefined) return;
  if (typeof md5 !== 'string' || Buffer.from(md5, 'base64').byteLength !== 16) {
    throw new S3Error(400, 'InvalidDigest', 'The Content-MD5 you specified is not valid.');
  }
  if (createHash('md5').update(body).digest('base64') !== md5) throw badDigest('Content-MD5');
}

async function checksumsIn(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Uint8Array,
): Promise<ReadonlyMap<string, string>> {
  let found: Map<string, string> | undefined;
  for (const name in headers) {
    if (!name.startsWith('x-amz-checksum-')) continue;
    const algorithm = name.slice('x-amz-checksum-'.length);
    if (!isChecksumAlgorithm(algorithm)) continue;
    const value = await checksumOf(algorithm, body);
    if (headers[name] !== value) throw badDigest(algorithm.toUpperCase());
    (found ??= new Map<string, string>()).set(algorithm, value);
  }
  return found ?? NO_CHECKSUMS;
}

/** Decodes `aws-chunked`: pieces, each after its length, and checksums after the last one. */
async function checkChunked(raw: Uint8Array, headers: IncomingHttpHeaders): Promise<CheckedBody> {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at);
    const size = lineEnd === -1 ? NaN : parseInt(text.toString('latin1', at, lineEnd), 16);
    if (!(size >= 0)) throw incomplete();
    at = lineEnd + 2;
    if (size === 0) break;
    pieces.push(text.subarray(at, at + size));
    at += size + 2;
  }
  const body = Buffer.concat(pieces);
  if (String(body.byteLength) !== headers['x-amz-decoded-content-length']) throw incomplete();
  checkMd5(body, headers['content-md5']);
  const lines = text.toString('latin1', at).split('\r\n').filter(Boolean);
  const trailers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const promised = headers['x-amz-trailer'];
  if (typeof promised === 'string' && trailers[promised.toLowerCase()] === undefined) {
    throw new S3Error(
      400,
      'MalformedTrailerError',
      'The request contained trailing data that was not well-formed.',
    );
  }
  return { body, checksums: await checksumsIn({ ...headers, ...trailers }, body) };
}

function incomplete(): S3Error {
  return new S3Error(
    400,
    'IncompleteBody',
    'You did not provide the number of bytes specified by the Content-Length HTTP header',
  );
}

function badDigest(name: string): S3Error {
  return new S3Error(400, 'BadDigest', `The ${name} you specified did not match the calculated checksum.`);
}
