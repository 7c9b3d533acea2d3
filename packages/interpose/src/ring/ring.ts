import fs from 'node:fs';
import type { Clock } from '@tiered/core';

const MAGIC = 'tieredR1';
const HEADER_BYTES = 4096;
/** The offsets of numbers of 64 bits in the header, as in src-c/ring.h. */
const AT = { slots: 8, head: 64, tail: 128, lost: 192, programs: 264 } as const;
/** Bits that programs set there. */
const PROGRAM = { began: 1, elsewhere: 2, ended: 4 } as const;

/** As many as programs leave in a tenth of a second that open 600,000 files a second. */
const SLOTS = 2 ** 16;
/** Behind the messages: what programs note of files that they change, for each other. */
const WRITTEN_BYTES = 2 ** 17;
const LAPS = 65_535;
/** More come in no time, and numbers are exact up to here. */
const MOST_MESSAGES = 2 ** 52;
/** A program that began a message and has not finished it after this is dead, or stopped. */
const LATE_MS = 1000;

const KINDS = new Map([
  [1, 'copy'],
  [2, 'source'],
  [3, 'written'],
] as const);
type Kind = typeof KINDS extends ReadonlyMap<unknown, infer Value> ? Value : never;

/** An open by a program. */
export interface Message {
  /** The file that it reads: a copy, the source, or the source for good, as a program may write to it. */
  readonly kind: Kind;
  /** The last byte of the number of the table that the program looked into. */
  readonly generation: number;
  /** The slot of the file there. It may be any number. */
  readonly slot: number;
}

/** Events of programs under the shim: each happened to one of them, at least. */
export interface ProgramsSeen {
  /** The shim was loaded into a program, which found the table. */
  readonly began: boolean;
  /** Below the path of the source, a program sees something else. */
  readonly elsewhere: boolean;
  /** A program reads the source since it has another root or user, or may be killed for calls. */
  readonly ended: boolean;
}

/** Whether a file is a ring, as far as can be told by its beginning. */
export function hasRingMagic(path: string): boolean {
  const found = Buffer.alloc(MAGIC.length);
  let fd: number;
  try {
    fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
  } catch {
    return false;
  }
  try {
    fs.readSync(fd, found, 0, found.byteLength, 0);
  } finally {
    fs.closeSync(fd);
  }
  return found.toString('latin1') === MAGIC;
}

/**
 * The daemon's end of the ring in which programs leave messages (src-c/ring.h). Nothing that is read here is
 * trusted: what is no message is counted as lost.
 */
export class Ring {
  readonly #fd: number;
  readonly #clock: Clock;
  readonly #words = Buffer.alloc(8 * SLOTS);
  readonly #number = Buffer.alloc(8);
  #tail = 0;
  #refused = 0;
  /** The header at the close. */
  #last: { readonly lost: number; readonly programs: number } | undefined;
  /** The message that is not finished, and since when it has been waited for. */
  #late: { readonly position: number; readonly since: number } | undefined;

  /** Makes a ring. The directory belongs to this user, and nobody else may write there. */
  constructor(path: string, clock: Clock) {
    this.#clock = clock;
    const first = Buffer.alloc(HEADER_BYTES + 8 * SLOTS + WRITTEN_BYTES);
    first.write(MAGIC, 'latin1');
    first.writeBigUInt64LE(BigInt(SLOTS), AT.slots);
    // All of it, so that its memory is there: a program that maps a hole dies where there is no room to fill
    // it.
    fs.writeFileSync(path, first, { flag: 'wx', mode: 0o600 });
    this.#fd = fs.openSync(path, 'r+');
  }

  /** Messages that did not come: there was no room, a program died in the middle, or they made no sense. */
  get lost(): number {
    return (this.#last?.lost ?? this.#read(AT.lost)) + this.#refused;
  }

  /** Events of programs. */
  get programs(): ProgramsSeen {
    const bits = this.#last?.programs ?? this.#read(AT.programs);
    const has = (bit: number) => Math.floor(bits / bit) % 2 === 1;
    return { began: has(PROGRAM.began), elsewhere: has(PROGRAM.elsewhere), ended: has(PROGRAM.ended) };
  }

  /** Takes the messages that have come. */
  take(): Message[] {
    const head = this.#read(AT.head);
    const coming = head - this.#tail;
    if (coming === 0) return [];
    if (coming < 0 || coming > SLOTS) {
      // Nobody but a program that wrote where it must not does this. Others go on from where it left it.
      this.#refused += 1;
      this.#tail = head <= MOST_MESSAGES ? head : 0;
      if (this.#tail !== head) this.#write(AT.head, this.#tail);
      this.#write(AT.tail, this.#tail);
      return [];
    }
    const messages: Message[] = [];
    this.#readWords(coming);
    for (let i = 0; i < coming; i++) {
      const word = this.#words.readBigUInt64LE(8 * ((this.#tail + i) % SLOTS));
      const message = this.#messageOf(word, this.#tail + i);
      if (message === 'unfinished') {
        if (!this.#isLate(this.#tail + i)) return this.#taken(i, messages);
        this.#refused += 1;
      } else if (message === 'wrong') this.#refused += 1;
      else messages.push(message);
    }
    return this.#taken(coming, messages);
  }

  close(): void {
    if (this.#last !== undefined) return;
    this.#last = { lost: this.#read(AT.lost), programs: this.#read(AT.programs) };
    fs.closeSync(this.#fd);
  }

  #taken(count: number, messages: Message[]): Message[] {
    this.#tail += count;
    this.#write(AT.tail, this.#tail);
    return messages;
  }

  #messageOf(word: bigint, position: number): Message | 'unfinished' | 'wrong' {
    const lap = (Math.floor(position / SLOTS) % LAPS) + 1;
    if (Number(word >> 48n) !== lap) return 'unfinished';
    const kind = KINDS.get(Number((word >> 44n) & 15n) as 1 | 2 | 3);
    if (kind === undefined) return 'wrong';
    return { kind, generation: Number((word >> 36n) & 255n), slot: Number(word & 0xfffffffffn) };
  }

  #isLate(position: number): boolean {
    const now = this.#clock.now();
    if (this.#late?.position !== position) this.#late = { position, since: now };
    return now - this.#late.since >= LATE_MS;
  }

  /** Reads the words behind the tail to where they are in the ring. */
  #readWords(count: number): void {
    const first = this.#tail % SLOTS;
    const behind = Math.min(count, SLOTS - first);
    this.#readInto(first, behind);
    if (behind < count) this.#readInto(0, count - behind);
  }

  #readInto(slot: number, count: number): void {
    const bytes = fs.readSync(this.#fd, this.#words, 8 * slot, 8 * count, HEADER_BYTES + 8 * slot);
    // A program has cut it short.
    if (bytes < 8 * count) this.#words.fill(0, 8 * slot + bytes, 8 * (slot + count));
  }

  /** Numbers that are too large are wrong ones anyway. */
  #read(offset: number): number {
    this.#number.fill(0);
    fs.readSync(this.#fd, this.#number, 0, 8, offset);
    return Number(this.#number.readBigUInt64LE());
  }

  #write(offset: number, value: number): void {
    this.#number.writeBigUInt64LE(BigInt(value));
    fs.writeSync(this.#fd, this.#number, 0, 8, offset);
  }
}
