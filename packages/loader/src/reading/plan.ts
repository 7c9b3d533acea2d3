import type { Located } from '../order/parts.js';

/** Bytes of an object that are read at once, and where they go. */
export interface Span {
  readonly key: string;
  readonly offset: number;
  /** Bytes, of all pieces. */
  readonly length: number;
  /** The ranges that are read, if there are several: as `HierarchyReadRequest.pieces`. */
  readonly pieces?: Float64Array | undefined;
  /** Where its bytes begin in the block. */
  readonly at: number;
}

/** Bytes in memory that serves something else after the release. */
export interface HeldBytes {
  readonly data: Uint8Array;
  release(): void;
}

/** What the prefetcher reads as one: parts of one or more objects, one behind the other. */
export class Block {
  /** Its number, counted from 0. */
  readonly id: number;
  readonly part: number;
  readonly spans: readonly Span[];
  readonly size: number;
  /** Uses of its samples by batches that have not been made yet. */
  left = 0;
  /** From when it was taken from the prefetcher until its last use. */
  #held: HeldBytes | undefined;

  constructor(id: number, part: number, spans: readonly Span[]) {
    this.id = id;
    this.part = part;
    this.spans = spans;
    const last = spans.at(-1);
    this.size = last === undefined ? 0 : last.at + last.length;
  }

  get key(): string {
    return String(this.id);
  }

  get bytes(): Uint8Array | undefined {
    return this.#held?.data;
  }

  /** It was taken from the prefetcher. */
  hold(held: HeldBytes): void {
    this.#held = held;
  }

  /** One use less. After the last its memory is given back; returns whether this was the last. */
  used(): boolean {
    this.left -= 1;
    if (this.left > 0) return false;
    this.#held?.release();
    this.#held = undefined;
    return true;
  }
}

/** A batch, as it is known before anything is read. Its lists are by sample. */
export interface BatchPlan {
  readonly epoch: number;
  /** Its number in the epoch, from where the loader began. */
  readonly index: number;
  /** Samples of the epoch that are done after it, on all ranks. */
  readonly done: number;
  /** Whether it is the last of its epoch. */
  readonly isLast: boolean;
  /** Numbers over all parts. */
  readonly numbers: Uint32Array;
  readonly located: Located;
  readonly blocks: readonly Block[];
  /** Where each sample's record begins in its block. */
  readonly starts: Float64Array;
  /** The blocks that nobody needed before, in the order in which they are read. */
  readonly newBlocks: readonly Block[];
}
