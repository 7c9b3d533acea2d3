import { TieredError, type OperationOptions } from '@tiered/core';

/** An object of a source, as a format reads it to find its records. */
export interface ObjectReader {
  readonly key: string;
  /** Bytes of the object. */
  readonly size: number;
  /**
   * Reads a range. Fewer bytes than asked for come only at the end of the object, as pread. They may be a
   * view on memory of others: do not write to them.
   */
  readonly read: (offset: number, length: number) => Promise<Uint8Array>;
}

/**
 * Where the records of an object are. A record is what is read at once: a range of bytes with one sample in
 * it, or with several where the format does not let them be read singly (a row group, a compressed shard).
 */
export interface RecordTable {
  /** First byte of each record, in rising order, with whatever frames it. */
  readonly offsets: Float64Array;
  /** Bytes of each record. */
  readonly lengths: Float64Array;
  /** Samples of each record. Undefined where each has one. */
  readonly samples?: Uint32Array | undefined;
  /** What is needed to decode each of them, such as the columns of a table. Undefined if nothing is. */
  readonly header?: Uint8Array | undefined;
}

/** A record that was read. */
export interface RawRecord {
  readonly key: string;
  /** The first byte of the record in its object. */
  readonly offset: number;
  /** All bytes of the record, as the table names them. A view: it may be reused later. */
  readonly bytes: Uint8Array;
  /** As in `RecordTable`. */
  readonly header?: Uint8Array | undefined;
}

/** Options of `SampleFormat.index`. */
export interface IndexOptions extends OperationOptions {
  /**
   * Told of what is damaged, with an error that names object and byte. Throws the error if damage is to fail
   * the index; if it returns, the format goes on behind the damage, or ends the table there if it cannot.
   */
  readonly onDamage: (error: TieredError) => void;
}

/** What a format may look at before it indexes the objects of a source. */
export interface SourceObjects extends IndexOptions {
  /** The keys of the objects that have samples, in order. */
  readonly keys: readonly string[];
  /** The keys of all objects, in order: those that were left out, too. */
  readonly all: readonly string[];
  /** Reads an object as a whole. */
  readonly read: (key: string) => Promise<Uint8Array>;
}

/**
 * How samples lie in objects, and what they are. A format keeps no state: any number of objects may be
 * indexed and decoded at the same time, in any thread.
 * @typeParam S What a sample is.
 */
export interface SampleFormat<S> {
  /** The name of the format, such as `tfrecord`. */
  readonly name: string;
  /**
   * What it was made with: plain JSON. Name and options say which saved indexes are its own, and are all that
   * another thread needs to make it again (`formatOf`).
   */
  readonly options: Readonly<Record<string, unknown>>;
  /**
   * Where other threads find the function that makes this format from its options. Formats of this package
   * need none. Default: none, and only the thread that made it can use it.
   */
  readonly madeBy?: { readonly module: string | URL; readonly export?: string | undefined } | undefined;
  /**
   * Whether `index` reads nothing, because the size says all. Indexes of such formats are not saved. Default:
   * false.
   */
  readonly needsNoIndex?: boolean | undefined;
  /**
   * Whether an object may have samples, by its key. `openSamples` leaves others out, and counts them. Marks
   * of directories, hidden files, READMEs and the like are left out before. Default: all may.
   */
  isSample?(key: string): boolean;
  /**
   * Makes the format that indexes and decodes the objects of a source, where that depends on all of them.
   * `openSamples` calls it once, and asks the format that it gets whether objects may have samples. Default:
   * none, and this is the one.
   * @throws What reading throws; what `onDamage` throws; TieredError for a source that has no such samples.
   */
  prepare?(source: SourceObjects): SampleFormat<S> | Promise<SampleFormat<S>>;
  /**
   * Finds the records of an object. Reads as little of it as the format allows, in order.
   * @throws What reading throws; what `onDamage` throws; an abort rejects with `signal.reason`.
   */
  index(object: ObjectReader, options: IndexOptions): Promise<RecordTable>;
  /**
   * Decodes a record into its samples, as many as the table says, in their order. Bytes in samples may be
   * views of the record.
   * @throws TieredError `TIERED_DATA_CORRUPT` that names object and byte.
   */
  decode(record: RawRecord): readonly S[] | Promise<readonly S[]>;
}

/**
 * Makes the error for bytes that are not what they must be.
 * @param at The object, and the byte where the damage is.
 * @param problem What is wrong, as a clause.
 * @param advice What to do about it.
 */
export function damaged(
  { key, offset }: { readonly key: string; readonly offset: number },
  problem: string,
  advice: string,
  cause?: unknown,
): TieredError {
  const message = `${key}, byte ${offset}: ${problem}. ${advice}`;
  return new TieredError('TIERED_DATA_CORRUPT', message, { key, ...(cause !== undefined && { cause }) });
}

/** A table that grows record by record. */
export class TableBuilder {
  readonly #offsets: number[] = [];
  readonly #lengths: number[] = [];

  add(offset: number, length: number): void {
    this.#offsets.push(offset);
    this.#lengths.push(length);
  }

  build(header?: Uint8Array): RecordTable {
    return {
      offsets: Float64Array.from(this.#offsets),
      lengths: Float64Array.from(this.#lengths),
      ...(header !== undefined && { header }),
    };
  }
}
