import { configError, invariant } from '@tiered/core/internal';
import fs from 'node:fs';
import path from 'node:path';
import { makeMapped } from './mapped-file.js';
import xxhash from 'xxhash-wasm';
import {
  AT_SOURCE,
  ENTRY_BYTES,
  FIRST_TEXT,
  HEADER_BYTES,
  IN_ENTRY,
  IN_HEADER,
  MAGIC,
  MOST_PATH,
  MOST_ROOTS,
  MOST_SLOTS,
  MOST_TIERS,
  packedDevice,
  placeWord,
  type Place,
} from './layout.js';

/** Options of a table. */
export interface TableOptions {
  /** The file. Its directory belongs to this user, and nobody else may write there. */
  readonly path: string;
  /**
   * The directory whose files programs open, as a canonical, absolute path, and other such paths by which
   * they come to it. At most 4.
   */
  readonly roots: readonly string[];
  /**
   * The identity of the root, and the mounts below it. Programs that see another root or other mounts read
   * what they see there.
   */
  readonly rootFile?: RootFile | undefined;
  /**
   * Whether the first root need not be there, because its files are no files yet. The second one is the
   * directory whose directories stand for its own. Default: false.
   */
  readonly isImaginary?: boolean | undefined;
  /** The directories of the tiers, the fastest first, as canonical, absolute paths. At most 16. */
  readonly tiers: readonly string[];
  /** Entries that it has room for. */
  readonly entries: number;
}

/** The identity of the root of a source. */
export interface RootFile {
  readonly device: bigint;
  readonly inode: bigint;
  /** The mounts below it, as `mountsBelow` spells them. */
  readonly mounts: readonly Uint8Array[];
}

/** The metadata of a source's file, for programs that read a copy of it. */
export interface SourceFile {
  readonly bytes: number;
  readonly inode: bigint;
  /** Nanoseconds since 1970. */
  readonly modified: bigint;
  readonly device: bigint;
  readonly mode: number;
  readonly user: number;
  readonly group: number;
}

/** XXH64 with a seed, of UTF-8 or of bytes. */
interface Hashes {
  readonly h64: (text: string, seed: bigint) => bigint;
  readonly h64Raw: (bytes: Uint8Array, seed: bigint) => bigint;
}

/** Slots for each entry: at most 10 of 16 are taken, so that look-ups end soon. */
const SLOTS_PER_ENTRY = 1.6;
const LEAST_SLOTS = 16;
/**
 * The largest table that is made in memory of this process and then written, for 2 million objects. A call of
 * the kernel for each entry is half of the time of a start, but a larger table would take too much memory.
 */
const MOST_IMAGE = 2 ** 28;
const PART_BYTES = 2 ** 20;
/** The metadata of a file of which only the size is known. */
const NO_FILE = { inode: 0n, modified: 0n, device: 0n, mode: 0, user: 0, group: 0 };
const AT_SOURCE_WORD = placeWord({ level: AT_SOURCE, tag: 0 });

/**
 * Writes the table that programs under the shim read (src-c/table.h). Only one writes, and nobody waits: what
 * changes is a word of eight bytes, written by one call.
 *
 * It is built under a name of its own and then takes the place of the one that was there, which is outdated
 * from then on; programs open the path again. So it grows by being made anew.
 *
 * Costs 64 bytes for each of 1.6 times as many slots, in the file, which belongs into memory (`/dev/shm`);
 * here 4 bytes for each entry and each slot. A change takes a microsecond.
 */
export class TableWriter {
  static #generations = 0;
  readonly #options: TableOptions;
  readonly #hashes: Hashes;
  readonly #fd: number;
  readonly #unfinished: string;
  readonly #slotCount: number;
  /** By slot: the number of its entry, from 1; 0 for none. */
  readonly #entries: Uint32Array;
  /** The slot of each entry, by its number. */
  readonly #slots: Uint32Array;
  /** A word or an entry that is to be written. */
  readonly #bytes = new DataView(new ArrayBuffer(ENTRY_BYTES));
  /** The whole file, until programs can find it; undefined if each entry is written by itself. */
  #image: DataView | undefined;
  /** Counts the tables of this process, from 1. Messages of programs name it. */
  readonly generation: number;
  #count = 0;
  #isPublished = false;
  #isOpen = true;

  /** @throws TieredError `TIERED_CONFIG_INVALID`, `TIERED_NO_SPACE`; errors of the system. */
  static async create(options: TableOptions): Promise<TableWriter> {
    const hashes = await xxhash();
    const slots = slotsFor(options.entries);
    const generation = ++TableWriter.#generations;
    const header = headerOf(options, slots, generation);
    const fd = await makeMapped(`${options.path}.new`, header, HEADER_BYTES + slots * ENTRY_BYTES);
    const table = new TableWriter(options, fd, { slots, generation }, header, hashes);
    table.setMounts(options.rootFile?.mounts ?? []);
    return table;
  }

