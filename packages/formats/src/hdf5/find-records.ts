import { damaged, type IndexOptions, type ObjectReader, type RecordTable } from '../contract/format.js';
import { bytesOf, type Ask, type Dataset } from './datasets.js';
import { encodeHeader, type Unit } from './header.js';
import { loadLibrary, type Hdf5File } from './library.js';
import { placesOf, union, type Span, type SpanOfRows } from './places.js';
import { RangedFile } from './ranged-file.js';
import { recordsOf, rowsAtOnce, type UnitsRecord } from './records.js';
import {
  datasetsOfMember,
  tableOf,
  throwIfWrong,
  wrong,
  type SampleOptions,
  type SampleTable,
} from './samples.js';

/** What of `maxBytes` a header has at most. Files of up to so many bytes are one record. */
const HEADER_SHARE = 64;
const MOST_SAMPLES = 2 ** 32 - 1;
/** Chunks of a dataset that are looked for at most. */
const MOST_CHUNKS = 2 ** 24;

/** What samples are, and the most bytes of a record. */
interface FindOptions extends SampleOptions {
  readonly maxBytes: number;
}

/**
 * Finds the records of a file.
 * @throws TieredError `TIERED_DATA_CORRUPT` for a file that is damaged, or too large.
 */
export async function findRecords(
  object: ObjectReader,
  options: FindOptions,
  { signal }: Pick<IndexOptions, 'signal'>,
): Promise<RecordTable> {
  const { maxBytes } = options;
  const headerBytes = Math.floor(maxBytes / HEADER_SHARE);
  const mayBeOne = object.size <= maxBytes;
  const file = new RangedFile(object, signal, mayBeOne ? maxBytes : headerBytes);
  const library = await loadLibrary();
  const at = { key: object.key, offset: 0 };
  const hdf5 = throwIfWrong(await file.keeping(() => library.open(file)));
  if (hdf5 === undefined) throw wrong(at, library.takeReason());
  try {
    const ask: Ask = async (question) => {
      const answer = throwIfWrong(await file.keeping(() => question(hdf5)));
      if (answer === undefined) throw wrong(at, library.takeReason());
      return answer;
    };
    const table = await tableOf(ask, object.key, options);
    if (table.count > MOST_SAMPLES) throw tooLarge(at, `has ${table.count} samples`);
    if (table.count === 0) return { offsets: new Float64Array(0), lengths: new Float64Array(0) };
    const one = oneRecord(object, table.count);
    if (object.size <= headerBytes) return one;
    const records = await new Finder(file, hdf5, ask, object.key, options).records(table);
    const longest = records?.reduce((most, { start, end }) => Math.max(most, end - start), 0) ?? Infinity;
    if (records !== undefined && longest <= maxBytes && file.kept.bytes <= headerBytes)
      return tableFor(object.size, records, table, file);
    if (mayBeOne) return one;
    throw tooLarge(at, 'cannot be read in parts of so many bytes');
  } finally {
    hdf5[Symbol.dispose]();
    library.takeReason();
  }
}

function tooLarge(at: { key: string; offset: number }, problem: string) {
  return damaged(
    at,
    `it ${problem}, and has more bytes than maxBytes allows`,
    'Raise maxBytes, or name fewer datasets.',
  );
}

function oneRecord({ size }: ObjectReader, samples: number): RecordTable {
  return { offsets: Float64Array.of(0), lengths: Float64Array.of(size), samples: Uint32Array.of(samples) };
}

function tableFor(
  size: number,
  records: readonly UnitsRecord[],
  { columns }: SampleTable,
  { kept }: RangedFile,
): RecordTable {
  return {
    offsets: Float64Array.from(records, ({ start }) => start),
    lengths: Float64Array.from(records, ({ start, end }) => end - start),
    samples: Uint32Array.from(records, ({ units }) => units.reduce((sum, unit) => sum + samplesIn(unit), 0)),
    header: encodeHeader({
      size,
      datasets: columns?.map(([name]) => name) ?? [],
      records: new Map(records.map(({ start, units }) => [start, units])),
      ranges: kept,
    }),
  };
}

function samplesIn(unit: Unit): number {
  return typeof unit === 'string' ? 1 : unit[1] - unit[0];
}

/** Finds records by where values lie. */
class Finder {
  readonly #file: RangedFile;
  readonly #hdf5: Hdf5File;
  readonly #ask: Ask;
  readonly #key: string;
  readonly #options: FindOptions;

  constructor(file: RangedFile, hdf5: Hdf5File, ask: Ask, key: string, options: FindOptions) {
    this.#file = file;
    this.#hdf5 = hdf5;
    this.#ask = ask;
    this.#key = key;
    this.#options = options;
  }

  /** Undefined if values lie where only reading them would tell. */
  async records({ columns, members, count }: SampleTable): Promise<UnitsRecord[] | undefined> {
    const units =
      columns === undefined
        ? await this.#members(members)
        : await this.#rows(
            columns.map(([, one]) => one),
            count,
          );
    return units && recordsOf(units);
  }

  async #rows(datasets: readonly Dataset[], count: number): Promise<[Unit, Span | undefined][] | undefined> {
    if (!datasets.every(canBeFound)) return undefined;
    const apart = await this.#keepSmall(datasets);
    const rows = rowsAtOnce(apart, count);
    const spans: SpanOfRows[] = [];
    for (const dataset of apart) spans.push(await placesOf(this.#file, this.#hdf5, dataset));
    return Array.from({ length: Math.ceil(count / rows) }, (_, i) => {
      const [first, end] = [i * rows, Math.min(count, (i + 1) * rows)];
      return [[first, end], union(spans.map((spanOf) => spanOf(first, end)))];
    });
  }

  /**
   * Keeps the values of small datasets beside what the file says of itself, so that records have the bytes of
   * the others alone: labels lie far from their images.
   */
  async #keepSmall(datasets: readonly Dataset[]): Promise<Dataset[]> {
    const bySize = datasets.toSorted((a, b) => bytesOf(a) - bytesOf(b));
    const apart = new Set(datasets);
    let left = Math.floor(this.#options.maxBytes / HEADER_SHARE / 2);
    // The largest is never kept: it is what is to be read in parts.
    for (const dataset of bySize.slice(0, -1)) {
      left -= bytesOf(dataset);
      if (left < 0) break;
      apart.delete(dataset);
      const { path, shape } = dataset;
      const part = { start: shape.map(() => 0), count: shape };
      if (!shape.includes(0)) await this.#ask((file) => file.read(path, part, bytesOf(dataset), () => true));
    }
    return [...apart];
  }

  async #members(members: readonly string[]): Promise<[Unit, Span | undefined][] | undefined> {
    const units: [Unit, Span | undefined][] = [];
    for (const member of members) {
      const datasets = await datasetsOfMember(this.#ask, this.#key, member, this.#options);
      const all: (Span | undefined)[] = [];
      for (const [, dataset] of datasets) {
        if (!canBeFound(dataset)) return undefined;
        const spanOf = await placesOf(this.#file, this.#hdf5, dataset);
        all.push(spanOf(0, dataset.shape[0] ?? 1));
      }
      units.push([member, union(all)]);
    }
    return units;
  }
}

function canBeFound({ shape, chunks, elements }: Dataset): boolean {
  const count = shape.reduce(
    (product, length, axis) => product * Math.ceil(length / (chunks?.[axis] ?? length)),
    1,
  );
  return !elements.kind.endsWith('pointers') && (chunks === undefined || count <= MOST_CHUNKS);
}
