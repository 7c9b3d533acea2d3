import { damaged } from '../contract/damage.js';
import type { IndexOptions } from '../contract/format.js';
import type { ObjectWindow } from './object-window.js';

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
