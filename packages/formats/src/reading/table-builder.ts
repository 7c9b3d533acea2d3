import type { RecordTable } from '../contract/format.js';

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
