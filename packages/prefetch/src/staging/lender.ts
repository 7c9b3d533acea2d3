import { tooLargeError } from '@tiered/core/internal';
import type { Access } from '../sequence/access-sequence.js';
import type { Block } from './arena.js';
import type { Entry } from './entry.js';
import { LentSample, type Sample } from '../sample.js';
import type { Window } from './window.js';

/**
 * How consumers get samples: as views on the memory of the queue, which is reused after the release; as
 * copies, which they may keep; or as copies that the release detaches, so that a stale view is empty.
 */
export type Lending = 'views' | 'copies' | 'detached';

/** A sample that its consumer may keep. */
class CopiedSample implements Sample {
  readonly key: string;
  readonly epoch: number;
  readonly position: number;
  readonly data: Uint8Array;

  /** @throws TieredError `TIERED_TOO_LARGE` if there is no memory for the copy. */
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
 * Returns a copy in memory of its own, which one thread owns.
 * @throws TieredError `TIERED_TOO_LARGE` if there is no such memory.
 */
function copyOf(key: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes);
  } catch (error) {
    throw tooLargeError(key, bytes.byteLength, error);
  }
}

/** Takes back a loan that was released. */
type TakeBack = (loan: Loan) => void;

/** A sample that its consumer holds until the release. */
class Loan extends LentSample {
  readonly block: Block;
  /** The copy that its consumer sees, if it got one. */
  readonly own: Uint8Array<ArrayBuffer> | undefined;
  readonly bytes: number;
  /** Its index among all that are lent. */
  at: number;
  readonly #takeBack: TakeBack;

  constructor(
    entry: Entry,
    block: Block,
    own: Uint8Array<ArrayBuffer> | undefined,
    at: number,
    takeBack: TakeBack,
  ) {
    super(entry.request, own ?? entry.bytes);
    this.block = block;
    this.own = own;
    this.bytes = entry.bytes.byteLength;
    this.at = at;
    this.#takeBack = takeBack;
  }

  protected override onRelease(): void {
    this.#takeBack(this);
  }
}

/** Lends samples to consumers, and keeps track of what they hold. */
export class Lender {
  readonly #lending: Lending;
  readonly #onRelease: () => void;
  /** Not a Set: for such short-lived objects, it costs the garbage collector more than the objects do. */
  readonly #lent: Loan[] = [];
  readonly #takeBack: TakeBack = (loan) => this.#receive(loan);
  /** Bytes of samples that consumers hold. */
  bytes = 0;

  /** @param onRelease Called when memory was freed. */
  constructor(lending: Lending, onRelease: () => void) {
    this.#lending = lending;
    this.#onRelease = onRelease;
  }

  /** Samples that consumers hold. */
  get count(): number {
    return this.#lent.length;
  }

  /**
   * Takes a ready sample out of the window, unless it throws.
   * @throws TieredError `TIERED_TOO_LARGE` if there is no memory for a copy.
   */
  lend(entry: Entry, window: Window): Sample {
    const { request, bytes } = entry;
    if (this.#lending === 'copies') {
      const copy = new CopiedSample(request, bytes);
      window.remove(entry).free();
      // Deferred: the callback may serve the consumer that this call is for.
      queueMicrotask(this.#onRelease);
      return copy;
    }
    const own = this.#lending === 'detached' ? copyOf(request.key, bytes) : undefined;
    const loan = new Loan(entry, window.remove(entry), own, this.#lent.length, this.#takeBack);
    this.#lent.push(loan);
    this.bytes += loan.bytes;
    return loan;
  }

  releaseAll(): void {
    for (let last = this.#lent.at(-1); last !== undefined; last = this.#lent.at(-1)) last.release();
  }

  #receive(loan: Loan): void {
    const { at, block, own, bytes } = loan;
    this.bytes -= bytes;
    block.free();
    const last = this.#lent.pop();
    if (last !== undefined && last !== loan) {
      this.#lent[at] = last;
      last.at = at;
    }
    // The consumer may have transferred it already.
    if (own !== undefined && own.byteLength > 0) structuredClone(own.buffer, { transfer: [own.buffer] });
    this.#onRelease();
  }
}
