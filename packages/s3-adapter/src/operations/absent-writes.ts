import { randomUUID } from 'node:crypto';
import { headerOf } from '../http/answers.js';
import type { S3Client } from '../http/client.js';
import { Failure } from '../http/failure.js';

/** Headers of a request. */
type Headers = Readonly<Record<string, string>>;

/**
 * The most bytes of an object that is written only if absent. Such a write is one PUT, in the memory of the
 * object, and an abort waits for its answer.
 */
export const MOST_IF_ABSENT = 64 * 2 ** 20;

/**
 * Identifies the write that made an object, so that a write that lost its answer recognises its own object.
 */
const MARK = 'x-amz-meta-tiered-write';

/**
 * Writes an object only if absent: the server decides (`If-None-Match: *`). The condition is in the PUT of
 * the object, as servers that know the header there may silently ignore it at the end of an upload in parts:
 * of four writers radosgw 16 lets all win, and Swift up to four. A write that was retried after its answer
 * got lost may find its own object: that costs a HEAD, and is a success.
 * @throws Failure `TIERED_EXISTS` if there is an object, `TIERED_UNSUPPORTED` if the server does not support
 * such writes.
 */
export async function writeIfAbsent(
  client: S3Client,
  key: string,
  signal: AbortSignal | undefined,
  write: (headers: Headers) => Promise<void>,
): Promise<void> {
  const mark = randomUUID();
  try {
    await write({ [MARK]: mark, 'if-none-match': '*' });
  } catch (error) {
    signal?.throwIfAborted();
    const mayBeOurs = error instanceof Failure && error.attempts > 1 && error.details.status === 412;
    if (!mayBeOurs || (await markOf(client, key, signal)) !== mark) throw error;
  }
}

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

/** An object that is too large to be written only if absent. */
export function tooLargeIfAbsent(): Failure {
  return new Failure({
    code: 'TooLargeIfAbsent',
    means: 'TIERED_UNSUPPORTED',
    advice: `objects of more than ${MOST_IF_ABSENT / 2 ** 20} MiB are uploaded in parts, where servers may ignore ifAbsent; leave it out, or write smaller objects`,
  });
}
