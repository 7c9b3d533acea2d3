import { TieredError, type Tier } from '@tiered/core';
import { invariant, raceAbort, type Checksum, type OperationScope } from '@tiered/core/internal';
import type { Copy, CopyContent } from '../tier/tier-store.js';
import { positionOf, rangeOfChunk, wrongWith, type CopyPosition } from './chunk-check.js';

/**
 * Reads a copy that the read path cannot serve. Either another or an earlier process wrote it, and its chunks
 * are trusted only once their sums were verified. Or it holds only the beginning of its object.
 *
 * The first read of a chunk reads the whole chunk and checks its sum. Later reads read only their range.
 */
export class VerifiedReader {
  readonly copy: Copy;
  readonly #content: CopyContent;
  readonly #tier: Tier;
  readonly #checksum: Checksum;
  readonly #tierReads: OperationScope;
  readonly #position: CopyPosition;
  readonly #checked: Uint8Array;
  readonly #checking = new Map<number, Promise<Uint8Array>>();
  #left: number;

  /**
   * @param tierReads Runs the checks. Several readers may wait for one, and all may leave.
   * @param trusted Whether this process wrote the copy itself.
   */
  constructor(copy: Copy, tier: Tier, checksum: Checksum, tierReads: OperationScope, trusted: boolean) {
    invariant(copy.content !== undefined, 'a copy is to be read of which nothing is known');
    this.copy = copy;
    this.#position = positionOf(copy);
    this.#content = copy.content;
    this.#tier = tier;
    this.#checksum = checksum;
    this.#tierReads = tierReads;
    this.#checked = new Uint8Array(copy.content.sums.length).fill(trusted ? 1 : 0);
    this.#left = trusted ? 0 : copy.content.sums.length;
  }

  /** Bytes of a chunk; the last one may be shorter. */
  get chunkBytes(): number {
    return this.#content.chunkBytes;
  }

  get tier(): Tier {
    return this.#tier;
  }

  /** Whether every chunk was verified. */
  get isChecked(): boolean {
    return this.#left === 0;
  }

  /**
   * Fills the target from an offset; the whole range lies within the copy. An abort ends this once nothing
   * writes to the target any more.
   * @throws TieredError `TIERED_DATA_CORRUPT` for a chunk that is not as it was written. Errors of the tier
   * are passed through.
   */
  async into(target: Uint8Array, offset: number, signal: AbortSignal): Promise<void> {
    const { chunkBytes } = this.#content;
    const end = offset + target.byteLength;
    for (let at = offset; at < end;) {
      const chunk = Math.floor(at / chunkBytes);
      const until = Math.min(end, (chunk + 1) * chunkBytes);
      await this.#intoFrom(chunk, target.subarray(at - offset, until - offset), at, signal);
      at = until;
    }
  }

  async #intoFrom(chunk: number, target: Uint8Array, offset: number, signal: AbortSignal): Promise<void> {
    if (this.#checked[chunk] === 1) {
      const { file, base } = this.#position;
      const count = await this.#tier.readInto(file, target, { offset: base + offset, signal });
      if (count !== target.byteLength) throw this.#corrupt(`gave ${count} of ${target.byteLength} bytes`);
      return;
    }
    const bytes = await raceAbort(this.#check(chunk), signal);
    const from = offset - chunk * this.#content.chunkBytes;
    target.set(bytes.subarray(from, from + target.byteLength));
  }

  /** The verified bytes of a chunk. Concurrent callers share one check. */
  #check(chunk: number): Promise<Uint8Array> {
    const running = this.#checking.get(chunk);
    if (running !== undefined) return running;
    const check = this.#readAndCheck(chunk).finally(() => this.#checking.delete(chunk));
    this.#checking.set(chunk, check);
    return check;
  }

  async #readAndCheck(chunk: number): Promise<Uint8Array> {
    const range = rangeOfChunk(this.copy, this.#content, chunk);
    const bytes = await this.#tierReads.run(undefined, (signal) =>
      this.#tier.read(range.file, { offset: range.offset, length: range.length, signal }),
    );
    const wrong = wrongWith(bytes, range, this.#content, chunk, this.#checksum);
    if (wrong !== undefined) throw this.#corrupt(wrong);
    this.#checked[chunk] = 1;
    this.#left -= 1;
    return bytes;
  }

  #corrupt(what: string): TieredError {
    const { name } = this.#tier.driver;
    return new TieredError(
      'TIERED_DATA_CORRUPT',
      `${name}: ${JSON.stringify(this.copy.key)} ${what}; the copy is dropped and fetched anew.`,
      { driver: name, operation: 'read', key: this.copy.key },
    );
  }
}
