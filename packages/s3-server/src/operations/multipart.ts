import { createHash } from 'node:crypto';
import {
  checksumOf,
  element,
  givenChecksums,
  isChecksumAlgorithm,
  malformedXml,
  parsePartNumber,
  parseXml,
  S3Error,
  xmlAnswer,
  xmlDocument,
  type Answer,
  type XmlElement,
} from '@tiered/gateway/internal';
import { checkWrite } from '../protocol/write-conditions.js';
import { StoredObject, type StoredChecksum, type Upload, type UploadedPart } from '../storage.js';
import type { Call } from './call.js';
import { compositeOf } from './composite.js';
import { checksumHeaders, metadataOf } from './objects.js';

/** CreateMultipartUpload. */
export function createUpload({ request, bucket, newId }: Call): Answer {
  const { key, headers } = request;
  const id = newId();
  const checksum = checksumAsked(headers['x-amz-checksum-algorithm'], headers['x-amz-checksum-type']);
  bucket.uploads.set(id, { key, metadata: metadataOf(headers), checksum, parts: new Map() });
  const content = element('Bucket', bucket.name) + element('Key', key) + element('UploadId', id);
  return xmlAnswer(xmlDocument('InitiateMultipartUploadResult', content));
}

function checksumAsked(
  algorithm: string | string[] | undefined,
  type: string | string[] | undefined,
): Upload['checksum'] {
  if (algorithm === undefined) return undefined;
  const name = String(algorithm).toLowerCase();
  if (!isChecksumAlgorithm(name)) {
    throw new S3Error(400, 'InvalidRequest', 'Checksum algorithm provided is unsupported.');
  }
  const full = type === 'FULL_OBJECT' || name === 'crc64nvme';
  return { algorithm: name, type: full ? 'FULL_OBJECT' : 'COMPOSITE' };
}

/** UploadPart. A part that is sent again replaces the earlier one. */
export function uploadPart(call: Call): Answer {
  const { query, body, checksums } = call.request;
  const { parts } = uploadOf(call);
  const number = parsePartNumber(query.get('partNumber') ?? '');
  const etag = `"${createHash('md5').update(body).digest('hex')}"`;
  parts.set(number, { bytes: body, etag });
  return { status: 200, headers: ['ETag', etag, ...givenChecksums(checksums)] };
}

/** CompleteMultipartUpload. The parts, in order, become the object. */
export async function completeUpload(call: Call): Promise<Answer> {
  const { request, bucket, now, ignoreConditions } = call;
  const { key, headers, body } = request;
  const upload = uploadOf(call);
  const parts = partsAsked(parseXml(body, 'CompleteMultipartUpload'), upload, call.minPartBytes);
  const digests = parts.map(({ etag }) => Buffer.from(etag.slice(1, -1), 'hex'));
  const etag = `"${createHash('md5').update(Buffer.concat(digests)).digest('hex')}-${parts.length}"`;
  const bytes = Buffer.concat(parts.map((part) => part.bytes));
  const checksum = await checksumOfParts(upload, parts, bytes);
  // The code below does not wait, so if two requests complete the upload, one of them finds it gone.
  uploadOf(call);
  if (!ignoreConditions) checkWrite(headers, key, bucket.get(key));
  bucket.put(key, new StoredObject(bytes, { lastModified: now, metadata: upload.metadata, checksum, etag }));
  bucket.uploads.delete(request.query.get('uploadId') ?? '');
  const content = [
    element('Location', `http://${headers.host ?? ''}${request.canonicalPath}`),
    element('Bucket', bucket.name),
    element('Key', key),
    element('ETag', etag),
  ];
  const document = xmlDocument('CompleteMultipartUploadResult', content.join(''));
  return xmlAnswer(document, checksum === undefined ? [] : checksumHeaders(checksum));
}

/** AbortMultipartUpload. */
export function abortUpload(call: Call): Answer {
  uploadOf(call);
  call.bucket.uploads.delete(call.request.query.get('uploadId') ?? '');
  return { status: 204, headers: [] };
}

function uploadOf({ request, bucket }: Call): Upload {
  const upload = bucket.uploads.get(request.query.get('uploadId') ?? '');
  if (upload?.key === request.key) return upload;
  throw new S3Error(
    404,
    'NoSuchUpload',
    'The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.',
  );
}

function partsAsked(root: XmlElement, { parts }: Upload, minPartBytes: number): UploadedPart[] {
  const asked = root.all('Part').map((part) => ({
    number: Number(part.textOf('PartNumber')),
    etag: part.textOf('ETag')?.replaceAll('"', ''),
  }));
  if (asked.length === 0) throw malformedXml();
  if (asked.some(({ number }, index) => number <= (asked[index - 1]?.number ?? 0))) {
    throw new S3Error(400, 'InvalidPartOrder', 'The list of parts was not in ascending order.');
  }
  const found = asked.map(({ number, etag }) => {
    const part = parts.get(number);
    if (part?.etag.slice(1, -1) === etag && part !== undefined) return part;
    throw new S3Error(400, 'InvalidPart', 'One or more of the specified parts could not be found.', {
      elements: { PartNumber: number },
    });
  });
  const small = found.slice(0, -1).find(({ bytes }) => bytes.byteLength < minPartBytes);
  if (small !== undefined) throw entityTooSmall(small, minPartBytes);
  return found;
}

function entityTooSmall({ bytes }: UploadedPart, minPartBytes: number): S3Error {
  return new S3Error(400, 'EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed size', {
    elements: { ProposedSize: bytes.byteLength, MinSizeAllowed: minPartBytes },
  });
}

/** Computes the checksum over the whole object, or over the checksums of its parts. */
async function checksumOfParts(
  { checksum }: Upload,
  parts: readonly UploadedPart[],
  bytes: Uint8Array,
): Promise<StoredChecksum | undefined> {
  if (checksum === undefined) return undefined;
  const { algorithm, type } = checksum;
  const value =
    type === 'FULL_OBJECT'
      ? await checksumOf(algorithm, bytes)
      : await compositeOf(
          algorithm,
          parts.map((part) => part.bytes),
        );
  return { algorithm, type, value };
}
