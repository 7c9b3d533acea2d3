import { incomplete } from './bodies.js';

/** The trailers after the last chunk. Names are in lower case. */
export type Trailers = Map<string, string>;

/** Most bytes of a line: the length of a chunk, or a checksum. */
const LONGEST_LINE = 1024;
/** Most lines after the last chunk. */
const MOST_TRAILERS = 16;

/**
 * Decodes an `aws-chunked` body: pieces, each after its length, and checksums after the last one.
 * @param trailers Receives the trailers after the last piece.
 * @throws S3Error 400 `IncompleteBody` for a body that ends too early or is malformed.
 */
export async function* outOfChunks(
  raw: AsyncIterable<Uint8Array>,
  trailers: Trailers,
): AsyncGenerator<Uint8Array, void, undefined> {
  const arriving = new Arriving(raw);
  try {
    for (;;) {
      const line = (await arriving.line()) ?? '';
      if (!/^[\da-f]{1,13}$/i.test(line)) throw incomplete();
      let left = Number.parseInt(line, 16);
      if (left === 0) break;
      while (left > 0) {
        const piece = await arriving.some(left);
        left -= piece.byteLength;
        yield piece;
      }
      if ((await arriving.line()) !== '') throw incomplete();
    }
    for (let line = await arriving.line(); line; line = await arriving.line()) {
      if (trailers.size === MOST_TRAILERS) throw incomplete();
      const colon = line.indexOf(':');
      trailers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    // The request has to end before the next one of the connection.
    while (await arriving.more());
  } finally {
    await arriving.close();
  }
}

/** Arriving bytes, read by lines and by pieces. */
class Arriving {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(raw: AsyncIterable<Uint8Array>) {
    this.#pieces = raw[Symbol.asyncIterator]();
  }

  /** Waits for more bytes. False at the end. */
  async more(): Promise<boolean> {
    const next = await this.#pieces.next();
    if (next.done === true) return false;
    const { value } = next;
    this.#rest = this.#rest.byteLength === 0 ? asBuffer(value) : Buffer.concat([this.#rest, value]);
    return true;
  }

  /** Takes a line, without its end. Undefined at the end. */
  async line(): Promise<string | undefined> {
    for (;;) {
      const end = this.#rest.indexOf('\r\n');
      if (end !== -1) {
        const line = this.#rest.toString('latin1', 0, end);
        this.#rest = this.#rest.subarray(end + 2);
        return line;
      }
      if (this.#rest.byteLength > LONGEST_LINE) throw incomplete();
      if (await this.more()) continue;
      if (this.#rest.byteLength > 0) throw incomplete();
      return undefined;
    }
  }

  /** Takes bytes that have arrived, at most this many. */
  async some(most: number): Promise<Uint8Array> {
    if (this.#rest.byteLength === 0 && !(await this.more())) throw incomplete();
    const piece = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(piece.byteLength);
    return piece;
  }

  /** Ends the iteration. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
