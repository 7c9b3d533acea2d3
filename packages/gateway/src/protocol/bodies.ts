import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { entityTooLarge, S3Error } from './s3-error.js';

/** The header that describes the body of a signed request. */
export const PAYLOAD = 'x-amz-content-sha256';
/** Its value if the body is not signed. */
export const UNSIGNED = 'UNSIGNED-PAYLOAD';

/**
 * Reads the body of a request into one piece of memory.
 * @param most Bytes.
 * @param goOn Tells a client that asked first to send its body.
 * @throws S3Error 400 `EntityTooLarge`, before more than that is in memory; the error of the connection if
 * the client goes away.
 */
export async function readBody(
  message: IncomingMessage,
  most: number,
  goOn: () => void,
): Promise<Uint8Array> {
  if (Number(message.headers['content-length'] ?? 0) > most) throw entityTooLarge(most);
  if (message.headers.expect !== undefined) goOn();
  const pieces: Buffer[] = [];
  let bytes = 0;
  // The connection stays open for the answer.
  for await (const piece of message.iterator({ destroyOnReturn: false })) {
    pieces.push(piece as Buffer);
    bytes += (piece as Buffer).byteLength;
    if (bytes > most) throw entityTooLarge(most);
  }
  return Buffer.concat(pieces);
}

/**
 * Compares a body with the signed hash, unless that is `UNSIGNED-PAYLOAD`.
 * @param isSigned Whether the request is signed. Then it must give a hash.
 * @throws S3Error 400 `InvalidRequest`, `XAmzContentSHA256Mismatch`; 501 `NotImplemented` for other kinds.
 */
export function checkHash(body: Uint8Array, headers: IncomingHttpHeaders, isSigned: boolean): void {
  const hash = hashIn(headers, isSigned);
  if (hash !== undefined && createHash('sha256').update(body).digest('hex') !== hash) throw mismatch();
}

/** Returns the hash that a body must have, in hexadecimal digits. See `checkHash`. */
export function hashIn(headers: IncomingHttpHeaders, isSigned: boolean): string | undefined {
  const hash = headers[PAYLOAD];
  if (hash === undefined && isSigned)
    throw new S3Error(400, 'InvalidRequest', `Missing required header for this request: ${PAYLOAD}`);
  if (hash === undefined || hash === UNSIGNED) return undefined;
  if (typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash)) return hash;
  throw new S3Error(
    501,
    'NotImplemented',
    'This server takes bodies that are signed, unsigned, or unsigned in chunks.',
  );
}

/** Makes the error of a body whose hash differs. */
export function mismatch(): S3Error {
  return new S3Error(
    400,
    'XAmzContentSHA256Mismatch',
    "The provided 'x-amz-content-sha256' header does not match what was computed.",
  );
}

/** Makes the error of a body that is not as long as announced. */
export function incomplete(): S3Error {
  return new S3Error(
    400,
    'IncompleteBody',
    'You did not provide the number of bytes specified by the Content-Length HTTP header',
  );
}
