import type { TieredError } from '@tiered/core';
import { damaged, TableBuilder, type IndexOptions, type RecordTable } from '../contract/format.js';

/** Of the options of CSV, those that are about rows. */
export interface Columns {
  readonly columns: boolean | readonly string[];
  readonly maxRowBytes: number;
}

const ADVICE = 'Correct it, or check delimiter and quote.';

/** What of a row is not as its names are. */
export function wrongCount(row: readonly string[], names: readonly string[]): string {
  return `this row has ${row.length} columns, and there are ${names.length} names`;
}

/** The rows of an object, as a parser finds them one behind the other. */
export class Rows {
  readonly #key: string;
  readonly #maxRowBytes: number;
  readonly #hasHeader: boolean;
  readonly #onDamage: IndexOptions['onDamage'];
  readonly #table = new TableBuilder();
  #names: readonly string[] | undefined;
  /** Where the last row ends. */
  #end = 0;
  /** The damage that ended the table. */
  failure: TieredError | undefined;

  constructor(key: string, { columns, maxRowBytes }: Columns, { onDamage }: IndexOptions) {
    this.#key = key;
    this.#maxRowBytes = maxRowBytes;
    this.#hasHeader = columns === true;
    this.#names = typeof columns === 'boolean' ? undefined : columns;
    this.#onDamage = onDamage;
  }

  /** Adds the row that ends at a byte, unless it is the names of the columns. */
  add(row: readonly string[], end: number): void {
    const start = this.#end;
    if (this.#hasHeader && this.#names === undefined) this.#names = this.#namesOf(row);
    else if (this.#names !== undefined && row.length !== this.#names.length) {
      this.#onDamage(this.damage(wrongCount(row, this.#names)));
    } else if (end - start > this.#maxRowBytes) this.#onDamage(this.#tooLong());
    else this.#table.add(start, end - start);
    this.#end = end;
  }

  #namesOf(row: readonly string[]): readonly string[] {
    const seen = new Set<string>();
    const twice = row.find((name) => seen.size === seen.add(name).size);
    if (twice !== undefined) throw this.#fail(this.damage(`there are two columns ${JSON.stringify(twice)}`));
    // The parser puts that in place of what is not UTF-8.
    if (row.join('').includes('\ufffd'))
      throw this.#fail(this.damage('the names of the columns are not UTF-8'));
    return row;
  }

  /**
   * The pieces of the object, as long as the parser finds rows in them that are not too long: it would keep
   * all of a row without end.
   */
  async *guarded(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    let given = 0;
    for await (const piece of pieces) {
      if (given === 0 && isUtf16(piece)) throw this.#fail(this.damage('it is UTF-16, and must be UTF-8'));
      if (given - this.#end > this.#maxRowBytes) throw this.#fail(this.#tooLong());
      yield piece;
      given += piece.byteLength;
    }
  }

  #tooLong(): TieredError {
    return this.damage(
      `the row that begins here is longer than the ${this.#maxRowBytes} bytes that maxRowBytes allows`,
    );
  }

  #fail(error: TieredError): TieredError {
    this.failure = error;
    return error;
  }

  /** The damage of the row that begins where the last one ends. */
  damage(problem: string, cause?: unknown): TieredError {
    return damaged({ key: this.#key, offset: this.#end }, problem, ADVICE, cause);
  }

  build(): RecordTable {
    const names = this.#hasHeader ? this.#names : undefined;
    return this.#table.build(names && new TextEncoder().encode(JSON.stringify(names)));
  }
}

function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}
