import { isTieredError, TieredError } from '@tiered/core';
import { damaged } from '../contract/format.js';
import { bytesOf, datasetAt, datasetsBelow, join, unsupported, type Ask, type Dataset } from './datasets.js';
import type { Unit } from './header.js';
import type { Hdf5File } from './library.js';
import { valuesOf, type Hdf5Value } from './values.js';

/** A sample: values by the paths of their datasets. */
export type Hdf5Sample = Readonly<Record<string, Hdf5Value>>;

/** What samples are, as the options say. */
export interface SampleOptions {
  readonly datasets?: readonly string[];
  readonly groups?: string;
}

/** A dataset, and what samples call it. */
export type Named = readonly [name: string, dataset: Dataset];

/** The samples of a file. */
export interface SampleTable {
  /** The datasets whose rows are samples. Undefined where members of a group are. */
  readonly columns: readonly Named[] | undefined;
  /** The members of the group. */
  readonly members: readonly string[];
  readonly count: number;
}

/**
 * Finds out what the samples of a file are.
 * @throws TieredError `TIERED_UNSUPPORTED` for datasets that are no rows of samples.
 */
export async function tableOf(ask: Ask, key: string, options: SampleOptions): Promise<SampleTable> {
  const { groups } = options;
  if (groups !== undefined) {
    const kind = await ask((file) => file.kindOf(groups || '/') ?? 'none');
    if (kind !== 'group') throw noSamples(key, `it has no group ${groups}`, 'groups');
    const members = await ask((file) => file.names(groups || '/'));
    return { columns: undefined, members, count: members.length };
  }
  const paths = options.datasets ?? (await datasetsBelow(ask, ''));
  const columns: Named[] = [];
  for (const path of paths) columns.push([path, await datasetAt(ask, key, path)]);
  const single = columns.find(([, { shape }]) => shape.length === 0);
  if (single !== undefined) throw unsupported(key, single[0], 'it has one value, and no rows');
  const lengths = new Set(columns.map(([, { shape }]) => shape[0] ?? 0));
  if (lengths.size > 1) {
    const all = columns.map(([path, { shape }]) => `${path} ${shape[0]}`).join(', ');
    throw noSamples(key, `its datasets have different numbers of rows (${all})`, 'datasets');
  }
  const [count = 0] = lengths;
  return { columns, members: [], count };
}

function noSamples(key: string, problem: string, option: string): TieredError {
  const message = `${key}: ${problem}. Name others in the option ${option}.`;
  return new TieredError('TIERED_UNSUPPORTED', message, { key });
}

/** The datasets of a member of the group of samples: itself as `.`, or those below it. */
export async function datasetsOfMember(
  ask: Ask,
  key: string,
  member: string,
  { groups = '', datasets }: SampleOptions,
): Promise<Named[]> {
  const path = join(groups, member);
  const kind = await ask((file) => file.kindOf(path));
  const names =
    kind === 'group' ? (datasets ?? (await datasetsBelow(ask, path))) : kind === 'dataset' ? ['.'] : [];
  const found: Named[] = [];
  for (const name of names) found.push([name, await datasetAt(ask, key, join(path, name))]);
  return found;
}

/**
 * Reads samples.
 * @throws TieredError `TIERED_DATA_CORRUPT` for what cannot be read, or has more than `most` bytes.
 */
export class SampleReader {
  readonly #ask: Ask;
  readonly #options: SampleOptions;
  readonly #at: { readonly key: string; readonly offset: number };
  #left: number;

  constructor(
    ask: Ask,
    at: { readonly key: string; readonly offset: number },
    options: SampleOptions,
    most: number,
  ) {
    this.#ask = ask;
    this.#at = at;
    this.#options = options;
    this.#left = most;
  }

  async rows(columns: readonly Named[], [first, end]: Exclude<Unit, string>): Promise<Hdf5Sample[]> {
    const values = end - first;
    const read: (readonly [string, Hdf5Value[]])[] = [];
    for (const [name, dataset] of columns) {
      const shape = dataset.shape.slice(1);
      const part = { start: [first, ...shape.map(() => 0)], count: [values, ...shape] };
      this.#take(bytesOf(dataset, values));
      const all = await this.#ask((file) =>
        valuesOf(file, dataset.path, dataset.elements, part, { values, shape }),
      );
      read.push([name, all]);
    }
    return Array.from({ length: values }, (_, i) => sample(read.map(([name, all]) => [name, all[i] ?? ''])));
  }

  async member(member: string): Promise<Hdf5Sample> {
    const values: [string, Hdf5Value][] = [['@name', member]];
    for (const [name, dataset] of await datasetsOfMember(this.#ask, this.#at.key, member, this.#options)) {
      const { shape, path, elements } = dataset;
      this.#take(bytesOf(dataset));
      const part = { start: shape.map(() => 0), count: shape };
      const [value = ''] = await this.#ask((file) =>
        valuesOf(file, path, elements, part, { values: 1, shape }),
      );
      values.push([name, value]);
    }
    return sample(values);
  }

  #take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left >= 0) return;
    throw damaged(this.#at, 'its samples have more bytes than maxBytes allows', 'Raise maxBytes.');
  }
}

/** Entries become properties of its own, whatever their names are. */
function sample(entries: readonly (readonly [string, Hdf5Value])[]): Hdf5Sample {
  return Object.fromEntries(entries);
}

/** Asks an open file, all of whose bytes are there. */
export function asking(
  file: Hdf5File,
  at: { readonly key: string; readonly offset: number },
  reason: () => string,
): Ask {
  return async (question) => {
    const answer = question(file);
    if (answer === undefined) throw wrong(at, reason());
    return answer;
  };
}

/** Damage that HDF5 found. */
export function wrong(at: { readonly key: string; readonly offset: number }, reason: string): TieredError {
  return damaged(at, `HDF5 cannot read it: ${reason}`, 'Write or fetch the file again.');
}

/** Gives an answer on, unless it is damage. */
export function throwIfWrong<T>(answer: T | TieredError): T {
  if (isTieredError(answer)) throw answer;
  return answer;
}
