import { invariant } from '@tiered/core/internal';
import type { SampleSet } from '@tiered/formats';
import type { Located, Parts } from '../order/parts.js';
import { Block, type BatchPlan, type Span } from './plan.js';

/** The most bytes and samples of a block, which one producer reads at once. */
const BLOCK = { bytes: 256 * 1024, samples: 256 };

/** The largest gap between two records that is read over instead of splitting the request: a page. */
const MOST_BETWEEN = 4096;

/** The location of the samples of a batch. */
export type Placed = Pick<BatchPlan, 'blocks' | 'starts' | 'newBlocks'>;

/**
 * Reads samples singly, wherever they are. The samples of a batch are put into blocks in the order of their
 * positions, so that neighbours form one request.
 */
export class Scattered {
  readonly #parts: Parts;
  readonly #newId: () => number;

  constructor(parts: Parts, newId: () => number) {
    this.#parts = parts;
    this.#newId = newId;
  }

  place({ parts, records }: Located): Placed {
    const count = records.length;
    const order = inOrderOfPlaces(parts, records);
    const starts = new Float64Array(count);
    const blocks = new Array<Block>(count);
    const newBlocks: Block[] = [];
    for (let from = 0; from < count;) {
      const part = parts[order[from] ?? 0] ?? 0;
      const set = this.#parts.list[part]?.samples;
      invariant(set !== undefined, `there is no part ${part}`);
      const building = new Building(set);
      let end = from;
      while (end < count && parts[order[end] ?? 0] === part && !building.isFull) {
        const i = order[end++] ?? 0;
        starts[i] = building.add(records[i] ?? 0);
      }
      const block = new Block(this.#newId(), set.hierarchy, building.spans());
      block.left = end - from;
      for (let at = from; at < end; at++) blocks[order[at] ?? 0] = block;
      newBlocks.push(block);
      from = end;
    }
    return { blocks, starts, newBlocks };
  }
}

/** Sorts indexes by part, and then by record, since records are numbered by position. */
function inOrderOfPlaces(parts: Uint32Array, records: Uint32Array): Uint32Array {
  const count = records.length;
  const isOnePart = parts.every((part) => part === parts[0]);
  if (!isOnePart)
    return Uint32Array.from(records.keys()).sort(
      (a, b) => (parts[a] ?? 0) - (parts[b] ?? 0) || (records[a] ?? 0) - (records[b] ?? 0),
    );
  // Sorting numbers is several times as fast as sorting with a function. They stay below 2^53 with up to 2^21
  // samples in a batch.
  const keys = new Float64Array(count);
  for (let i = 0; i < count; i++) keys[i] = (records[i] ?? 0) * count + i;
  keys.sort();
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = (keys[i] ?? 0) % count;
  return order;
}

/** A block under construction. Records come in the order of their positions. */
class Building {
  readonly #spans: Span[] = [];
  readonly #set: SampleSet;
  /** Pieces of the present object. */
  #pieces: number[] = [];
  #object = -1;
  /** The start of its bytes in the block. */
  #at = 0;
  #bytes = 0;
  #samples = 0;

  constructor(set: SampleSet) {
    this.#set = set;
  }

  get isFull(): boolean {
    return this.#samples >= BLOCK.samples || this.#bytes >= BLOCK.bytes;
  }

  /** The added records, as one span for each object. */
  spans(): readonly Span[] {
    this.#endObject();
    return this.#spans;
  }

  /** Adds a record, and returns its start in the block. */
  add(record: number): number {
    const object = this.#set.objectOf(record);
    const offset = this.#set.offsetOf(record);
    const length = this.#set.lengthOf(record);
    this.#samples += 1;
    if (object !== this.#object) {
      this.#endObject();
      [this.#object, this.#at] = [object, this.#bytes];
    } else {
      const last = this.#pieces.length - 2;
      const [lastOffset = 0, lastLength = 0] = [this.#pieces[last], this.#pieces[last + 1]];
      if (offset - lastOffset - lastLength <= MOST_BETWEEN) {
        const grown = Math.max(lastLength, offset + length - lastOffset);
        const at = this.#bytes - lastLength + offset - lastOffset;
        this.#pieces[last + 1] = grown;
        this.#bytes += grown - lastLength;
        return at;
      }
    }
    const at = this.#bytes;
    this.#pieces.push(offset, length);
    this.#bytes += length;
    return at;
  }

  #endObject(): void {
    const { length } = this.#pieces;
    if (length === 0) return;
    const key = this.#set.keys[this.#object] ?? '';
    const span = { key, length: this.#bytes - this.#at, at: this.#at };
    if (length === 2) this.#spans.push({ ...span, offset: this.#pieces[0] ?? 0 });
    else this.#spans.push({ ...span, offset: 0, pieces: Float64Array.from(this.#pieces) });
    this.#pieces = [];
  }
}
