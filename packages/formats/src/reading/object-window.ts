import { damaged, type IndexOptions, type ObjectReader } from '../contract/format.js';

/** Bytes of a read where what is asked for lies far apart. */
const SMALLEST = 16 * 1024;
/** Bytes of a read where it lies close together: the requests to a storage far away are then few. */
const LARGEST = 1024 * 1024;
/** From this distance on, to skip what lies between costs less than to read it. */
const FAR = 256 * 1024;

/**
 * Looks at an object from its beginning to its end, at any bytes. Bytes that lie close together are
 * read in pieces that grow up to 1 MiB. Those between distant ones are skipped, so that nobody reads large
 * payloads to find where they end. Holds one piece, or the requested bytes if they are more.
 */
export class ObjectWindow {
  readonly #object: ObjectReader;
  readonly #signal: AbortSignal | undefined;
  #start = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #lastOffset = 0;
  #piece = SMALLEST / 2;

  /** @param signal Is looked at before each read. */
  constructor(object: ObjectReader, signal: AbortSignal | undefined) {
    this.#object = object;
    this.#signal = signal;
  }

  /** The key of the object. */
  get key(): string {
    return this.#object.key;
  }

  /** Bytes of the object. */
  get size(): number {
    return this.#object.size;
  }

  /** Bytes from `offset` on, at least `least`, if they are there already. Offsets only grow. */
  peek(offset: number, least: number): Uint8Array | undefined {
    const at = offset - this.#start;
    if (at + least > this.#bytes.byteLength) return undefined;
    this.#lastOffset = offset;
    return this.#bytes.subarray(at);
  }

  /** Reads bytes from `offset` on, at least `least`. Fewer come only at the end of the object. */
  async read(offset: number, least: number): Promise<Uint8Array> {
    this.#signal?.throwIfAborted();
    const isFar = offset - this.#lastOffset >= FAR;
    this.#piece = isFar ? SMALLEST : Math.min(2 * this.#piece, LARGEST);
    const length = Math.min(Math.max(least, this.#piece), this.#object.size - offset);
    this.#bytes = await this.#object.read(offset, length);
    this.#start = offset;
    this.#lastOffset = offset;
    return this.#bytes;
  }
}

/** Bytes of a read. */
export const PIECE = 1024 * 1024;

/**
 * Reads an object from its beginning to its end, in pieces of 1 MiB. The first is what the window has there
 * already. Looks at the signal before each read. An object that ends before its size is damage, and the
 * pieces end there.
 */
export async function* pieces(
  window: ObjectWindow,
  { onDamage }: Pick<IndexOptions, 'onDamage'>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let offset = 0; offset < window.size;) {
    const bytes = window.peek(offset, 1) ?? (await window.read(offset, PIECE));
    if (bytes.byteLength > 0) yield bytes;
    offset += bytes.byteLength;
    if (bytes.byteLength > 0 || offset >= window.size) continue;
    const problem = `it ends here, and not at byte ${window.size}`;
    onDamage(damaged({ key: window.key, offset }, problem, 'It was changed: index the source again.'));
    return;
  }
}