  private constructor(
    options: TableOptions,
    fd: number,
    { slots, generation }: { readonly slots: number; readonly generation: number },
    header: Uint8Array,
    hashes: Hashes,
  ) {
    const { entries } = options;
    const bytes = HEADER_BYTES + slots * ENTRY_BYTES;
    if (bytes <= MOST_IMAGE) {
      this.#image = new DataView(new ArrayBuffer(bytes));
      new Uint8Array(this.#image.buffer).set(header);
    }
    this.#hashes = hashes;
    this.#fd = fd;
    this.#options = options;
    this.#slotCount = slots;
    this.#entries = new Uint32Array(slots);
    this.#slots = new Uint32Array(entries);
    this.generation = generation;
    this.#unfinished = `${options.path}.new`;
  }

  /** Entries that there are. */
  get entries(): number {
    return this.#count;
  }

  /** The most entries. */
  get capacity(): number {
    return this.#slots.length;
  }

  /**
   * Adds an entry for an object that is in the source alone, and returns its number, counted from 0.
   * @param key A key that is not in the table.
   * @param bytes The size of the object.
   * @param file What programs are told of its file. Default: they ask the source.
   */
  add(key: string, bytes: number, file?: SourceFile): number {
    invariant(this.#count < this.capacity, 'the table is full');
    const first = this.#hashes.h64(key, 0n) || 1n;
    let slot = Number(((first >> 32n) * BigInt(this.#slotCount)) >> 32n);
    while (this.#entries[slot] !== 0) slot = slot + 1 === this.#slotCount ? 0 : slot + 1;
    this.#entries[slot] = this.#count + 1;
    const offset = HEADER_BYTES + slot * ENTRY_BYTES;
    const [view, at] = this.#image === undefined ? [this.#bytes, 0] : [this.#image, offset];
    view.setBigUint64(at + IN_ENTRY.first, first, true);
    view.setBigUint64(at + IN_ENTRY.second, this.#hashes.h64(key, 1n), true);
    view.setBigUint64(at + IN_ENTRY.place, AT_SOURCE_WORD, true);
    view.setBigUint64(at + IN_ENTRY.size, BigInt(bytes), true);
    // In the image, nothing was there before.
    if (file !== undefined || view === this.#bytes) spellFile(view, at, file ?? NO_FILE);
    if (this.#isPublished) {
      // The word that makes it an entry comes last.
      fs.writeSync(this.#fd, view, 8, ENTRY_BYTES - 8, offset + 8);
      fs.writeSync(this.#fd, view, 0, 8, offset);
    } else if (this.#image === undefined) fs.writeSync(this.#fd, view, 0, ENTRY_BYTES, offset);
    this.#slots[this.#count] = slot;
    return this.#count++;
  }

  /** Says where the object of an entry is read from now on. */
  setPlace(entry: number, place: Place): void {
    this.#writeWord(this.#offsetOf(entry, IN_ENTRY.place), placeWord(place));
  }

  /** The object of an entry is read from the source from now on. */
  withdraw(entry: number): void {
    this.#writeWord(this.#offsetOf(entry, IN_ENTRY.place), AT_SOURCE_WORD);
  }

  /** Says what programs are told of the source's file. Until then they ask the source. */
  setFile(entry: number, file: SourceFile): void {
    this.forgetFile(entry, file.bytes);
    spellFile(this.#bytes, 0, file);
    this.#write(IN_ENTRY.inode, 16, this.#offsetOf(entry, IN_ENTRY.inode));
    this.#write(IN_ENTRY.device, 12, this.#offsetOf(entry, IN_ENTRY.device));
    // The one that says that the others are there.
    this.#write(IN_ENTRY.mode, 4, this.#offsetOf(entry, IN_ENTRY.mode));
  }

  /** Programs ask the source about its file from now on, which has so many bytes. */
  forgetFile(entry: number, bytes: number): void {
    this.#bytes.setUint32(0, 0, true);
    this.#write(0, 4, this.#offsetOf(entry, IN_ENTRY.mode));
    this.#writeWord(this.#offsetOf(entry, IN_ENTRY.size), BigInt(bytes));
  }

  /** The entry at a slot that a program named; undefined if there is none. */
  entryAt(slot: number): number | undefined {
    const entry = this.#entries[slot] ?? 0;
    return entry === 0 ? undefined : entry - 1;
  }

  /**
   * Says that this process lives. Programs take it for dead, and read the source, when that has not been said
   * for 3 seconds.
   */
  beat(): void {
    // Programs compare it with the machine's clock, which all processes share, and no other.
    // eslint-disable-next-line no-restricted-properties
    this.#writeWord(IN_HEADER.beat, process.hrtime.bigint() / 1_000_000n);
  }

  /**
   * Says which roots lead elsewhere for now, by a bit for each. Opens by these paths are not
   * redirected.
   */
  setRootsAway(away: number): void {
    if (this.#isOpen) this.#writeWord(IN_HEADER.rootsAway, BigInt(away));
  }

  /** Says what is mounted below the root: programs that see anything else there read the source. */
  setMounts(mounts: readonly Uint8Array[]): void {
    const sum = mounts.reduce((all, one) => all + this.#hashes.h64Raw(one, 0n), 0n);
    if (this.#isOpen) this.#writeWord(IN_HEADER.mounts, BigInt.asUintN(64, sum));
  }

  /** Lets programs find it: it takes the place of the table that was at its path. */
  publish(previous?: TableWriter): void {
    this.#isPublished = true;
    this.beat();
    this.#writeImage();
    fs.renameSync(this.#unfinished, this.#options.path);
    if (previous !== undefined) previous.#writeWord(IN_HEADER.isOutdated, 1n);
  }

  /** Programs read the source from now on. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#writeWord(IN_HEADER.isOutdated, 1n);
    fs.closeSync(this.#fd);
    fs.rmSync(this.#unfinished, { force: true });
  }

  #offsetOf(entry: number, field: number): number {
    invariant(entry < this.#count, `there is no entry ${entry}`);
    return HEADER_BYTES + (this.#slots[entry] ?? 0) * ENTRY_BYTES + field;
  }

  /** Writes a part of `#bytes`. */
  #write(from: number, bytes: number, offset: number): void {
    if (this.#image === undefined) fs.writeSync(this.#fd, this.#bytes, from, bytes, offset);
    else for (let i = 0; i < bytes; i++) this.#image.setUint8(offset + i, this.#bytes.getUint8(from + i));
  }

  #writeImage(): void {
    const image = this.#image;
    this.#image = undefined;
    for (let at = 0; image !== undefined && at < image.byteLength; at += PART_BYTES)
      fs.writeSync(this.#fd, image, at, Math.min(PART_BYTES, image.byteLength - at), at);
  }

  #writeWord(offset: number, word: bigint): void {
    this.#bytes.setBigUint64(0, word, true);
    this.#write(0, 8, offset);
  }
}

function spellFile(
  view: DataView,
  at: number,
  { inode, modified, device, mode, user, group }: Omit<SourceFile, 'bytes'>,
): void {
  view.setBigUint64(at + IN_ENTRY.inode, inode, true);
  view.setBigInt64(at + IN_ENTRY.modified, modified, true);
  view.setUint32(at + IN_ENTRY.mode, mode, true);
  view.setUint32(at + IN_ENTRY.device, packedDevice(device), true);
  view.setUint32(at + IN_ENTRY.user, user, true);
  view.setUint32(at + IN_ENTRY.group, group, true);
}

/** Says of a table that a daemon left behind that it does not count any more, if there is one. */
export function outdateTable(file: string): void {
  let fd: number;
  try {
    fd = fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_NOFOLLOW);
  } catch {
    return;
  }
  try {
    const word = Buffer.alloc(8);
    word.writeBigUInt64LE(1n);
    if (fs.fstatSync(fd).size >= HEADER_BYTES) fs.writeSync(fd, word, 0, 8, IN_HEADER.isOutdated);
  } finally {
    fs.closeSync(fd);
  }
}

function slotsFor(entries: number): number {
  const slots = Math.ceil(entries * SLOTS_PER_ENTRY) + LEAST_SLOTS;
  if (Number.isSafeInteger(entries) && entries >= 0 && slots <= MOST_SLOTS) return slots;
  const most = Math.floor(MOST_SLOTS / SLOTS_PER_ENTRY) - LEAST_SLOTS;
  throw configError('entries', `a whole number up to ${most}`, entries);
}

function headerOf(
  { roots, rootFile, isImaginary = false, tiers }: TableOptions,
  slots: number,
  generation: number,
): Buffer {
  if (tiers.length > MOST_TIERS) throw configError('tiers', `at most ${MOST_TIERS}`, tiers.length);
  if (roots.length === 0 || roots.length > MOST_ROOTS)
    throw configError('roots', `1 to ${MOST_ROOTS} paths`, roots.length);
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(MAGIC, 'latin1');
  const number = (at: number, value: number) => header.writeBigUInt64LE(BigInt(value), at);
  number(IN_HEADER.slots, slots);
  number(IN_HEADER.generation, generation);
  number(IN_HEADER.tierCount, tiers.length);
  number(IN_HEADER.rootCount, roots.length);
  number(IN_HEADER.isImaginary, isImaginary ? 1 : 0);
  if (rootFile !== undefined) {
    number(IN_HEADER.rootDevice, packedDevice(rootFile.device));
    header.writeBigUInt64LE(rootFile.inode, IN_HEADER.rootInode);
  }
  let free = FIRST_TEXT;
  const add = (text: string, field: string, at: number) => {
    const bytes = Buffer.byteLength(text);
    const isCanonical = path.isAbsolute(text) && path.resolve(text) === text && text !== '/';
    if (!isCanonical || text.includes('\0') || bytes >= MOST_PATH)
      throw configError(field, `a canonical path of at most ${MOST_PATH - 1} bytes`, text);
    if (free + bytes >= HEADER_BYTES)
      throw configError(field, `paths of together at most ${HEADER_BYTES - FIRST_TEXT} bytes`, free + bytes);
    number(at, free);
    free += header.write(text, free) + 1;
  };
  for (const [i, text] of roots.entries()) add(text, `roots[${i}]`, IN_HEADER.roots + 8 * i);
  for (const [i, text] of tiers.entries()) add(text, `tiers[${i}]`, IN_HEADER.tiers + 8 * i);
  return header;
}
