import { PAGE_ENTRIES } from './pages.js';
import { PAGE_BYTES } from './record-arena.js';

/** The entries of a namespace, as the pages that hold them. For reading only. */
export interface NamespaceImage {
  readonly count: number;
  /** Bytes of the records, counted from the start of the first page. */
  readonly recordBytes: number;
  /** By id: the reference of its record. */
  readonly references: readonly Uint32Array[];
  /** By id: size of the object in bytes, or -1 if it was removed. */
  readonly sizes: readonly Float64Array[];
  readonly records: readonly Buffer[];
}

/** The total number of bytes in the sections of an image. */
export function sectionBytes({ count, recordBytes }: Pick<NamespaceImage, 'count' | 'recordBytes'>): number {
  return count * (Uint32Array.BYTES_PER_ELEMENT + Float64Array.BYTES_PER_ELEMENT) + recordBytes;
}

/** An image of so many entries, with empty sections. */
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

/** Views of the filled part of every page, always in the same order. No view is larger than 1 MiB. */
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
