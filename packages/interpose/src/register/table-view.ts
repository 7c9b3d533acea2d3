import fs from 'node:fs';
import xxhash from 'xxhash-wasm';
import {
  ENTRY_BYTES,
  HEADER_BYTES,
  IN_ENTRY,
  IN_HEADER,
  MAGIC,
  MOST_PATH,
  MOST_ROOTS,
  MOST_SLOTS,
  MOST_TIERS,
  type Place,
} from '../table/layout.js';
import { isPathKey } from '../daemon/path-key.js';
import { real } from './real-fs.js';

/** Entries that a look-up passes before it gives up. */
const MOST_PROBES = 4096;
/** Entries that are read at once: most look-ups end in them. */
const PROBES_AT_ONCE = 4;
/** A daemon is dead that has said nothing for so long, and none if it did that far in the future. */
const DEAD_MS = 3000n;
const EARLY_MS = 1000n;

const hashes = await xxhash();

/** What the table says of a file. */
export interface TableEntry {
  /** Where its copy is; undefined if it has none. */
  readonly place: Place | undefined;
  readonly bytes: number;
  /** What the source says of the file; undefined as long as the daemon does not know it. */
  readonly file:
    | {
        readonly inode: bigint;
        /** Nanoseconds since 1970. */
        readonly modified: bigint;
        readonly mode: number;
        /** As the table has it: 12 bits of the major number, and below it 20 of the minor one. */
        readonly device: number;
        readonly user: number;
        readonly group: number;
      }
    | undefined;
}

/**
 * A table as a program reads it that cannot map it: by three reads of some bytes for each look-up. Takes
 * every number in it for wrong until it was checked.
 */
export class TableView {
  readonly #fd: number;
  readonly #slots: number;
  readonly #bytes = Buffer.alloc(PROBES_AT_ONCE * ENTRY_BYTES);
  readonly roots: readonly string[];
  readonly tiers: readonly string[];
  /** What the root is to the kernel; the inode is 0 if it need not be there. */
  readonly rootDevice: number;
  readonly rootInode: bigint;
  readonly isImaginary: boolean;

  /** The table at a path; undefined if there is none that this user may trust. */
  static at(file: string): TableView | undefined {
    let fd: number;
    try {
      fd = real.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
    } catch {
      return undefined;
    }
    try {
      return new TableView(fd);
    } catch {
      real.closeSync(fd);
      return undefined;
    }
  }

