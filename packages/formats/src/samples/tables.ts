import { configError } from '@tiered/core/internal';
import type { RecordTable } from '../contract/format.js';

/** Samples are numbered by 32 bits. */
const MOST = 2 ** 32 - 1;

/**
 * The record tables of many objects as one: 20 bytes a record, and 4 more where records have several samples.
 */
export class Tables {
  readonly keys: readonly string[];
  readonly records: number;
  readonly samples: number;
  readonly bytes: number;
  readonly isSingle: boolean;
  readonly #headers: readonly (Uint8Array | undefined)[];
  /** By object, and the end. */
  readonly #firstRecord: Uint32Array;
  readonly #objects: Uint32Array;
  readonly #offsets: Float64Array;
  readonly #lengths: Float64Array;
  /** By record, and the end. Undefined where each record has one sample. */
  readonly #firstSample: Uint32Array | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for more samples than 32 bits can number. */
  constructor(keys: readonly string[], tables: readonly RecordTable[]) {
    this.keys = keys;
    this.#headers = tables.map(({ header }) => header);
    this.records = tables.reduce((sum, { offsets }) => sum + offsets.length, 0);
    this.samples = tables.reduce((sum, table) => sum + samplesIn(table), 0);
    if (Math.max(this.records, this.samples) > MOST)
      throw configError('samples', `at most ${MOST}`, this.samples);
    this.isSingle = tables.every(({ samples }) => samples?.every((count) => count === 1) ?? true);
    this.#firstRecord = new Uint32Array(keys.length + 1);
    this.#objects = new Uint32Array(this.records);
    this.#offsets = new Float64Array(this.records);
    this.#lengths = new Float64Array(this.records);
    this.#firstSample = this.isSingle ? undefined : new Uint32Array(this.records + 1);
    let record = 0;
    for (const [object, table] of tables.entries()) {
      this.#take(object, record, table);
      record += table.offsets.length;
      this.#firstRecord[object + 1] = record;
    }
    this.bytes = this.#lengths.reduce((sum, length) => sum + length, 0);
  }

  #take(object: number, record: number, { offsets, lengths, samples }: RecordTable): void {
    this.#objects.fill(object, record, record + offsets.length);
    this.#offsets.set(offsets, record);
    this.#lengths.set(lengths, record);
    const first = this.#firstSample;
    if (first === undefined) return;
    for (let i = 0; i < offsets.length; i++)
      first[record + i + 1] = (first[record + i] ?? 0) + (samples?.[i] ?? 1);
  }

  headerOf(object: number): Uint8Array | undefined {
    return this.#headers[object];
  }

  objectOf(record: number): number {
    return this.#objects[record] ?? 0;
  }

  offsetOf(record: number): number {
    return this.#offsets[record] ?? 0;
  }

  lengthOf(record: number): number {
    return this.#lengths[record] ?? 0;
  }

  firstSampleOf(record: number): number {
    return this.#firstSample === undefined ? record : (this.#firstSample[record] ?? 0);
  }

  /** The samples of an object: the first, and the end. */
  samplesOf(object: number): readonly [first: number, end: number] {
    const [first = 0, end = 0] = this.#firstRecord.subarray(object, object + 2);
    return [this.firstSampleOf(first), this.firstSampleOf(end)];
  }

  recordOf(sample: number): number {
    const first = this.#firstSample;
    if (first === undefined) return sample;
    // The last record that begins there or before: records without samples begin where the next one does.
    let [low, high] = [0, this.records];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((first[middle] ?? 0) <= sample) low = middle;
      else high = middle;
    }
    return low;
  }
}

function samplesIn({ offsets, samples }: RecordTable): number {
  return samples === undefined ? offsets.length : samples.reduce((sum, count) => sum + count, 0);
}
