import { buffer } from 'node:stream/consumers';
import type { HierarchyWrites } from '../hierarchy/hierarchy-writes.js';
import { ReceivedBody, sizeOf } from '../protocol/received-body.js';
import type { S3Request, WriteOperation } from '../protocol/requests.js';
import { entityTooLarge } from '../protocol/s3-error.js';

/** An authorized request to write. */
export interface WriteCall {
  readonly request: S3Request<WriteOperation>;
  readonly storage: HierarchyWrites;
  /** Begins to read the body of the request. */
  readonly pieces: () => AsyncIterable<Uint8Array>;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

/** Most bytes of an XML body: 1000 keys of the longest, or 10,000 parts with their checksums. */
const MOST_XML = 2 * 1024 * 1024;

/** The body of a request, before its bytes have been asked for. */
export function bodyOf({ request: { headers }, pieces }: WriteCall): ReceivedBody {
  return new ReceivedBody(
    {
      [Symbol.asyncIterator]: () => pieces()[Symbol.asyncIterator](),
    },
    headers,
  );
}

/**
 * Reads and checks an XML body.
 * @throws S3Error 400 `EntityTooLarge`.
 */
export async function xmlOf(
  call: WriteCall,
): Promise<{ readonly xml: Uint8Array; readonly body: ReceivedBody }> {
  const size = sizeOf(call.request.headers);
  if (size > MOST_XML) throw entityTooLarge(MOST_XML);
  const body = bodyOf(call);
  return { xml: await buffer(body), body };
}
