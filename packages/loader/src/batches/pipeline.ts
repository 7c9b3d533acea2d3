import type { Sample } from '@tiered/prefetch';
import { ReusedMemory } from '@tiered/prefetch/internal';
import { invariant } from '@tiered/core/internal';
import Denque from 'denque';
import type { Parts } from '../order/parts.js';
import type { BatchPlan, HeldBytes } from '../reading/plan.js';
import type { BatchTask, MadeBatch } from './task.js';

/** A batch that is being made, or is ready. */
export interface PlannedBatch {
  readonly plan: BatchPlan;
  readonly made: MadeBatch;
}

/** Dependencies of `Pipeline`. */
export interface PipelineParts {
  readonly parts: Parts;
  readonly seed: number;
  /** The most batches in progress. */
  readonly ahead: number;
  readonly next: () => BatchPlan | undefined;
  /** Takes blocks from the prefetcher, in order. Returns fewer only at the end. */
  readonly take: (most: number) => Promise<readonly Sample[]>;
  readonly make: (task: BatchTask) => Promise<MadeBatch>;
  readonly drop: (block: number) => void;
  /** Whether blocks outlive many batches, so that they must not hold memory of the prefetcher. */
  readonly keepsBlocks: boolean;
  /** Whether batches may be views of blocks. */
  readonly lends: boolean;
}

type Underway = Promise<PlannedBatch>;

/**
 * Makes batches ahead of their consumer. One loop takes the blocks of each batch from the prefetcher, in
 * order, and starts the batch. At most `ahead` batches are in progress or wait. They are returned in order,
 * whenever they are finished. The loop starts with the first request for a batch, and ends with the first
 * error, which is returned at the position of its batch.
 */
export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #batches = new Denque<Underway>();
  /** Memory of kept blocks, which workers see directly. */
  readonly #kept = new ReusedMemory();
  #running: Promise<void> | undefined;
  /** Called when there is room for another batch. */
  #onRoom: (() => void) | undefined;
  /** Called when there is another batch, or there will be none. */
  #onBatch: (() => void) | undefined;
  #isOver = false;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** The next batch; undefined at the end. One call at a time. */
  async next(): Promise<PlannedBatch | undefined> {
    this.#running ??= this.#run();
    while (this.#batches.isEmpty() && !this.#isOver)
      await new Promise<void>((resolve) => (this.#onBatch = resolve));
    const batch = this.#batches.shift();
    this.#onRoom?.();
    return batch;
  }

  /** Releases the memory of a taken batch. */
  release({ plan }: PlannedBatch): void {
    if (this.#parts.lends) this.#usedUp(plan);
  }

  /** Stops taking blocks. Resolves when no batch is in progress. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#onRoom?.();
    this.#onBatch?.();
    await this.#running;
    await Promise.allSettled(this.#batches.toArray());
  }

  async #run(): Promise<void> {
    const { ahead, next } = this.#parts;
    while (!this.#isOver) {
      if (this.#batches.length >= ahead) {
        await new Promise<void>((resolve) => (this.#onRoom = resolve));
        continue;
      }
      const plan = next();
      if (plan === undefined) break;
      const taken = await this.#takeBlocks(plan).catch((error: unknown) => ({ error }));
      if (this.#isOver && taken !== undefined) break;
      this.#add(taken === undefined ? this.#make(plan) : Promise.reject(taken.error));
      if (taken !== undefined) break;
    }
    this.#isOver = true;
    this.#onBatch?.();
  }

  #add(batch: Underway): void {
    // The consumer of the batch gets its error.
    batch.catch(() => undefined);
    this.#batches.push(batch);
    this.#onBatch?.();
  }

  async #takeBlocks({ newBlocks }: BatchPlan): Promise<undefined> {
    const { take, keepsBlocks } = this.#parts;
    for (let at = 0; at < newBlocks.length;) {
      const samples = await take(newBlocks.length - at);
      invariant(samples.length > 0, 'the prefetcher ended before the plan');
      for (const sample of samples) {
        const block = newBlocks[at++];
        const isNext = block?.epoch === sample.epoch && block.position === sample.position;
        invariant(isNext, `block ${sample.position} of epoch ${sample.epoch} came in place of another`);
        block.hold(keepsBlocks ? this.#keep(sample) : sample);
      }
    }
    return undefined;
  }

  /** Copies a block, and so releases the prefetcher's memory. */
  #keep(sample: Sample): HeldBytes {
    const block = this.#kept.take(sample.data.byteLength);
    block.bytes.set(sample.data);
    sample.release();
    return { data: block.bytes, release: () => block.free() };
  }

  async #make(plan: BatchPlan): Promise<PlannedBatch> {
    const { make, lends } = this.#parts;
    const made = await make(this.#taskOf(plan));
    if (!lends) this.#usedUp(plan);
    return { plan, made };
  }

  #usedUp({ blocks }: BatchPlan): void {
    for (const block of blocks) if (block.used()) this.#parts.drop(block.id);
  }

  #taskOf({ epoch, located, blocks, starts }: BatchPlan): BatchTask {
    const { parts, seed } = this.#parts;
    const count = blocks.length;
    const keys = new Array<string>(count);
    const offsets = new Float64Array(count);
    const records = new Array<Uint8Array>(count);
    const headers = new Array<Uint8Array | undefined>(count);
    const within = new Uint32Array(count);
    const ids = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      const [record = 0, start = 0, block] = [located.records[i], starts[i], blocks[i]];
      const set = parts.list[located.parts[i] ?? 0]?.samples;
      invariant(set !== undefined && block?.bytes !== undefined, 'a sample has no block');
      const object = set.objectOf(record);
      keys[i] = set.keys[object] ?? '';
      offsets[i] = set.offsetOf(record);
      records[i] = block.bytes.subarray(start, start + set.lengthOf(record));
      headers[i] = set.headerOf(object);
      within[i] = (located.samples[i] ?? 0) - set.firstSampleOf(record);
      ids[i] = block.id;
    }
    const { parts: ofParts, samples } = located;
    return { epoch, seed, parts: ofParts, samples, keys, offsets, records, headers, within, blocks: ids };
  }
}
