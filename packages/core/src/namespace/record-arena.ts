import { TieredError } from '../support/errors.js';
import { byteAt, hashOfNarrow, hashOfWide, unitAt } from './key-hash.js';
import { Pages } from './pages.js';

/** The result of a search for an unknown key. */
export const ABSENT = -1;

/** Longest key and longest version, in UTF-16 code units: their lengths are kept in 15 bits. */
export const LONGEST_TEXT = 2 ** 15 - 1;

/** Bytes of a page, as a power of two: 1 MiB. */
const PAGE_BITS = 20;
export const PAGE_BYTES = 2 ** PAGE_BITS;
/** Records begin at multiples of four bytes, so that 32 bits can address 16 GiB. */
const GRAIN_BITS = 2;
const GRAIN_BYTES = 2 ** GRAIN_BITS;
const PAGE_OF = PAGE_BITS - GRAIN_BITS;
const IN_PAGE = 2 ** PAGE_OF - 1;
const MAX_PAGES = 2 ** (32 - PAGE_OF);
/** Keeps 16 GiB of records below the 900 million that the largest index takes. */
const SMALLEST_RECORD = 24;

/** Whether so many bytes of records, possibly an arbitrary number, can hold so many entries. */
export function canHold(recordBytes: number, entries: number): boolean {
  return (
    recordBytes % GRAIN_BYTES === 0 &&
    recordBytes <= MAX_PAGES * PAGE_BYTES &&
    entries <= recordBytes / SMALLEST_RECORD
  );
}

/** Offsets of the fields in a record. */
const ID = 0;
const KEY_HEAD = 4;
const VERSION_HEAD = 6;
const VERSION_ROOM = 8;
const TEXTS = 10;

/**
 * Key and version of every entry, as bytes in pages. A record is
 *
 *     id                                     32 bits, the lowest byte first
 *     key head, version head, version room   16 bits each, the lower byte first
 *     key                                    one byte per code unit if all are below 256, else two
 *     version                                the same; it may fill only the first bytes of its room
 *
 * A head is the number of code units, doubled, plus 1 if they take two bytes each. Every JavaScript string is
 * restored exactly, ill-formed ones too. No record crosses a page boundary. A **reference** is the location
 * of a record.
 *
 * A version is overwritten in place if the new one fits. If not, its record moves to the end, with twice the
 * room. So an entry leaves at most log2(longest version in bytes) + 1 old records behind, however often it is
 * updated.
 */
export class RecordArena {
  readonly #pages: Pages<Buffer>;
  #usedBytes: number;

  /**
   * @param pages The initial content.
   * @param usedBytes The location of the next record, counted from the start of the first page.
   */
  constructor(pages?: readonly Buffer[], usedBytes = 0) {
    this.#pages = new Pages(() => Buffer.alloc(PAGE_BYTES), pages);
    this.#usedBytes = usedBytes;
  }

  /** Bytes in use, counted from the start of the first page. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /**
   * Adds a record with a key and a version of at most `LONGEST_TEXT` code units each. Returns its reference.
   * @throws TieredError `TIERED_NO_SPACE` at 16 GiB, some 200 million objects.
   */
  append(id: number, key: string, version: string, versionRoom = 0): number {
    const keyHead = headOf(key);
    const versionHead = headOf(version);
    const room = Math.max(versionRoom, byteLength(versionHead));
    const reference = this.#allot(TEXTS + byteLength(keyHead) + room);
    const page = this.#pages.at(reference >>> PAGE_OF);
    const at = offsetOf(reference);
    writeUnit(page, at + ID, id);
    writeUnit(page, at + ID + 2, id >>> 16);
    writeUnit(page, at + KEY_HEAD, keyHead);
    writeUnit(page, at + VERSION_ROOM, room);
    writeText(page, at + TEXTS, keyHead, key);
    writeUnit(page, at + VERSION_HEAD, versionHead);
    writeText(page, at + TEXTS + byteLength(keyHead), versionHead, version);
    return reference;
  }

  /** Gives a record another version. Returns the reference to use from now on. */
  renew(reference: number, version: string): number {
    const found = this.#pages.at(reference >>> PAGE_OF);
    const at = offsetOf(reference);
    const head = headOf(version);
    const room = unitAt(found, at + VERSION_ROOM);
    if (byteLength(head) > room) {
      const larger = Math.min(2 * room, 2 * LONGEST_TEXT);
      return this.append(idAt(found, at), this.keyAt(reference), version, larger);
    }
    const page = this.#pages.writable(reference >>> PAGE_OF);
    writeUnit(page, at + VERSION_HEAD, head);
    writeText(page, at + TEXTS + byteLength(unitAt(page, at + KEY_HEAD)), head, version);
    return reference;
  }

  keyAt(reference: number): string {
    const page = this.#pages.at(reference >>> PAGE_OF);
    const at = offsetOf(reference);
    return readText(page, at + TEXTS, unitAt(page, at + KEY_HEAD));
  }

  versionAt(reference: number): string {
    const page = this.#pages.at(reference >>> PAGE_OF);
    const at = offsetOf(reference);
    return readText(
      page,
      at + TEXTS + byteLength(unitAt(page, at + KEY_HEAD)),
      unitAt(page, at + VERSION_HEAD),
    );
  }

