import type { IncomingHttpHeaders } from 'node:http';
import { xmlAnswer, type Answer } from '../protocol/answers.js';
import { CHECKSUM_ALGORITHMS, checksumOf } from '../protocol/checksums.js';
import { checkRead, checkWrite } from '../protocol/conditions.js';
import { contentRange, parseRange } from '../protocol/ranges.js';
import { noSuchKey, S3Error } from '../protocol/s3-error.js';
import { StoredObject, type StoredChecksum } from '../storage.js';
import type { Call } from './call.js';
import { element, malformedXml, parseXml, xmlDocument } from '../protocol/xml.js';

const KEPT_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
];

/** GetObject. */
export async function getObject(call: Call): Promise<Answer> {
  const { request, bucket, ignoreConditions } = call;
  const { headers } = request;
  const object = bucket.get(request.key);
  if (object === undefined) throw noSuchKey(request.key);
  if (!ignoreConditions) checkRead(headers, object);
  const size = object.bytes.byteLength;
  const asked = headers.range === undefined ? undefined : parseRange(headers.range, size);
  if (asked === undefined) {
    const range = { start: 0, end: size - 1 };
    const content = { object, range };
    return { status: 200, headers: await wholeHeaders(call, object), body: object.bytes, content };
  }
  const body = object.bytes.subarray(asked.start, asked.end + 1);
  const withRange = [...object.headers, 'Content-Range', contentRange(asked, size)];
  return { status: 206, headers: withRange, body, content: { object, range: asked } };
}

/** HeadObject. As GetObject, without the bytes. */
export async function headObject(call: Call): Promise<Answer> {
  const { status, headers, body } = await getObject(call);
  return { status, headers, contentLength: body?.byteLength ?? 0 };
}

async function wholeHeaders(
  { request, defaultChecksum }: Call,
  object: StoredObject,
): Promise<readonly string[]> {
  if (request.headers['x-amz-checksum-mode'] !== 'ENABLED' || defaultChecksum === undefined)
    return object.headers;
  const checksum = await object.checksum(async () => ({
    algorithm: defaultChecksum,
    value: await checksumOf(defaultChecksum, object.bytes),
    type: 'FULL_OBJECT',
  }));
  return [...object.headers, ...checksumHeaders(checksum)];
}

/** Makes the headers of a checksum. */
export function checksumHeaders({ algorithm, value, type }: StoredChecksum): string[] {
  return [`x-amz-checksum-${algorithm}`, value, 'x-amz-checksum-type', type];
}

/** PutObject. */
export function putObject({ request, bucket, now, ignoreConditions }: Call): Answer {
  const { key, headers, body, checksums } = request;
  if (!ignoreConditions) checkWrite(headers, key, bucket.get(key));
  const [algorithm] = CHECKSUM_ALGORITHMS.filter((name) => checksums.has(name));
  const checksum =
    algorithm === undefined
      ? undefined
      : ({ algorithm, value: checksums.get(algorithm) ?? '', type: 'FULL_OBJECT' } as const);
  const object = new StoredObject(body, { lastModified: now, metadata: metadataOf(headers), checksum });
  bucket.put(key, object);
  const echoed = checksum === undefined ? [] : checksumHeaders(checksum);
  return { status: 200, headers: ['ETag', object.etag, ...echoed] };
}

/** Returns the headers of a write that reads give back. */
export function metadataOf(headers: IncomingHttpHeaders): string[] {
  const kept = ['Content-Type', headers['content-type'] ?? 'binary/octet-stream'];
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string' || !(KEPT_HEADERS.includes(name) || name.startsWith('x-amz-meta-')))
      continue;
    const plain = name === 'content-encoding' ? value.replace(/^aws-chunked,? */, '') : value;
    if (plain !== '') kept.push(name, plain);
  }
  return kept;
}

/** DeleteObject. A missing object is no error. */
export function deleteObject({ request, bucket }: Call): Answer {
  bucket.delete(request.key);
  return { status: 204, headers: [] };
}

const MAX_KEYS = 1000;

/** DeleteObjects. Missing objects count as deleted. */
export function deleteObjects({ request, bucket }: Call): Answer {
  if (request.headers['content-md5'] === undefined && request.checksums.size === 0) {
    throw new S3Error(400, 'InvalidRequest', 'Missing required header for this request: Content-MD5');
  }
  const root = parseXml(request.body, 'Delete');
  const keys = root.all('Object').map((object) => object.textOf('Key') ?? '');
  if (keys.length === 0 || keys.length > MAX_KEYS || keys.includes('')) throw malformedXml();
  for (const key of keys) bucket.delete(key);
  const quiet = root.textOf('Quiet') === 'true';
  const deleted = quiet ? [] : keys.map((key) => `<Deleted>${element('Key', key)}</Deleted>`);
  return xmlAnswer(xmlDocument('DeleteResult', deleted.join('')));
}
