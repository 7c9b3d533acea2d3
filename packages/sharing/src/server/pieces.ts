import { TieredError, type OperationOptions } from '@tiered/core';
import type { SampleReader, SampleSource } from '@tiered/prefetch';
import { MAX_PAYLOAD_BYTES } from '../wire/protocol.js';

/** Bytes of server memory for a client's read. A longer read is made in pieces of this size. */
const PIECE_BYTES = MAX_PAYLOAD_BYTES;

/** Tries to read the first piece if the object is replaced meanwhile. */
const TRIES = 3;

/** Reads by name. May also report whether an object is still the same. */
export type PieceReader = Pick<SampleReader, 'readInto'> & Partial<Pick<SampleSource, 'stat'>>;

/** A part of an object. */
interface Part {
  readonly key: string;
  readonly offset: number;
  readonly length: number;
}

/**
 * Reads a part of an object piece by piece, all pieces of one version. Each piece overwrites the one before.
 * @throws TieredError `TIERED_SOURCE_CHANGED` if the object was replaced after the first piece was yielded,
 * or during each of three tries to read that piece. Passes on the reader's errors.
 */
export async function* piecesOf(
  reader: PieceReader,
  { key, offset, length }: Part,
  options: OperationOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const memory = Buffer.allocUnsafeSlow(Math.min(length, PIECE_BYTES));
  const read = async (sent: number) => {
    const target = memory.subarray(0, length - sent);
    return target.subarray(0, await reader.readInto(key, target, { ...options, offset: offset + sent }));
  };
  // A single read is always of one version.
  const versionNow = async () =>
    length > PIECE_BYTES ? versionOf(await reader.stat?.(key, options)) : undefined;

  let version = await versionNow();
  let piece = await read(0);
  for (let tries = 1; piece.byteLength === PIECE_BYTES; tries++) {
    const now = await versionNow();
    if (now === version) break;
    // Nothing was yielded yet, so the read can restart. The known version may have been out of date.
    if (tries === TRIES) throw replaced(key);
    version = now;
    piece = await read(0);
  }
  for (let sent = 0; ; piece = await read(sent)) {
    if (sent > 0 && (await versionNow()) !== version) throw replaced(key);
    if (piece.byteLength > 0) yield piece;
    sent += piece.byteLength;
    if (piece.byteLength < PIECE_BYTES || sent === length) return;
  }
}

function versionOf(object: Awaited<ReturnType<SampleSource['stat']>> | undefined): string | undefined {
  return object && `${object.size} ${object.version ?? ''}`;
}

function replaced(key: string): TieredError {
  return new TieredError(
    'TIERED_SOURCE_CHANGED',
    `${JSON.stringify(key)} was replaced in the source while it was read in pieces of ${PIECE_BYTES} bytes; read it again.`,
    { key, retryable: true },
  );
}
