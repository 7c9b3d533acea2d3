import { xmlAnswer, type Answer } from '../protocol/answers.js';
import { givenChecksums } from '../protocol/checksums.js';
import { malformedXml, parseXml } from '../protocol/parse-xml.js';
import { MOST_PARTS, parsePartNumber } from '../protocol/part-number.js';
import { notImplemented } from '../protocol/s3-error.js';
import { element, xmlDocument } from '../protocol/xml.js';
import type { UploadOf } from '../hierarchy/hierarchy-writes.js';
import { bodyOf, xmlOf, type WriteCall } from './call.js';
import { assertLength, assertPlain } from './headers.js';

/** CreateMultipartUpload. */
export async function createUpload({ request, storage, signal }: WriteCall): Promise<Answer> {
  const { bucket, key, headers } = request;
  assertPlain(headers);
  const id = await storage.createUpload(key, signal);
  const content = element('Bucket', bucket) + element('Key', key) + element('UploadId', id);
  return xmlAnswer(xmlDocument('InitiateMultipartUploadResult', content));
}

/** UploadPart. */
export async function uploadPart(call: WriteCall): Promise<Answer> {
  const { request, storage, signal } = call;
  const number = parsePartNumber(request.query.get('partNumber') ?? '');
  storage.innerOf(request.key);
  assertPlain(request.headers);
  assertLength(request.headers);
  const body = bodyOf(call);
  const etag = await storage.writePart(uploadOf(call), { number, body }, signal);
  return { status: 200, headers: ['ETag', etag, ...givenChecksums(body.checksums)] };
}

/** CompleteMultipartUpload. */
export async function completeUpload(call: WriteCall): Promise<Answer> {
  const { request, storage, signal } = call;
  const { bucket, key, headers, canonicalPath } = request;
  storage.innerOf(key);
  assertPlain(headers);
  // Servers may ignore it when parts are put together.
  if (headers['if-none-match'] !== undefined) throw notImplemented('conditions of uploads in parts');
  const { xml } = await xmlOf(call);
  const parts = parseXml(xml, 'CompleteMultipartUpload')
    .all('Part')
    .map((part) => ({ number: Number(part.textOf('PartNumber')), etag: part.textOf('ETag') ?? '' }));
  const areKnown = parts.every(({ number, etag }) => Number.isInteger(number) && etag !== '');
  if (parts.length === 0 || parts.length > MOST_PARTS || !areKnown) throw malformedXml();
  const etag = await storage.completeUpload(uploadOf(call), parts, signal);
  const content = [
    element('Location', `http://${headers.host ?? ''}${canonicalPath}`),
    element('Bucket', bucket),
    element('Key', key),
    ...(etag === undefined ? [] : [element('ETag', etag)]),
  ];
  return xmlAnswer(xmlDocument('CompleteMultipartUploadResult', content.join('')));
}

/** AbortMultipartUpload. */
export async function abortUpload(call: WriteCall): Promise<Answer> {
  await call.storage.abortUpload(uploadOf(call), call.signal);
  return { status: 204, headers: [] };
}

function uploadOf({ request: { key, query } }: WriteCall): UploadOf {
  return { key, uploadId: query.get('uploadId') ?? '' };
}
