import { invariant } from '@tiered/core/internal';
import type { Located, Parts } from '../order/parts.js';
import { Block } from './plan.js';
import type { Runs } from './runs.js';
import type { Placed } from './scattered.js';

/**
 * Reads runs of neighbouring records, each once per epoch, when the first of its samples is needed. A run is
 * kept until the last of its samples has been used.
 */
export class InRuns {
  readonly #parts: Parts;
  readonly #runs: readonly Runs[];
  readonly #newId: () => number;
  /** Uses in the epoch that are not planned yet, by part and run. */
  #uses: Uint32Array[] = [];
  readonly #live = new Map<string, Block>();

  constructor(parts: Parts, runs: readonly Runs[], newId: () => number) {
    this.#parts = parts;
    this.#runs = runs;
    this.#newId = newId;
  }

  /** Begins an epoch with the given batches. */
  begin(batches: Iterable<Uint32Array>): void {
    this.#live.clear();
    this.#uses = this.#runs.map(({ count }) => new Uint32Array(count));
    for (const numbers of batches) {
      const { parts, records } = this.#parts.locate(numbers);
      for (let i = 0; i < records.length; i++) {
        const [part = 0, record = 0] = [parts[i], records[i]];
        const uses = this.#uses[part];
        const run = this.#runs[part]?.runOf(record) ?? 0;
        if (uses !== undefined) uses[run] = (uses[run] ?? 0) + 1;
      }
    }
  }

  place({ parts, records }: Located): Placed {
    const count = records.length;
    const starts = new Float64Array(count);
    const blocks = new Array<Block>(count);
    const newBlocks: Block[] = [];
    for (let i = 0; i < count; i++) {
      const [part = 0, record = 0] = [parts[i], records[i]];
      const runs = this.#runs[part];
      const run = runs?.runOf(record) ?? 0;
      starts[i] = (this.#parts.list[part]?.samples.offsetOf(record) ?? 0) - (runs?.offsetOf(run) ?? 0);
      blocks[i] = this.#blockOf(part, run, newBlocks);
    }
    return { blocks, starts, newBlocks };
  }

  #blockOf(part: number, run: number, newBlocks: Block[]): Block {
    const name = `${part}/${run}`;
    const uses = this.#uses[part];
    const left = (uses?.[run] ?? 1) - 1;
    if (uses !== undefined) uses[run] = left;
    let block = this.#live.get(name);
    if (block === undefined) {
      block = this.#newBlock(part, run, left + 1);
      this.#live.set(name, block);
      newBlocks.push(block);
    }
    if (left === 0) this.#live.delete(name);
    return block;
  }

  #newBlock(part: number, run: number, uses: number): Block {
    const samples = this.#parts.list[part]?.samples;
    invariant(samples !== undefined, `there is no part ${part}`);
    const runs = this.#runs[part];
    const offset = runs?.offsetOf(run) ?? 0;
    const object = samples.objectOf(runs?.firstRecordOf(run) ?? 0);
    const key = samples.keys[object] ?? '';
    const span = { key, offset, length: runs?.bytesOf(run) ?? 0, at: 0 };
    const block = new Block(this.#newId(), samples.hierarchy, [span]);
    block.left = uses;
    return block;
  }
}
