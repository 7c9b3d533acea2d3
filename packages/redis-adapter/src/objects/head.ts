import { randomBytes } from 'node:crypto';

/**
 * The layout of objects in Redis. A key holds the head of an object, followed by the bytes of its first
 * chunk, so a small object is one key. Further chunks have their own keys, which contain the id of the write.
 * So a chunk belongs to one head for ever, and the chunks spread over the hash slots of a cluster.
 */

/** The head of an object. */
export interface Head {
  /** Identifies the write that made the object: the version. 32 hexadecimal digits. */
  readonly id: string;
  /** Bytes of the object. */
  readonly size: number;
  /** Bytes of a chunk, except for the last one. */
  readonly chunk: number;
}

/** Identifies the format, so that values of other programs are not mistaken for objects. */
const MAGIC = Buffer.from('tiered1\n');
const ID_BYTES = 16;

/**
 * The most chunks of an object, 512 GB at the default chunk size. Each is deleted by its own command, so a
 * head that says more would keep us busy for ever.
 */
export const MOST_CHUNKS = 2 ** 20;

/** Bytes before those of the first chunk. */
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

/** Reads a head. Undefined for a value that does not begin with one, or with one that no driver wrote. */
export function headOf(value: Buffer): Head | undefined {
  if (value.byteLength < HEAD_BYTES || !value.subarray(0, MAGIC.byteLength).equals(MAGIC)) return undefined;
  const id = value.toString('hex', MAGIC.byteLength, MAGIC.byteLength + ID_BYTES);
  const numbers = [value.readBigUInt64LE(HEAD_BYTES - 16), value.readBigUInt64LE(HEAD_BYTES - 8)];
  const [size = 0, chunk = 0] = numbers.map(Number);
  const head = { id, size, chunk };
  return Number.isSafeInteger(size) && chunk > 0 && furtherChunks(head) < MOST_CHUNKS ? head : undefined;
}

/** The number of chunks of an object after the first. */
export function furtherChunks({ size, chunk }: Head): number {
  return Math.max(0, Math.ceil(size / chunk) - 1);
}

/** The keys in Redis below a prefix. Two prefixes never share a key. */
export class Keys {
  /** The prefix of the keys of objects. */
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
