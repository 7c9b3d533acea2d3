import { randomBytes } from 'node:crypto';

/**
 * How objects lie in Redis. A key holds the head of an object, and behind it the bytes of its first chunk, so
 * that a small object is one key. Further chunks have keys of their own, with the id of the write in them: a
 * chunk belongs to one head for ever, and the hash slots of a cluster share the chunks.
 */

/** What the head of an object says. */
export interface Head {
  /** Identifies the write that made the object: the version. 32 hexadecimal digits. */
  readonly id: string;
  /** Bytes of the object. */
  readonly size: number;
  /** Bytes of a chunk, except for the last one. */
  readonly chunk: number;
}

/** Names the form, so that a value of another program is told from an object. */
const MAGIC = Buffer.from('tiered1\n');
const ID_BYTES = 16;

/**
 * Most chunks of an object, 512 GB at the default size of chunks. Each is deleted by a command of its own, so
 * a head that says more would keep us busy for ever.
 */
export const MOST_CHUNKS = 2 ** 20;

/** Bytes in front of those of the first chunk. */
export const HEAD_BYTES = MAGIC.byteLength + ID_BYTES + 2 * 8;

/** An id that no other write has. */
export function newId(): string {
  return randomBytes(ID_BYTES).toString('hex');
}

/** Writes a head to the start of the memory. */
export function writeHead({ id, size, chunk }: Head, memory: Buffer): void {
  MAGIC.copy(memory);
  memory.write(id, MAGIC.byteLength, 'hex');
  memory.writeBigUInt64LE(BigInt(size), HEAD_BYTES - 16);
  memory.writeBigUInt64LE(BigInt(chunk), HEAD_BYTES - 8);
}

/** Reads a head. Undefined for a value that begins with none, or with one that no driver wrote. */
export function headOf(value: Buffer): Head | undefined {
  if (value.byteLength < HEAD_BYTES || !value.subarray(0, MAGIC.byteLength).equals(MAGIC)) return undefined;
  const id = value.toString('hex', MAGIC.byteLength, MAGIC.byteLength + ID_BYTES);
  const numbers = [value.readBigUInt64LE(HEAD_BYTES - 16), value.readBigUInt64LE(HEAD_BYTES - 8)];
  const [size = 0, chunk = 0] = numbers.map(Number);
  const head = { id, size, chunk };
  return Number.isSafeInteger(size) && chunk > 0 && furtherChunks(head) < MOST_CHUNKS ? head : undefined;
}

/** Chunks of an object beside the first. */
export function furtherChunks({ size, chunk }: Head): number {
  return Math.max(0, Math.ceil(size / chunk) - 1);
}

/** The keys of Redis below a prefix. Those of two prefixes are never the same. */
export class Keys {
  /** Before the keys of objects. */
  readonly objects: string;
  readonly #chunks: string;

  constructor(prefix: string) {
    this.objects = `${prefix}o:`;
    this.#chunks = `${prefix}c:`;
  }

  /** The key that holds the head and the first chunk. */
  ofHead(key: string): string {
    return this.objects + key;
  }

  /** The key of a further chunk. @param index From 1. */
  ofChunk(id: string, index: number): string {
    return `${this.#chunks}${id}:${index}`;
  }
}
