import { TieredError } from '@tiered/core';
import type { Hdf5File } from './library.js';
import { elementsOfType, type Elements } from './values.js';

/** A dataset of a file, as far as its values are known. */
export interface Dataset {
  readonly path: string;
  readonly shape: readonly number[];
  /** The lengths of a chunk by axis. Undefined where the values lie one behind the other. */
  readonly chunks: readonly number[] | undefined;
  readonly isFiltered: boolean;
  readonly elements: Elements;
}

/**
 * Asks a file for something.
 * @throws TieredError `TIERED_DATA_CORRUPT` if it cannot be read.
 */
export type Ask = <T>(question: (file: Hdf5File) => T | undefined) => Promise<T>;

/** Groups in groups. A group may contain itself. */
const DEEPEST = 32;

/** The paths of all datasets below a group, relative to it, in order. Links to other places are left out. */
export async function datasetsBelow(ask: Ask, group: string): Promise<string[]> {
  const found: string[] = [];
  const walk = async (below: string, depth: number): Promise<void> => {
    for (const name of await ask((file) => file.names(join(group, below)))) {
      const relative = below === '' ? name : `${below}/${name}`;
      const kind = await ask((file) => file.kindOf(join(group, relative)));
      if (kind === 'dataset') found.push(relative);
      if (kind === 'group' && depth < DEEPEST) await walk(relative, depth + 1);
    }
  };
  await walk('', 0);
  return found;
}

/** The path of what is below a group, or of the group itself (`.`). */
export function join(group: string, path: string): string {
  return path === '' || path === '.' ? group || '/' : `${group}/${path}`;
}

/**
 * Looks at a dataset.
 * @throws TieredError `TIERED_UNSUPPORTED` for one whose values cannot be read, or that is not there.
 */
export async function datasetAt(ask: Ask, key: string, path: string): Promise<Dataset> {
  const kind = await ask((file) => file.kindOf(path) ?? 'none');
  if (kind !== 'dataset')
    throw unsupported(key, path, kind === 'none' ? 'it is not there' : 'it is not a dataset');
  const about = await ask((file) => file.metadataOf(path));
  const elements = elementsOfType(about);
  if (typeof elements === 'string') throw unsupported(key, path, elements);
  if (about.shape === null) throw unsupported(key, path, 'it has no values');
  if (about.virtual_sources !== undefined) throw unsupported(key, path, 'its values are in other files');
  const filters = await ask((file) => file.filtersOf(path));
  const unknown = filters.find(({ isThere }) => !isThere);
  if (unknown !== undefined)
    throw unsupported(
      key,
      path,
      `it is compressed by ${unknown.name}, which h5wasm and h5wasm-plugins do not have here`,
    );
  const { shape, chunks } = about;
  return { path, shape, chunks: chunks ?? undefined, isFiltered: filters.length > 0, elements };
}

/** Bytes of a number of rows, or of the whole where it has no axes, in memory. */
export function bytesOf({ shape, elements }: Dataset, rows = shape[0] ?? 1): number {
  return shape.slice(1).reduce((product, length) => product * length, rows * elements.size);
}

/** The error for a dataset whose values are no samples. */
export function unsupported(key: string, path: string, problem: string): TieredError {
  const message = `${key}, ${path}: ${problem}. Name others in the option datasets.`;
  return new TieredError('TIERED_UNSUPPORTED', message, { key });
}
