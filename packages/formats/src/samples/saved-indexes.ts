import { crc32c } from '@node-rs/crc32';
import { TieredError, isTieredError } from '@tiered/core';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import v8 from 'node:v8';
import type { RecordTable, SampleFormat } from '../contract/format.js';

/** The object that an index was made of. */
export interface IndexedObject {
  readonly key: string;
  readonly size: number;
  readonly version: string;
}

/** Bytes of the checksum that a file begins with. */
const CHECKSUM = 4;
/** Of the files, and of what formats find. Those of another layout are made anew. */
const LAYOUT = 3;

/**
 * Indexes of objects in a directory: a file for each object and format. A file holds the key, the size and
 * the version of its object, and a checksum of all that. One that does not fit, for whatever reason, counts
 * as missing: an index can always be made anew from its object.
 *
 * Files are written beside their place and renamed, so that processes that index the same objects at the same
 * time do no harm. Only their owner can read them, because keys are as private as data.
 */
export class SavedIndexes {
  readonly #directory: string;

  /** @param directory Of the caller. It is made if it is not there. */
  constructor(directory: string, { name, options }: SampleFormat<unknown>) {
    const made = createHash('sha256')
      .update(JSON.stringify([name, options]))
      .digest('hex')
      .slice(0, 16);
    this.#directory = path.join(directory, `${name}-${made}`);
  }

  /** Returns the index of an object, or undefined if there is none for this version. */
  async load({ key, size, version }: IndexedObject): Promise<RecordTable | undefined> {
    try {
      const bytes = await readFile(this.#fileOf(key));
      const body = bytes.subarray(CHECKSUM);
      if (bytes.byteLength < CHECKSUM || bytes.readUInt32LE() !== crc32c(body)) return undefined;
      const { object, table } = v8.deserialize(body) as Saved;
      const isSame = object.key === key && object.size === size && object.version === version;
      return isSame ? table : undefined;
    } catch {
      return undefined;
    }
  }

  /** @throws TieredError `TIERED_IO` with the system's error as `cause`. */
  async save(object: IndexedObject, table: RecordTable): Promise<void> {
    const file = this.#fileOf(object.key);
    const temporary = `${file}.${randomBytes(6).toString('hex')}.new`;
    const saved: Saved = { object, table };
    const body = v8.serialize(saved);
    const checksum = Buffer.alloc(CHECKSUM);
    checksum.writeUInt32LE(crc32c(body));
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      await writeFile(temporary, Buffer.concat([checksum, body]), { flag: 'wx', mode: 0o600 });
      await rename(temporary, file);
    } catch (cause) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw notSaved(this.#directory, cause);
    }
  }

  #fileOf(key: string): string {
    const name = createHash('sha256').update(key).digest('hex').slice(0, 40);
    return path.join(this.#directory, `${name}.${LAYOUT}`);
  }
}

interface Saved {
  readonly object: IndexedObject;
  readonly table: RecordTable;
}

function notSaved(directory: string, cause: unknown): TieredError {
  if (isTieredError(cause)) return cause;
  const message = `Indexes cannot be saved in ${directory}; give a directory that this process may write to, or none.`;
  return new TieredError('TIERED_IO', message, { cause });
}