  private constructor(fd: number) {
    const stat = real.fstatSync(fd);
    const isOurs = stat.uid === process.geteuid?.() || stat.uid === 0;
    assert(stat.isFile() && isOurs && (stat.mode & 0o022) === 0 && stat.size >= HEADER_BYTES);
    const header = Buffer.alloc(HEADER_BYTES);
    assert(real.readSync(fd, header, 0, HEADER_BYTES, 0) === HEADER_BYTES);
    assert(header.toString('latin1', 0, MAGIC.length) === MAGIC);
    const number = (at: number, most: number) => {
      const value = header.readBigUInt64LE(at);
      assert(value <= BigInt(most));
      return Number(value);
    };
    this.#fd = fd;
    this.#slots = number(IN_HEADER.slots, MOST_SLOTS);
    assert(this.#slots > 0 && (stat.size - HEADER_BYTES) / ENTRY_BYTES >= this.#slots);
    const texts = (at: number, count: number) =>
      Array.from({ length: count }, (_, i) => pathAt(header, number(at + 8 * i, HEADER_BYTES)));
    this.roots = texts(IN_HEADER.roots, number(IN_HEADER.rootCount, MOST_ROOTS));
    this.tiers = texts(IN_HEADER.tiers, number(IN_HEADER.tierCount, MOST_TIERS));
    this.rootDevice = number(IN_HEADER.rootDevice, 2 ** 32 - 1);
    this.rootInode = header.readBigUInt64LE(IN_HEADER.rootInode);
    const isImaginary = number(IN_HEADER.isImaginary, 1) === 1;
    this.isImaginary = isImaginary && this.rootInode === 0n && this.roots.length > 1;
  }

  /** Whether there is another table at its path, or none. */
  get isOutdated(): boolean {
    return this.#numberAt(IN_HEADER.isOutdated) !== 0n;
  }

  /** Whether its daemon lives. Else it may say what is not so any more. */
  get isLive(): boolean {
    // The machine's clock, which all processes share, and no other.
    // eslint-disable-next-line no-restricted-properties
    const silence = process.hrtime.bigint() / 1_000_000n - this.#numberAt(IN_HEADER.beat);
    return silence > -EARLY_MS && silence < DEAD_MS;
  }

  /** What it says of a key; undefined if that is no object. */
  find(key: string): TableEntry | undefined {
    const name = Buffer.from(key);
    const first = hashes.h64Raw(name, 0n) || 1n;
    let second: bigint | undefined;
    let slot = Number(((first >> 32n) * BigInt(this.#slots)) >> 32n);
    for (let probes = 0; probes < Math.min(MOST_PROBES, this.#slots);) {
      const count = Math.min(PROBES_AT_ONCE, this.#slots - slot);
      this.#read(HEADER_BYTES + slot * ENTRY_BYTES, count * ENTRY_BYTES);
      for (let at = 0; at < count * ENTRY_BYTES; at += ENTRY_BYTES) {
        const found = this.#bytes.readBigUInt64LE(at + IN_ENTRY.first);
        if (found === 0n) return undefined;
        if (found !== first) continue;
        second ??= hashes.h64Raw(name, 1n);
        if (this.#bytes.readBigUInt64LE(at + IN_ENTRY.second) === second) return this.#entryAt(at);
      }
      probes += count;
      slot = slot + count === this.#slots ? 0 : slot + count;
    }
    return undefined;
  }

  close(): void {
    real.closeSync(this.#fd);
  }

  #entryAt(at: number): TableEntry {
    const bytes = this.#bytes.subarray(at, at + ENTRY_BYTES);
    const word = bytes.readBigUInt64LE(IN_ENTRY.place);
    const [level, tag] = [Number((word >> 40n) & 0xffn), Number(word & 0xff_ffff_ffffn)];
    const mode = bytes.readUInt32LE(IN_ENTRY.mode);
    return {
      place: level < this.tiers.length ? { level, tag } : undefined,
      bytes: Number(bytes.readBigUInt64LE(IN_ENTRY.size)),
      file:
        mode === 0
          ? undefined
          : {
              mode,
              inode: bytes.readBigUInt64LE(IN_ENTRY.inode),
              modified: bytes.readBigInt64LE(IN_ENTRY.modified),
              device: bytes.readUInt32LE(IN_ENTRY.device),
              user: bytes.readUInt32LE(IN_ENTRY.user),
              group: bytes.readUInt32LE(IN_ENTRY.group),
            },
    };
  }

  #numberAt(offset: number): bigint {
    this.#read(offset, 8);
    return this.#bytes.readBigUInt64LE(0);
  }

  /** What is behind the end is zeros: no entries. */
  #read(offset: number, bytes: number): void {
    const read = real.readSync(this.#fd, this.#bytes, 0, bytes, offset);
    if (read < bytes) this.#bytes.fill(0, read);
  }
}

/** A text of the header: an absolute, canonical path. */
function pathAt(header: Buffer, at: number): string {
  const end = header.indexOf(0, at);
  assert(at >= IN_HEADER.tiers && end > at && end - at < MOST_PATH);
  const text = header.toString('utf8', at, end);
  assert(text.startsWith('/') && isPathKey(text.slice(1)));
  return text;
}

function assert(holds: boolean): asserts holds {
  if (!holds) throw new RangeError('This is no table.');
}
