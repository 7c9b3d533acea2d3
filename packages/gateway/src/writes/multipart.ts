import { xmlAnswer, type Answer } from '../protocol/answers.js';
import { malformedXml, parseXml } from '../protocol/parse-xml.js';
import { invalidArgument, notImplemented } from '../protocol/s3-error.js';
import { element, xmlDocument } from '../protocol/xml.js';
import type { UploadOf } from '../hierarchy/hierarchy-writes.js';
import { bodyOf, xmlOf, type WriteCall } from './call.js';
import { assertLength, assertPlain, checksumHeaders } from './headers.js';

const MAX_PARTS = 10_000;

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
  const text = request.query.get('partNumber') ?? '';
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > MAX_PARTS)
    throw invalidArgument(
      'partNumber',
      text,
      `Part number must be an integer between 1 and ${MAX_PARTS}, inclusive`,
    );
  storage.innerOf(request.key);
  assertPlain(request.headers);
  assertLength(request.headers);
  const body = bodyOf(call);
  const etag = await storage.writePart(uploadOf(call), { number, body }, signal);
  return { status: 200, headers: ['ETag', etag, ...checksumHeaders(body)] };
}

/** CompleteMultipartUpload. */
export async function completeUpload(call: WriteCall): Promise<Answer> {
  const { request, storage, signal } = call;
  const { bucket, key, headers, canonicalPath } = request;
  storage.innerOf(key);
  assertPlain(headers);
  // Servers may ignore it where parts are put together.
  if (headers['if-none-match'] !== undefined) throw notImplemented('conditions of uploads in parts');
  const { xml } = await xmlOf(call);
  const parts = parseXml(xml, 'CompleteMultipartUpload')
    .all('Part')
    .map((part) => ({ number: Number(part.textOf('PartNumber')), etag: part.textOf('ETag') ?? '' }));
  const areKnown = parts.every(({ number, etag }) => Number.isInteger(number) && etag !== '');
  if (parts.length === 0 || parts.length > MAX_PARTS || !areKnown) throw malformedXml();
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
