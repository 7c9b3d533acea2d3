import { isTieredError } from '@tiered/core';
import { bytesOf, type Dataset } from './datasets.js';
import type { Hdf5File } from './library.js';
import type { Place, RangedFile } from './ranged-file.js';

/** Where the values of rows lie in the file: from the first of their bytes to the last. */
export interface Span {
  start: number;
  end: number;
}

/** Finds the values of rows of a dataset. Undefined where they take no bytes of their own. */
export type SpanOfRows = (first: number, end: number) => Span | undefined;

/** The values of several datasets together. */
export function union(spans: readonly (Span | undefined)[]): Span | undefined {
  const all = spans.filter((span) => span !== undefined);
  if (all.length === 0) return undefined;
  return {
    start: all.reduce((least, { start }) => Math.min(least, start), Infinity),
    end: all.reduce((most, { end }) => Math.max(most, end), 0),
  };
}

/**
 * Finds where the values of a dataset lie, without reading them, but for one chunk.
 * @throws TieredError for what cannot be read.
 */
export async function placesOf(file: RangedFile, hdf5: Hdf5File, dataset: Dataset): Promise<SpanOfRows> {
  if (dataset.shape.includes(0)) return () => undefined;
  if (dataset.chunks !== undefined) return new Chunks(file, hdf5, dataset, dataset.chunks).find();
  const zeros = dataset.shape.map(() => 0);
  const first = await file.find(() => touch(hdf5, dataset, zeros));
  if (isTieredError(first)) throw first;
  const row = bytesOf(dataset, 1);
  return (begin, end) => first && { start: first.position + begin * row, end: first.position + end * row };
}

/** Reads one element. */
function touch(hdf5: Hdf5File, { path, elements }: Dataset, start: readonly number[]): true | undefined {
  return hdf5.read(path, { start, count: start.map(() => 1) }, elements.size, () => true);
}

/** The chunks of a dataset, by number: the last axis first to change. */
class Chunks {
  readonly #file: RangedFile;
  readonly #hdf5: Hdf5File;
  readonly #dataset: Dataset;
  readonly #chunks: readonly number[];
  readonly #grid: readonly number[];
  readonly #count: number;
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  /** The chunk that was found at a position. */
  readonly #at = new Map<number, number>();

  constructor(file: RangedFile, hdf5: Hdf5File, dataset: Dataset, chunks: readonly number[]) {
    this.#file = file;
    this.#hdf5 = hdf5;
    this.#dataset = dataset;
    this.#chunks = chunks;
    this.#grid = dataset.shape.map((length, axis) => Math.ceil(length / (chunks[axis] ?? 1)));
    this.#count = this.#grid.reduce((product, length) => product * length, 1);
    this.#starts = new Float64Array(this.#count).fill(Infinity);
    this.#ends = new Float64Array(this.#count);
  }

  async find(): Promise<SpanOfRows> {
    for (let chunk = 0; chunk < this.#count; chunk++) await this.#findOne(chunk);
    await this.#checkLast();
    const [rows = 1] = this.#chunks;
    const inRow = this.#count / (this.#grid[0] ?? 1);
    return (first, end) => {
      const span = { start: Infinity, end: 0 };
      const after = Math.ceil(end / rows) * inRow;
      for (let chunk = Math.floor(first / rows) * inRow; chunk < after; chunk++) {
        span.start = Math.min(span.start, this.#starts[chunk] ?? Infinity);
        span.end = Math.max(span.end, this.#ends[chunk] ?? 0);
      }
      return span.end > 0 ? span : undefined;
    };
  }

  async #findOne(chunk: number): Promise<void> {
    const place = await this.#file.find(() => this.#touch(chunk));
    if (isTieredError(place)) throw place;
    const other = place && this.#at.get(place.position);
    if (place === undefined || other === undefined || other === chunk) {
      this.#set(chunk, place);
      return;
    }
    // Two chunks are never at one place: what is there leads to both.
    await this.#file.isNoValue(place);
    this.#at.delete(place.position);
    await this.#findOne(other);
    await this.#findOne(chunk);
  }

  /** A node that leads to one chunk only, the last, looks like that chunk until it is read. */
  async #checkLast(): Promise<void> {
    const last = this.#ends.findLastIndex((end) => end > 0);
    if (last < 0) return;
    const places = await this.#file.follow(() => this.#touch(last));
    if (isTieredError(places)) throw places;
    if (places.length < 2) return;
    for (const place of places.slice(0, -1)) await this.#file.isNoValue(place);
    await this.#findOne(last);
  }

  #set(chunk: number, place: Place | undefined): void {
    this.#starts[chunk] = place?.position ?? Infinity;
    this.#ends[chunk] = place === undefined ? 0 : place.position + this.#lengthOf(place);
    if (place !== undefined) this.#at.set(place.position, chunk);
  }

  /** Of large chunks without filters, HDF5 reads only what is asked for. */
  #lengthOf({ length }: Place): number {
    const { isFiltered, elements } = this.#dataset;
    return isFiltered ? length : this.#chunks.reduce((product, axis) => product * axis, elements.size);
  }

  #touch(chunk: number): true | undefined {
    let rest = chunk;
    const start = this.#grid.map(() => 0);
    for (let axis = this.#grid.length - 1; axis >= 0; axis--) {
      const length = this.#grid[axis] ?? 1;
      start[axis] = (rest % length) * (this.#chunks[axis] ?? 1);
      rest = Math.floor(rest / length);
    }
    return touch(this.#hdf5, this.#dataset, start);
  }
}
