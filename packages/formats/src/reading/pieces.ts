import { damaged } from '../contract/damage.js';
import type { IndexOptions, ObjectReader } from '../contract/format.js';

/** Bytes of a read. */
const PIECE = 1024 * 1024;

/**
 * Reads an object from its beginning to its end, in pieces of 1 MiB. Looks at the signal before each. An
 * object that ends before its size is damage, and the pieces end there.
 */
export async function* pieces(
  object: ObjectReader,
  { signal, onDamage }: IndexOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let offset = 0; offset < object.size; offset += PIECE) {
    signal?.throwIfAborted();
    const length = Math.min(PIECE, object.size - offset);
    const bytes = await object.read(offset, length);
    yield bytes;
    if (bytes.byteLength < length) {
      const end = { key: object.key, offset: offset + bytes.byteLength };
      onDamage(
        damaged(
          end,
          `it ends here, and not at byte ${object.size}`,
          'It was changed: index the source again.',
        ),
      );
      return;
    }
  }
}
