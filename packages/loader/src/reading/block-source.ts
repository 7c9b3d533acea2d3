import type { Hierarchy, HierarchyStats, OperationOptions } from '@tiered/core';
import { damaged } from '@tiered/formats';
import type { SampleSource } from '@tiered/prefetch';
import type { Parts } from '../order/parts.js';
import type { Block } from './plan.js';

/**
 * Blocks as a prefetcher reads them. It knows those that were planned and not taken yet: as many as the
 * prefetcher looks ahead.
 */
export class BlockSource implements SampleSource {
  readonly #parts: Parts;
  readonly #planned = new Map<number, Block>();
  /** Of all parts; undefined where they have different ones, whose levels are not the same. */
  readonly #hierarchy: Hierarchy | undefined;
  readonly stats?: () => HierarchyStats;

  constructor(parts: Parts) {
    this.#parts = parts;
    const hierarchies = new Set(parts.list.map(({ samples }) => samples.hierarchy));
    const [only] = hierarchies;
    this.#hierarchy = hierarchies.size === 1 ? only : undefined;
    if (this.#hierarchy !== undefined) this.stats = this.#hierarchy.stats.bind(this.#hierarchy, undefined);
  }

  get name(): string | undefined {
    return this.#hierarchy?.name;
  }

  get readsAtOnce(): number | undefined {
    return this.#hierarchy?.readsAtOnce;
  }

  /** Sizes and levels of blocks, by their numbers. */
  readonly namespace = {
    find: (key: string) => (this.#planned.has(Number(key)) ? Number(key) : -1),
    sizeOf: (id: number) => this.#planned.get(id)?.size ?? 0,
    levelOf: (id: number) => this.#levelOf(id),
  };

  planned(block: Block): void {
    this.#planned.set(block.id, block);
  }

  /** The block was taken from the prefetcher. */
  taken(block: Block): void {
    this.#planned.delete(block.id);
  }

  stat(key: string): Promise<{ readonly size: number }> {
    return Promise.resolve({ size: this.#planned.get(Number(key))?.size ?? 0 });
  }

  /** Reads all spans of a block at once. */
  async readInto(key: string, target: Uint8Array, options: OperationOptions): Promise<number> {
    const block = this.#planned.get(Number(key));
    const hierarchy = block && this.#parts.list[block.part]?.samples.hierarchy;
    if (block === undefined || hierarchy === undefined) return 0;
    const [only] = block.spans;
    if (block.spans.length === 1 && only?.pieces === undefined && only !== undefined) {
      const bytes = await hierarchy.readInto(only.key, target.subarray(0, only.length), {
        ...options,
        offset: only.offset,
      });
      assertWhole(only, bytes);
      return block.size;
    }
    const requests = block.spans.map(({ key, offset, length, pieces, at }) => ({
      key,
      offset,
      pieces,
      target: target.subarray(at, at + length),
    }));
    const outcomes = await hierarchy.readMany(requests, options);
    for (const [i, span] of block.spans.entries()) {
      const outcome = outcomes[i] ?? { bytes: 0 };
      if ('error' in outcome) throw outcome.error;
      assertWhole(span, outcome.bytes);
    }
    return block.size;
  }

  /** A block counts for the level of its first object. */
  #levelOf(id: number): number {
    const block = this.#planned.get(id);
    const namespace = this.#hierarchy?.namespace;
    const known = namespace?.find(block?.spans[0]?.key ?? '') ?? -1;
    return namespace === undefined || known === -1 ? 0 : namespace.levelOf(known);
  }
}

function assertWhole({ key, offset, length }: Block['spans'][number], bytes: number): void {
  if (bytes === length) return;
  throw damaged(
    { key, offset },
    `${bytes} of ${length} bytes are there`,
    'The object has changed since it was indexed; open the samples again.',
  );
}
