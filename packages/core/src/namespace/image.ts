import { PAGE_ENTRIES } from './pages.js';
import { PAGE_BYTES } from './record-arena.js';

/** The entries of a namespace as the pages that hold them. Its holder only reads it. */
export interface NamespaceImage {
  readonly count: number;
  /** How far the pages of records are filled, counted from the start of the first. */
  readonly recordBytes: number;
  /** By id: where in the records its record is. */
  readonly references: readonly Uint32Array[];
  /** By id: bytes of the object, or -1 if it is gone. */
  readonly sizes: readonly Float64Array[];
  readonly records: readonly Buffer[];
}

/** How many bytes the sections of an image have in all. */
export function sectionBytes({ count, recordBytes }: Pick<NamespaceImage, 'count' | 'recordBytes'>): number {
  return count * (Uint32Array.BYTES_PER_ELEMENT + Float64Array.BYTES_PER_ELEMENT) + recordBytes;
}

/** An image of so many entries, whose sections are still to be filled. */
export function blankImage(count: number, recordBytes: number): NamespaceImage {
  const pagesFor = <T>(length: number, pageLength: number, make: () => T): T[] =>
    Array.from({ length: Math.ceil(length / pageLength) }, make);
  return {
    count,
    recordBytes,
    references: pagesFor(count, PAGE_ENTRIES, () => new Uint32Array(PAGE_ENTRIES)),
    sizes: pagesFor(count, PAGE_ENTRIES, () => new Float64Array(PAGE_ENTRIES)),
    records: pagesFor(recordBytes, PAGE_BYTES, () => Buffer.alloc(PAGE_BYTES)),
  };
}

/** Views on what is filled of every page, always in the same order; none is larger than 1 MiB. */
export function sectionsOf({ count, recordBytes, references, sizes, records }: NamespaceImage): Uint8Array[] {
  return [
    ...filled(references, count * Uint32Array.BYTES_PER_ELEMENT),
    ...filled(sizes, count * Float64Array.BYTES_PER_ELEMENT),
    ...filled(records, recordBytes),
  ];
}

function filled(pages: readonly (Uint8Array | Uint32Array | Float64Array)[], bytes: number): Uint8Array[] {
  let left = bytes;
  return pages.map(({ buffer, byteOffset, byteLength }) => {
    const length = Math.min(byteLength, left);
    left -= length;
    return new Uint8Array(buffer, byteOffset, length);
  });
}
