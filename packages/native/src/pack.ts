import type { ReadRequest } from '@tiered/core/driver';

/** A batch of reads in the form passed to C: one text and one table, so that a read costs no object. */
export interface Packed {
  /** All keys, followed by all versions if there are any, separated by NUL. */
  readonly texts: string;
  /**
   * Five numbers per read: index of the memory, offset in it, length in bytes, offset in the file, and number
   * of pieces. The pieces of all reads follow, as in `ReadRequest`.
   */
  readonly numbers: Float64Array;
  /** Each whole buffer that contains a target. */
  readonly memories: readonly Uint8Array[];
}

/** A version that no file has. */
const NONE = '?';

/** A version in the form for C: empty for any. */
export function versionText(version: string | undefined): string {
  if (version === undefined) return '';
  return version === '' || version.includes('\0') ? NONE : version;
}

/** The key and the version of one file in the form for C, as in `Packed.texts`. */
export function textsOf(key: string, version: string | undefined): string {
  const named = textOfKey(key);
  return version === undefined ? named : `${named}\0${versionText(version)}`;
}

/** NUL separates texts. A key with NUL is sent as an empty one, which is refused in the same way. */
function textOfKey(key: string): string {
  return key.includes('\0') ? '' : key;
}

/** Packs a batch. The C code checks it. */
export function pack(requests: readonly ReadRequest[]): Packed {
  const keys: string[] = [];
  const versions: string[] = [];
  let hasVersions = false;
  let length = requests.length * 5;
  for (const { pieces } of requests) length += pieces?.length ?? 0;
  const numbers = new Float64Array(length);
  let ofPieces = requests.length * 5;
  const memories = new Memories();
  let at = 0;
  for (const { key, version, target, offset, pieces } of requests) {
    keys.push(textOfKey(key));
    hasVersions ||= version !== undefined;
    versions.push(versionText(version));
    numbers[at++] = memories.indexOf(target.buffer);
    numbers[at++] = target.byteOffset;
    numbers[at++] = target.byteLength;
    numbers[at++] = offset;
    numbers[at++] = (pieces?.length ?? 0) / 2;
    if (pieces === undefined) continue;
    numbers.set(pieces, ofPieces);
    ofPieces += pieces.length;
  }
  const texts = hasVersions ? keys.concat(versions) : keys;
  return { texts: texts.join('\0'), numbers, memories: memories.views };
}

/** The buffers of a batch, mostly one. */
class Memories {
  readonly views: Uint8Array[] = [];
  readonly #indexes = new Map<ArrayBufferLike, number>();
  #last: ArrayBufferLike | undefined;
  #lastIndex = 0;

  indexOf(buffer: ArrayBufferLike): number {
    if (buffer === this.#last) return this.#lastIndex;
    let index = this.#indexes.get(buffer);
    if (index === undefined) {
      index = this.views.push(new Uint8Array(buffer)) - 1;
      this.#indexes.set(buffer, index);
    }
    this.#last = buffer;
    this.#lastIndex = index;
    return index;
  }
}
