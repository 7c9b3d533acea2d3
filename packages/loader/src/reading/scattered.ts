import type { Parts } from '../order/parts.js';
import { Block, type BatchPlan, type Span } from './plan.js';

/** The most bytes and samples of a block: what one producer reads at once. */
const BLOCK = { bytes: 256 * 1024, samples: 64 };

/** Bytes between two records that are read rather than asked for around: a page. */
const MOST_BETWEEN = 4096;

/** Where the samples of a batch are. */
export type Placed = Pick<BatchPlan, 'blocks' | 'starts' | 'newBlocks'>;

/**
 * Reads samples one by one, wherever they are. Those of a batch are put into blocks in the order of their
 * places, so that neighbours are one request.
 */
export class Scattered {
  readonly #parts: Parts;
  readonly #newId: () => number;

  constructor(parts: Parts, newId: () => number) {
    this.#parts = parts;
    this.#newId = newId;
  }

  place(numbers: Uint32Array): Placed {
    const parts = Uint32Array.from(numbers, (number) => this.#parts.partOf(number));
    const records = Uint32Array.from(numbers, (number, i) => this.#recordOf(number, parts[i] ?? 0));
    // Records are numbered by their places.
    const order = Uint32Array.from(numbers.keys()).sort(
      (a, b) => (parts[a] ?? 0) - (parts[b] ?? 0) || (records[a] ?? 0) - (records[b] ?? 0),
    );
    const starts = new Float64Array(numbers.length);
    const blocks = new Array<Block>(numbers.length);
    const newBlocks: Block[] = [];
    for (let from = 0; from < order.length;) {
      const part = parts[order[from] ?? 0] ?? 0;
      const building = new Building(this.#parts, part);
      let end = from;
      while (end < order.length && parts[order[end] ?? 0] === part && !building.isFull) {
        const i = order[end++] ?? 0;
        starts[i] = building.add(records[i] ?? 0);
      }
      const block = new Block(this.#newId(), part, building.spans);
      block.left = end - from;
      for (const i of order.subarray(from, end)) blocks[i] = block;
      newBlocks.push(block);
      from = end;
    }
    return { blocks, starts, newBlocks };
  }

  #recordOf(number: number, part: number): number {
    const sample = this.#parts.sampleOf(number, part);
    return this.#parts.list[part]?.samples.recordOf(sample) ?? 0;
  }
}

/** A block that grows. Records come in the order of their places. */
class Building {
  readonly spans: Span[] = [];
  readonly #parts: Parts;
  readonly #part: number;
  #samples = 0;
  #object = -1;

  constructor(parts: Parts, part: number) {
    this.#parts = parts;
    this.#part = part;
  }

  get isFull(): boolean {
    const last = this.spans.at(-1);
    const bytes = last === undefined ? 0 : last.at + last.length;
    return this.#samples >= BLOCK.samples || bytes >= BLOCK.bytes;
  }

  /** Adds a record, and returns where it begins in the block. */
  add(record: number): number {
    const samples = this.#parts.list[this.#part]?.samples;
    const object = samples?.objectOf(record) ?? 0;
    const [offset, length] = [samples?.offsetOf(record) ?? 0, samples?.lengthOf(record) ?? 0];
    const last = this.spans.at(-1);
    this.#samples += 1;
    if (last !== undefined && object === this.#object && offset - last.offset - last.length <= MOST_BETWEEN) {
      const end = Math.max(last.offset + last.length, offset + length);
      this.spans[this.spans.length - 1] = { ...last, length: end - last.offset };
      return last.at + offset - last.offset;
    }
    const at = last === undefined ? 0 : last.at + last.length;
    this.spans.push({ key: samples?.keys[object] ?? '', offset, length, at });
    this.#object = object;
    return at;
  }
}