  /** The hash of a record's key, as `hashOfString` gives it. */
  hashAt(reference: number): number {
    const page = this.#pages.at(reference >>> PAGE_OF);
    const at = offsetOf(reference);
    const head = unitAt(page, at + KEY_HEAD);
    return (head & 1) === 0
      ? hashOfNarrow(page, at + TEXTS, head >>> 1)
      : hashOfWide(page, at + TEXTS, head >>> 1);
  }

  /**
   * The id of a record if it has this key, else `ABSENT`. Reads no more of either than it must, and allocates
   * nothing.
   */
  idIf(reference: number, key: string): number {
    const page = this.#pages.at(reference >>> PAGE_OF);
    const at = offsetOf(reference);
    return isText(page, at + TEXTS, unitAt(page, at + KEY_HEAD), key) ? idAt(page, at) : ABSENT;
  }

  /** Whether a record has this version. */
  hasVersion(reference: number, version: string): boolean {
    const page = this.#pages.at(reference >>> PAGE_OF);
    const at = offsetOf(reference);
    const start = at + TEXTS + byteLength(unitAt(page, at + KEY_HEAD));
    return isText(page, start, unitAt(page, at + VERSION_HEAD), version);
  }

  /** Whether two records have the same key. */
  sameKey(one: number, other: number): boolean {
    const [page, otherPage] = [this.#pages.at(one >>> PAGE_OF), this.#pages.at(other >>> PAGE_OF)];
    const [at, otherAt] = [offsetOf(one), offsetOf(other)];
    const head = unitAt(page, at + KEY_HEAD);
    if (head !== unitAt(otherPage, otherAt + KEY_HEAD)) return false;
    const [start, otherStart] = [at + TEXTS, otherAt + TEXTS];
    for (let i = 0; i < byteLength(head); i++)
      if (byteAt(page, start + i) !== byteAt(otherPage, otherStart + i)) return false;
    return true;
  }

  /**
   * Whether an arbitrary number is the reference of a record with this id that lies entirely within the
   * pages.
   */
  isRecordOf(id: number, reference: number): boolean {
    const index = reference >>> PAGE_OF;
    if (index >= this.#pages.length) return false;
    const page = this.#pages.at(index);
    const left = Math.min(PAGE_BYTES, this.#usedBytes - index * PAGE_BYTES) - offsetOf(reference);
    const at = offsetOf(reference);
    const room = unitAt(page, at + VERSION_ROOM);
    return (
      idAt(page, at) === id &&
      TEXTS + byteLength(unitAt(page, at + KEY_HEAD)) + room <= left &&
      byteLength(unitAt(page, at + VERSION_HEAD)) <= room
    );
  }

  /** See `Pages.lend`. */
  lend(): readonly Buffer[] {
    return this.#pages.lend();
  }

  /** Makes room at the end, on a new page if the last one has too little. */
  #allot(bytes: number): number {
    const length = Math.ceil(Math.max(bytes, SMALLEST_RECORD) / GRAIN_BYTES) * GRAIN_BYTES;
    if (length > this.#pages.length * PAGE_BYTES - this.#usedBytes) {
      if (this.#pages.length === MAX_PAGES) {
        throw new TieredError(
          'TIERED_NO_SPACE',
          'The namespace has no room for more than 16 GiB of keys and versions; give each hierarchy a part of the dataset.',
        );
      }
      this.#pages.add();
      this.#usedBytes = (this.#pages.length - 1) * PAGE_BYTES;
    }
    const reference = this.#usedBytes / GRAIN_BYTES;
    this.#usedBytes += length;
    return reference;
  }
}

/** The offset of a record in its page. */
function offsetOf(reference: number): number {
  return (reference & IN_PAGE) << GRAIN_BITS;
}

function idAt(page: Uint8Array, at: number): number {
  return (unitAt(page, at + ID) | (unitAt(page, at + ID + 2) << 16)) >>> 0;
}

function headOf(text: string): number {
  let units = 0;
  for (let i = 0; i < text.length; i++) units |= text.charCodeAt(i);
  return (text.length << 1) | (units > 0xff ? 1 : 0);
}

function byteLength(head: number): number {
  return (head >>> 1) << (head & 1);
}

function writeUnit(page: Uint8Array, at: number, unit: number): void {
  page[at] = unit;
  page[at + 1] = unit >>> 8;
}

function writeText(page: Uint8Array, at: number, head: number, text: string): void {
  if ((head & 1) === 0) for (let i = 0; i < text.length; i++) page[at + i] = text.charCodeAt(i);
  else for (let i = 0; i < text.length; i++) writeUnit(page, at + 2 * i, text.charCodeAt(i));
}

function readText(page: Buffer, at: number, head: number): string {
  return page.toString((head & 1) === 0 ? 'latin1' : 'utf16le', at, at + byteLength(head));
}

function isText(page: Uint8Array, at: number, head: number, text: string): boolean {
  const { length } = text;
  if (head >>> 1 !== length) return false;
  if ((head & 1) === 0) {
    for (let i = 0; i < length; i++) if (page[at + i] !== text.charCodeAt(i)) return false;
  } else {
    for (let i = 0; i < length; i++) if (unitAt(page, at + 2 * i) !== text.charCodeAt(i)) return false;
  }
  return true;
}
