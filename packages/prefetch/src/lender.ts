import type { Access } from './access-sequence.js';
import { LentSample, type Entry } from './entry.js';
import { tooLargeError } from './errors.js';
import type { Sample } from './sample.js';
import type { Window } from './window.js';

/**
 * What consumers are given: views on the memory of the line, which serves another sample after the release; copies, which
 * stay theirs; or copies that are detached by the release, so that a view that somebody kept shows nothing.
 */
export type Lending = 'views' | 'copies' | 'detached';

/** A sample that is its consumer's for good. */
class CopiedSample implements Sample {
  readonly key: string;
  readonly epoch: number;
  readonly position: number;
  readonly data: Uint8Array;

  /** @throws TieredError `TIERED_UNSUPPORTED` if there is no memory for the copy. */
  constructor({ key, epoch, position }: Access, bytes: Uint8Array) {
    this.key = key;
    this.epoch = epoch;
    this.position = position;
    this.data = copyOf(key, bytes);
  }

  release(): void {
    // Nothing was lent.
  }

  [Symbol.dispose](): void {
    // As above.
  }
}

/**
 * A copy in memory of its own, of one thread.
 * @throws TieredError `TIERED_UNSUPPORTED` if there is no such memory.
 */
function copyOf(key: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes);
  } catch (error) {
    throw tooLargeError(key, bytes.byteLength, error);
  }
}

/** Gives samples to consumers, and knows what they hold. */
export class Lender {
  readonly #lending: Lending;
  readonly #onRelease: () => void;
  readonly #lent = new Set<LentSample>();
  /** Of samples that consumers hold. */
  bytes = 0;

  /** @param onRelease Called when memory was given back. */
  constructor(lending: Lending, onRelease: () => void) {
    this.#lending = lending;
    this.#onRelease = onRelease;
  }

  /** Samples that consumers hold. */
  get count(): number {
    return this.#lent.size;
  }

  /**
   * Takes a sample that is there out of the window, unless it throws.
   * @throws TieredError `TIERED_UNSUPPORTED` if there is no memory for a copy.
   */
  lend(entry: Entry, window: Window): Sample {
    const { access, bytes } = entry;
    if (this.#lending === 'copies') {
      const copy = new CopiedSample(access, bytes);
      window.remove(entry).free();
      // Not at once: whoever is told may serve the consumer that this is for.
      queueMicrotask(this.#onRelease);
      return copy;
    }
    const own = this.#lending === 'detached' ? copyOf(access.key, bytes) : undefined;
    const block = window.remove(entry);
    const { byteLength } = bytes;
    this.bytes += byteLength;
    const sample = new LentSample(access, own ?? bytes, (released) => {
      this.bytes -= byteLength;
      block.free();
      this.#lent.delete(released);
      // Its consumer may have given it away already.
      if (own !== undefined && own.byteLength > 0) structuredClone(own.buffer, { transfer: [own.buffer] });
      this.#onRelease();
    });
    this.#lent.add(sample);
    return sample;
  }

  releaseAll(): void {
    for (const sample of this.#lent) sample.release();
  }
}
