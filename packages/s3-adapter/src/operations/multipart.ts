import type { WrittenPart } from '@tiered/core/driver';
import { onAbort } from '@tiered/core/internal';
import { etagOf, failureOf, headerOf } from '../http/answers.js';
import type { S3Client } from '../http/client.js';
import { wrongAnswer } from '../http/failure.js';
import { escapeXml, textAt } from '../http/xml.js';

/**
 * Parts of one upload that are sent concurrently. Together with the part that is being filled they bound the
 * memory.
 */
const PARTS_AT_ONCE = 4;
const MOST_PARTS = 10_000;
/** AWS takes minutes to put thousands of parts together, and sends blanks meanwhile. */
const LEAST_WORK_MS = 30_000;
const WORK_MS_PER_PART = 50;

/** An object to be uploaded in parts. */
export interface Upload {
  readonly key: string;
  readonly size: number;
  /** Pieces of any size, until an abort. Throws unless they add up to `size` bytes. */
  readonly pieces: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
  readonly partBytes: number;
  readonly signal: AbortSignal | undefined;
}

/** An upload that has begun. */
export interface BegunUpload {
  readonly client: S3Client;
  readonly key: string;
  readonly uploadId: string;
  readonly signal: AbortSignal | undefined;
}

interface Uploading extends BegunUpload {
  /** Aborts with the first error. */
  readonly end: AbortController;
}

/**
 * Uploads an object in parts. The object is invisible until all parts are there. If anything goes wrong, the
 * upload is aborted before the error is thrown, so that no parts are left that cost money. Takes the memory
 * of at most 5 parts.
 */
export async function uploadInParts(client: S3Client, upload: Upload): Promise<void> {
  const { key, size, pieces, signal } = upload;
  const partBytes = Math.max(upload.partBytes, Math.ceil(size / MOST_PARTS));
  const uploadId = await beginUpload(client, upload);
  const end = new AbortController();
  const stopListening = onAbort(signal, (reason) => end.abort(reason));
  const uploading = { client, key, uploadId, end, signal: end.signal };
  try {
    const etags = await sendParts(uploading, inParts(pieces(end.signal), partBytes));
    const parts = etags.map((etag, i) => ({ number: i + 1, etag }));
    await completeUpload(uploading, parts);
  } catch (error) {
    end.abort(error);
    await endUpload({ ...uploading, signal: undefined }).catch(() => undefined);
    throw end.signal.reason;
  } finally {
    stopListening();
  }
}

/** Begins an upload. An abort waits for the answer, since the upload could not be aborted without its id. */
export async function beginUpload(
  client: S3Client,
  { key, signal }: Pick<Upload, 'key' | 'signal'>,
): Promise<string> {
  const request = { method: 'POST', key, query: { uploads: '' }, isAwaited: true } as const;
  const { status, body } = await client.request(request, signal);
  const id = textAt(body, 'InitiateMultipartUploadResult', 'UploadId');
  if (id === undefined || id === '')
    throw wrongAnswer(status, 'NoUploadId', 'the server does not support multipart uploads', false);
  return id;
}

/** Sends the parts, several at a time. Returns their ETags in order. */
async function sendParts(uploading: Uploading, parts: AsyncIterable<Uint8Array>): Promise<readonly string[]> {
  const { end } = uploading;
  const etags: string[] = [];
  const sending = new Set<Promise<void>>();
  let number = 0;
  try {
    for await (const part of parts) {
      while (sending.size >= PARTS_AT_ONCE) await Promise.race(sending);
      end.signal.throwIfAborted();
      const index = number++;
      const sent = sendPart(uploading, { number: index + 1, bytes: part })
        .then(
          (etag) => {
            etags[index] = etag;
          },
          (error: unknown) => end.abort(error),
        )
        .finally(() => sending.delete(sent));
      sending.add(sent);
    }
  } catch (error) {
    end.abort(error);
  }
  await Promise.all(sending);
  end.signal.throwIfAborted();
  return etags;
}

/** Sends a part, and returns its ETag. */
export async function sendPart(
  { client, key, uploadId, signal }: BegunUpload,
  { number, bytes: body }: { readonly number: number; readonly bytes: Uint8Array },
): Promise<string> {
  const query = { partNumber: String(number), uploadId };
  const { status, headers } = await client.request({ method: 'PUT', key, query, body }, signal);
  const etag = headerOf(headers, 'etag');
  if (etag === undefined) throw wrongAnswer(status, 'NoETag', 'the server sends no ETag for a part', false);
  return etagOf(etag);
}

/** Publishes the object. An abort waits for the answer, so that a rejected write has left nothing. */
export async function completeUpload(
  { client, key, uploadId, signal }: BegunUpload,
  parts: readonly WrittenPart[],
): Promise<void> {
  const elements = parts.map(
    ({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
  );
  const text = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${elements.join('')}</CompleteMultipartUpload>`;
  const headers = { 'content-type': 'application/xml' };
  const body = Buffer.from(text);
  const workMs = LEAST_WORK_MS + parts.length * WORK_MS_PER_PART;
  const request = {
    method: 'POST',
    key,
    query: { uploadId },
    headers,
    body,
    workMs,
    isAwaited: true,
  } as const;
  await client.retry(signal, async () => {
    const answer = await client.send(request, undefined, signal);
    // The status was sent before the parts were put together. The body says whether that succeeded.
    if (textAt(answer.body, 'CompleteMultipartUploadResult', 'Key') === undefined)
      throw failureOf({ ...answer, status: 500 }, undefined);
  });
}

/** Ends an upload, and removes its parts. AWS's lifecycle rules deal with leftover parts. */
export async function endUpload({ client, key, uploadId, signal }: BegunUpload): Promise<void> {
  await client.request({ method: 'DELETE', key, query: { uploadId } }, signal);
}

/**
 * Turns pieces of any size into parts of one size, each in memory of its own. The last part may be shorter.
 */
async function* inParts(pieces: AsyncIterable<Uint8Array>, partBytes: number): AsyncGenerator<Uint8Array> {
  let part = Buffer.allocUnsafeSlow(partBytes);
  let filled = 0;
  for await (const piece of pieces) {
    for (let from = 0; from < piece.byteLength;) {
      const taken = Math.min(partBytes - filled, piece.byteLength - from);
      part.set(piece.subarray(from, from + taken), filled);
      from += taken;
      filled += taken;
      if (filled < partBytes) continue;
      yield part;
      part = Buffer.allocUnsafeSlow(partBytes);
      filled = 0;
    }
  }
  if (filled > 0) yield part.subarray(0, filled);
}
