import type { Hierarchy, OperationOptions } from '@tiered/core';
import { damaged } from '@tiered/formats';
import type { RequestOrigin, SampleRequest } from '@tiered/prefetch';
import type { Located, Parts } from '../order/parts.js';

/** Bytes of an object that are read at once, and their place in the block. */
export interface Span {
  readonly key: string;
  readonly offset: number;
  /** Bytes of all pieces. */
  readonly length: number;
  /** The ranges to read, if there are several; see `HierarchyReadRequest.pieces`. */
  readonly pieces?: Float64Array | undefined;
  /** The start of its bytes in the block. */
  readonly at: number;
}

/** Bytes in memory that is reused after the release. */
export interface HeldBytes {
  readonly data: Uint8Array;
  release(): void;
}

/** The unit that the prefetcher reads: consecutive parts of one or more objects. */
export class Block implements SampleRequest {
  /** Its number, counted from 0. */
  readonly id: number;
  readonly spans: readonly Span[];
  readonly size: number;
  /** Its position among the blocks that are read; set when it is its turn. */
  epoch = 0;
  position = 0;
  /** Remaining uses of its samples by batches that are not made yet. */
  left = 0;
  readonly #hierarchy: Hierarchy;
  /** Held from the time it is taken from the prefetcher until its last use. */
  #held: HeldBytes | undefined;

  constructor(id: number, hierarchy: Hierarchy, spans: readonly Span[]) {
    this.id = id;
    this.spans = spans;
    this.#hierarchy = hierarchy;
    const last = spans.at(-1);
    this.size = last === undefined ? 0 : last.at + last.length;
  }

  /** The key of its first object. */
  get key(): string {
    return this.spans[0]?.key ?? '';
  }

  /** The level of its first object, for which the block counts. */
  where(): number | undefined {
    const { namespace } = this.#hierarchy;
    const object = namespace.find(this.key);
    return object === -1 ? undefined : namespace.levelOf(object);
  }

  /**
   * Reads all spans at once.
   * @throws TieredError `TIERED_DATA_CORRUPT` if an object has become shorter; like `Hierarchy.readMany`.
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

  /** Called when the block was taken from the prefetcher. */
  hold(held: HeldBytes): void {
    this.#held = held;
  }

  /** Counts one use. The last use releases its memory. Returns whether this was the last. */
  used(): boolean {
    this.left -= 1;
    if (this.left > 0) return false;
    this.#held?.release();
    this.#held = undefined;
    return true;
  }
}

/** The known origin of all blocks: none if parts have different hierarchies. */
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

/** The plan of a batch, made before any read. Its lists are by sample. */
export interface BatchPlan {
  readonly epoch: number;
  /** Its number in the epoch, counted from where the loader began. */
  readonly index: number;
  /** Samples of the epoch, on all ranks, that are done after this batch. */
  readonly done: number;
  /** Whether it is the last of its epoch. */
  readonly isLast: boolean;
  /** Numbers over all parts. */
  readonly numbers: Uint32Array;
  readonly located: Located;
  readonly blocks: readonly Block[];
  /** The start of each sample's record in its block. */
  readonly starts: Float64Array;
  /** The blocks that no earlier batch needed, in the order they are read. */
  readonly newBlocks: readonly Block[];
}
