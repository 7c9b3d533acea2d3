import type { SampleSet } from '@tiered/formats';
import type { Parts } from '../order/parts.js';

/** A batch of a loader. */
export class Batch<C = unknown> {
  readonly epoch: number;
  /** Its number in the epoch, counted from where the loader began in it. */
  readonly index: number;
  /** The result of `collate`; the list of the samples without it. */
  readonly data: C;
  /** @internal Whether nobody else has the memory of its arrays. */
  readonly isOwn: boolean;
  readonly #numbers: Uint32Array;
  readonly #parts: Parts;

  /** @internal Made by `DataLoader`. */
  constructor(
    {
      epoch,
      index,
      numbers,
    }: { readonly epoch: number; readonly index: number; readonly numbers: Uint32Array },
    { data, isOwn }: { readonly data: C; readonly isOwn: boolean },
    parts: Parts,
  ) {
    this.epoch = epoch;
    this.index = index;
    this.data = data;
    this.isOwn = isOwn;
    this.#numbers = numbers;
    this.#parts = parts;
  }

  /** The number of its samples. */
  get size(): number {
    return this.#numbers.length;
  }

  /** The numbers of its samples in their sample sets. */
  get samples(): Uint32Array {
    return this.#numbers.map((number) => this.#parts.sampleOf(number, this.#parts.partOf(number)));
  }

  /** The sample set that a sample of the batch is from. */
  setOf(i: number): SampleSet | undefined {
    return this.#parts.list[this.#parts.partOf(this.#numbers[i] ?? 0)]?.samples;
  }

  /** A readable name of a sample of the batch; see `SampleSet.nameOf`. */
  nameOf(i: number): string {
    const number = this.#numbers[i] ?? 0;
    const part = this.#parts.partOf(number);
    return this.#parts.list[part]?.samples.nameOf(this.#parts.sampleOf(number, part)) ?? '';
  }
}
