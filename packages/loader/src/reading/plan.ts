import type { Hierarchy, OperationOptions } from '@tiered/core';
import { damaged } from '@tiered/formats';
import type { RequestOrigin, SampleRequest } from '@tiered/prefetch';
import type { Located, Parts } from '../order/parts.js';

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
export class Block implements SampleRequest {
  /** Its number, counted from 0. */
  readonly id: number;
  readonly spans: readonly Span[];
  readonly size: number;
  /** Where it comes among the blocks that are read; set when it is its turn. */
  epoch = 0;
  position = 0;
  /** Uses of its samples by batches that have not been made yet. */
  left = 0;
  readonly #hierarchy: Hierarchy;
  /** From when it was taken from the prefetcher until its last use. */
  #held: HeldBytes | undefined;

  constructor(id: number, hierarchy: Hierarchy, spans: readonly Span[]) {
    this.id = id;
    this.spans = spans;
    this.#hierarchy = hierarchy;
    const last = spans.at(-1);
    this.size = last === undefined ? 0 : last.at + last.length;
  }

  /** That of its first object. */
  get key(): string {
    return this.spans[0]?.key ?? '';
  }

  /** It counts for the level of its first object. */
  where(): number | undefined {
    const { namespace } = this.#hierarchy;
    const object = namespace.find(this.key);
    return object === -1 ? undefined : namespace.levelOf(object);
  }

  /**
   * Reads all spans at once.
   * @throws TieredError `TIERED_DATA_CORRUPT` where an object has become shorter; as `Hierarchy.readMany`.
   */
  async readInto(target: Uint8Array, options: OperationOptions): Promise<number> {
    const [first, ...others] = this.spans;
    if (first !== undefined && others.length === 0 && first.pieces === undefined) {
      const { key, offset, length } = first;
      const memory = target.subarray(0, length);
      assertWhole(first, await this.#hierarchy.readInto(key, memory, { ...options, offset }));
      return this.size;
    }
    const reads = this.spans.map(({ key, offset, length, pieces, at }) => ({
      key,
      offset,
      pieces,
      target: target.subarray(at, at + length),
    }));
    const outcomes = await this.#hierarchy.readMany(reads, options);
    for (const [i, span] of this.spans.entries()) {
      const outcome = outcomes[i] ?? { bytes: 0 };
      if ('error' in outcome) throw outcome.error;
      assertWhole(span, outcome.bytes);
    }
    return this.size;
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

/** What is known of where all blocks are read from: nothing where parts have different hierarchies. */
export function originOf({ hierarchies }: Parts): RequestOrigin {
  const [hierarchy, ...others] = hierarchies;
  if (hierarchy === undefined || others.length > 0) return {};
  const { name, readsAtOnce } = hierarchy;
  return { name, readsAtOnce, stats: () => hierarchy.stats() };
}

function assertWhole({ key, offset, length }: Span, bytes: number): void {
  if (bytes === length) return;
  throw damaged(
    { key, offset },
    `${bytes} of ${length} bytes are there`,
    'The object has changed since it was indexed; open the samples again.',
  );
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
