import { randomUUID } from 'node:crypto';
import { headerOf } from '../http/answers.js';
import type { S3Client } from '../http/client.js';
import { Failure } from '../http/failure.js';

/** Headers of the requests of a write. */
export interface WriteHeaders {
  /** Headers of the request that begins the object. */
  readonly begin: Readonly<Record<string, string>>;
  /** Headers of the request that publishes it. */
  readonly publish: Readonly<Record<string, string>>;
}

/** The headers of a write that replaces an object. */
export const REPLACING: WriteHeaders = { begin: {}, publish: {} };

/**
 * Identifies the write that made an object, so that a write whose answer was lost recognises its own object.
 */
const MARK = 'x-amz-meta-tiered-write';

/**
 * Writes an object only if there is none: the server decides (`If-None-Match: *`). A write that was repeated
 * because its answer got lost may find its own object: that costs a HEAD, and is a success.
 * @throws Failure `TIERED_EXISTS` if there is an object, `TIERED_UNSUPPORTED` if the server does not support
 * such writes.
 */
export async function writeIfAbsent(
  client: S3Client,
  key: string,
  signal: AbortSignal | undefined,
  write: (headers: WriteHeaders) => Promise<void>,
): Promise<void> {
  const mark = randomUUID();
  try {
    await write({ begin: { [MARK]: mark }, publish: { 'if-none-match': '*' } });
  } catch (error) {
    signal?.throwIfAborted();
    const mayBeOurs = error instanceof Failure && error.attempts > 1 && ENDED.has(error.details.status ?? 0);
    if (!mayBeOurs || (await markOf(client, key, signal)) !== mark) throw error;
  }
}

/**
 * The statuses with which servers answer a request whose first attempt has published the object: 412, or 404
 * since the upload is gone.
 */
const ENDED = new Set([404, 412]);

/**
 * Checks that there is no object, before anything large is sent in vain.
 * @throws Failure `TIERED_EXISTS`
 */
export async function assertAbsent(
  client: S3Client,
  key: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const request = { method: 'HEAD', key } as const;
  const found = await client.request(request, signal).catch((error: unknown) => {
    if (error instanceof Failure && error.details.means === 'TIERED_NOT_FOUND') return undefined;
    throw error;
  });
  if (found !== undefined)
    throw new Failure({
      status: found.status,
      code: 'ObjectExists',
      means: 'TIERED_EXISTS',
      advice: 'there is such an object already',
    });
}

async function markOf(
  client: S3Client,
  key: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { headers } = await client.request({ method: 'HEAD', key }, signal);
  return headerOf(headers, MARK);
}
