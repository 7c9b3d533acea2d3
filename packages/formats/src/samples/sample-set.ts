import type { Hierarchy, OperationOptions } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { damaged, type SampleFormat } from '../contract/format.js';
import type { Tables } from './tables.js';

/** Where a record is. */
export interface RecordPlace {
  /** The number of its object, for `SampleSet.keys`. */
  readonly object: number;
  readonly key: string;
  /** First byte. */
  readonly offset: number;
  /** Bytes. */
  readonly length: number;
}

/** What a sample set is made of. */
export interface SampleSetParts<S> {
  readonly hierarchy: Hierarchy;
  readonly format: SampleFormat<S>;
  readonly tables: Tables;
  readonly skipped: number;
  readonly leftOut: number;
}

/**
 * The samples of a dataset by number, whatever the objects they are in: samples 0 to `samples - 1`, in the
 * order of their objects' keys, and of their places in the objects. Numbers are the same on every machine, as
 * long as the objects are.
 *
 * It holds 20 bytes a record, and no resource: nothing has to be closed. The hierarchy is its caller's.
 * @typeParam S What a sample is.
 */
export class SampleSet<S = unknown> {
  /** What the samples are read from. */
  readonly hierarchy: Hierarchy;
  readonly format: SampleFormat<S>;
  /** The keys of the objects, in order of their UTF-16 code units. */
  readonly keys: readonly string[];
  /** Records of all objects. */
  readonly records: number;
  /** Samples of all records. */
  readonly samples: number;
  /** Bytes of all records. */
  readonly bytes: number;
  /** Damaged records that were left out of the index. */
  readonly skipped: number;
  /**
   * Objects that are no samples, and were left out: marks of directories, hidden files, READMEs, indexes, and
   * what the format knows by its name to be none. Objects that `filter` leaves out are not among them.
   */
  readonly leftOut: number;
  readonly #tables: Tables;

  /** @internal Made by `openSamples`. */
  constructor({ hierarchy, format, tables, skipped, leftOut }: SampleSetParts<S>) {
    this.hierarchy = hierarchy;
    this.format = format;
    this.keys = tables.keys;
    this.records = tables.records;
    this.samples = tables.samples;
    this.bytes = tables.bytes;
    this.skipped = skipped;
    this.leftOut = leftOut;
    this.#tables = tables;
  }

  /** Whether each record has one sample, so that any sample can be read by itself. */
  get isSingle(): boolean {
    return this.#tables.isSingle;
  }

  /** The record that a sample is in. O(1), or O(log records) where records have several samples. */
  recordOf(sample: number): number {
    this.#assert('sample', sample, this.samples);
    return this.#tables.recordOf(sample);
  }

  /** The first sample of a record. The one after the last record is `samples`. */
  firstSampleOf(record: number): number {
    this.#assert('record', record, this.records + 1);
    return this.#tables.firstSampleOf(record);
  }

  /** The number of the object that a record is in. */
  objectOf(record: number): number {
    return this.#tables.objectOf(record);
  }

  /** The first byte of a record in its object. */
  offsetOf(record: number): number {
    return this.#tables.offsetOf(record);
  }

  /** Bytes of a record. */
  lengthOf(record: number): number {
    return this.#tables.lengthOf(record);
  }

  /** What is needed to decode the records of an object, see `RecordTable.header`. */
  headerOf(object: number): Uint8Array | undefined {
    return this.#tables.headerOf(object);
  }

  /** Where a record is. */
  placeOf(record: number): RecordPlace {
    this.#assert('record', record, this.records);
    const object = this.objectOf(record);
    return {
      object,
      key: this.keys[object] ?? '',
      offset: this.offsetOf(record),
      length: this.lengthOf(record),
    };
  }

  /** The object of a sample, its number in it, and how many samples that object has. */
  withinObject(sample: number): { readonly key: string; readonly index: number; readonly of: number } {
    const object = this.objectOf(this.recordOf(sample));
    const [first, end] = this.#tables.samplesOf(object);
    return { key: this.keys[object] ?? '', index: sample - first, of: end - first };
  }

  /**
   * What a person calls a sample: the key of its object, and its number in it if the object has several, such
   * as `train-00017.tfrecord#204`.
   */
  nameOf(sample: number): string {
    const { key, index, of } = this.withinObject(sample);
    return of === 1 ? key : `${key}#${index}`;
  }

  /**
   * Reads one sample. Loaders read ahead and in batches (`@tiered/loader`); this is for looking at a sample.
   * @throws TieredError `TIERED_CONFIG_INVALID` for a sample that does not exist; as `Hierarchy.read`; as the
   * format's `decode`.
   */
  async read(sample: number, options: OperationOptions = {}): Promise<S> {
    const record = this.recordOf(sample);
    const { object, key, offset, length } = this.placeOf(record);
    const bytes = await this.hierarchy.read(key, { offset, length, ...options });
    if (bytes.byteLength < length) throw isShorter(key, offset, bytes.byteLength, length);
    const samples = await this.format.decode({ key, offset, bytes, header: this.headerOf(object) });
    return samples[sample - this.firstSampleOf(record)] as S;
  }

  #assert(field: string, value: number, count: number): void {
    if (!Number.isSafeInteger(value) || value < 0 || value >= count)
      throw configError(field, `a whole number from 0 to ${count - 1}`, value);
  }
}

/** The object has become shorter since it was indexed. */
function isShorter(key: string, offset: number, there: number, length: number): Error {
  return damaged(
    { key, offset },
    `${there} of the ${length} bytes of the record are there`,
    'The object has changed since it was indexed; open the samples again.',
  );
}
