import { invariant, onAbort } from '@tiered/core/internal';
import pLimit from 'p-limit';
import type { S3Client } from '../http/client.js';
import { RangedRead, type ObjectFacts, type RangeRequest } from './ranged-read.js';

/** Parts of one read that are fetched concurrently, so that a long read does not take every connection. */
const PARTS_AT_ONCE = 16;

/** Reads ranges into memory, in parts if they are long. */
export class RangeReader {
  readonly #client: S3Client;
  readonly #partBytes: number;
  /**
   * Whether the last read from the beginning of an object was of all of it. Then the next one probably is,
   * too.
   */
  #readsWhole = true;

  constructor(client: S3Client, partBytes: number) {
    this.#client = client;
    this.#partBytes = partBytes;
  }

  /** Reads a range, and returns the number of bytes. No memory is written to after it has settled. */
  async read(range: RangeRequest): Promise<number> {
    const { length, offset } = range;
    if (length === 0) return 0;
    if (length > this.#partBytes) return this.#readInParts(range);
    if (offset > 0) return new RangedRead(this.#client, range).run();
    const read = new RangedRead(this.#client, { ...range, asWhole: this.#readsWhole });
    const bytes = await read.run();
    if (read.size !== undefined) this.#readsWhole = read.size <= length;
    return bytes;
  }

  /**
   * Reads a range in parts. The first part goes ahead until its answer begins, which gives the version and
   * the size of the object. All parts are pinned to these, and so know where the object ends.
   */
  async #readInParts(range: RangeRequest): Promise<number> {
    const { signal } = range;
    const partBytes = this.#partBytes;
    const end = new AbortController();
    const stopListening = onAbort(signal, (reason) => end.abort(reason));
    const fetch = async (from: number, to: number, more: Partial<RangeRequest>): Promise<void> => {
      const part = {
        offset: range.offset + from,
        length: to - from,
        memory: () => target.subarray(from, to),
        signal: end.signal,
        progress: progress?.(from),
      };
      try {
        const count = await new RangedRead(this.#client, { ...range, ...part, ...more }).run();
        invariant(count === Math.max(0, Math.min(bytes, to) - from), 'A part of a read came short');
      } catch (error) {
        end.abort(error);
      }
    };
    const progress = range.progress && inOrder(partBytes, range.progress);
    let bytes = 0;
    let target: Uint8Array = new Uint8Array();
    let others: readonly Promise<void>[] = [];
    const started = ({ etag, size }: ObjectFacts): void => {
      bytes = Math.max(0, Math.min(range.length, size - range.offset));
      target = range.memory(bytes);
      const limit = pLimit(PARTS_AT_ONCE - 1);
      const starts = Array.from({ length: Math.ceil(bytes / partBytes) }, (_, i) => i * partBytes).slice(1);
      const pins = { version: etag, size };
      others = starts.map((from) => limit(fetch, from, Math.min(bytes, from + partBytes), pins));
    };
    await fetch(0, partBytes, { started });
    await Promise.all(others);
    stopListening();
    end.signal.throwIfAborted();
    return bytes;
  }
}

/**
 * Reports how many bytes are complete from the beginning, although parts arrive in any order. Returns a
 * listener for each part.
 */
function inOrder(
  partBytes: number,
  progress: (bytes: number) => void,
): (from: number) => (bytes: number) => void {
  const there = new Map<number, number>();
  return (from) => (bytes) => {
    there.set(from, bytes);
    let last = 0;
    while (there.get(last) === partBytes) last += partBytes;
    progress(last + (there.get(last) ?? 0));
  };
}
