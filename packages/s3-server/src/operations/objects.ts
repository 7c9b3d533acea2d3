import type { IncomingHttpHeaders } from 'node:http';
import {
  CHECKSUM_ALGORITHMS,
  element,
  malformedXml,
  parseXml,
  S3Error,
  xmlAnswer,
  xmlDocument,
  type Answer,
} from '@tiered/gateway/internal';
import { checkWrite } from '../protocol/write-conditions.js';
import { StoredObject, type StoredChecksum } from '../storage.js';
import type { Call } from './call.js';

const KEPT_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
];

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

/** Returns the headers of a write that reads return again. */
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
