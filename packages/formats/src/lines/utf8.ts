import { damaged } from '../contract/damage.js';
import type { RawRecord } from '../contract/format.js';

/** Throws for invalid bytes, and leaves a BOM where it is. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What UTF-8 files may begin with. */
export const BOM = Uint8Array.of(0xef, 0xbb, 0xbf);

/** The text of a record. @throws TieredError `TIERED_DATA_CORRUPT` for bytes that are not UTF-8. */
export function textOf({ key, offset, bytes }: RawRecord): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw damaged({ key, offset }, 'this line is not UTF-8', 'Write the object again, as UTF-8.', cause);
  }
}
