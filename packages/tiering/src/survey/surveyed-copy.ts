import { TieredError, type OperationOptions, type StorageDriver } from '@tiered/core';
import { isPacked, type Checksum } from '@tiered/core/internal';
import { positionOf, rangeOfChunk, wrongWith } from '../ledger/chunk-check.js';
import type { Copy } from '../tier/tier-store.js';

/** A copy on a tier, as found by a survey. */
export class SurveyedCopy {
  /** The source of the object: the location of its driver. */
  readonly dataset: string;
  readonly key: string;
  /** The version of the object that it was made from. */
  readonly version: string;
  /** Bytes of the object that it holds, from the beginning on. */
  readonly bytes: number;
  /** Bytes of the object. Like `chunks` and `chunkBytes`, undefined if the record of the copy is damaged. */
  readonly size: number | undefined;
  /** The number of chunks. Each has a checksum. */
  readonly chunks: number | undefined;
  /** Bytes of a chunk; the last one may be shorter. */
  readonly chunkBytes: number | undefined;
  /** The key on the tier of the file that holds it: a file of its own, or a segment. */
  readonly file: string;
  /** Its offset in that file, in bytes. */
  readonly offset: number;
  /** Whether it shares its file with other copies. */
  readonly isPacked: boolean;
  readonly #copy: Copy;
  readonly #driver: StorageDriver;
  readonly #checksum: Checksum;

  /** @internal */
  constructor(copy: Copy, driver: StorageDriver, checksum: Checksum) {
    const { file, base } = positionOf(copy);
    this.dataset = copy.dataset;
    this.key = copy.key;
    this.version = copy.version;
    this.bytes = copy.bytes;
    this.size = copy.content?.size;
    this.chunks = copy.content?.sums.length;
    this.chunkBytes = copy.content?.chunkBytes;
    this.file = file;
    this.offset = base;
    this.isPacked = isPacked(copy.tag);
    this.#copy = copy;
    this.#driver = driver;
    this.#checksum = checksum;
  }

  /**
   * Reads the whole copy, a chunk at a time, and verifies the checksums.
   * @throws TieredError `TIERED_DATA_CORRUPT` that names the wrong chunk, or says that the record is damaged;
   * `TIERED_NOT_FOUND` if the file does not exist; other errors of the storage. An abort rejects with
   * `signal.reason`.
   */
  async verify({ signal }: OperationOptions = {}): Promise<void> {
    const { content } = this.#copy;
    if (content === undefined) throw this.#corrupt('the record of the copy is damaged');
    for (let chunk = 0; chunk < content.sums.length; chunk++) {
      signal?.throwIfAborted();
      const range = rangeOfChunk(this.#copy, content, chunk);
      const { file, offset, length } = range;
      const bytes = await this.#driver.read(file, { offset, length, signal });
      const wrong = wrongWith(bytes, range, content, chunk, this.#checksum);
      if (wrong !== undefined) throw this.#corrupt(wrong);
    }
  }

  #corrupt(what: string): TieredError {
    const { name } = this.#driver;
    return new TieredError('TIERED_DATA_CORRUPT', `${name}: ${JSON.stringify(this.key)}: ${what}.`, {
      driver: name,
      operation: 'read',
      key: this.key,
    });
  }
}
