import { isTieredError, parseBytes, type ByteSize } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { constants } from 'node:buffer';
import {
  damaged,
  type IndexOptions,
  type ObjectReader,
  type RawRecord,
  type RecordTable,
  type SampleFormat,
} from '../contract/format.js';
import { datasetAt, type Ask } from './datasets.js';
import { findRecords } from './find-records.js';
import { decodeHeader, type Header, type Unit } from './header.js';
import { loadLibrary, type FileBytes } from './library.js';
import {
  asking,
  SampleReader,
  tableOf,
  wrong,
  type Hdf5Sample,
  type Named,
  type SampleOptions,
} from './samples.js';

/** Options of `hdf5`. */
export interface Hdf5Options {
  /**
   * The paths of the datasets that samples have, such as `['train/images', 'train/labels']`. With `groups`,
   * they are relative to each member. Default: all.
   */
  readonly datasets?: readonly string[] | undefined;
  /**
   * The path of a group each of whose members is a sample, a group or a dataset, such as `data` of robomimic;
   * `/` for those of the file. Default: none, and samples are the rows of datasets, along their first axes.
   */
  readonly groups?: string | undefined;
  /**
   * The most bytes that a record may have, and its samples when they are decoded. A 64th of that is what a
   * header may have, and files of up to so many bytes are one record each. A larger record counts as damaged.
   * Default: 1 GiB; it keeps some kilobytes from becoming all memory.
   */
  readonly maxBytes?: ByteSize | undefined;
}

interface Applied extends SampleOptions {
  readonly maxBytes: number;
}

/**
 * HDF5 files, as h5py, PyTables, MATLAB and netCDF4 write them. Samples are rows of datasets, or members of a
 * group (`groups`), which have their name as `@name`. Values are arrays of numbers as NumPy's are here, or
 * text; booleans of h5py are `bool`, other enumerations their numbers, lists of variable length arrays of one
 * axis. Attributes are no values.
 *
 * A record is what lies together in the file: rows of a chunk, or members. To find records, what the file
 * says of itself is read, and stays in memory as the header of its records, with the values of small datasets
 * beside others. Values are not read, but for one chunk of each dataset. A file is one record with all its
 * samples if it is small, if it has values of variable length, or if the values of its samples lie apart
 * from each other (two large datasets, say). Samples come in the order of the file.
 *
 * Checksums are compared where a file has them (Fletcher32). A file that is damaged where it describes itself
 * has no samples.
 * @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. Index and decoding throw
 * `TIERED_UNSUPPORTED` for datasets of other types (compound, reference, opaque), with filters other than
 * gzip, lzf, szip, shuffle, Fletcher32, n-bit and scale-offset, or with different numbers of rows; and where
 * the package `h5wasm` is not installed.
 */
export function hdf5({ datasets, groups, maxBytes = '1GiB' }: Hdf5Options = {}): SampleFormat<Hdf5Sample> {
  if (datasets !== undefined && (datasets.length === 0 || new Set(datasets).size < datasets.length))
    throw configError('datasets', 'at least one path, and none twice', datasets);
  const most = parseBytes(maxBytes, 'maxBytes');
  if (most > constants.MAX_LENGTH) throw configError('maxBytes', `at most ${constants.MAX_LENGTH}`, maxBytes);
  const applied: Applied = {
    ...(datasets && { datasets: datasets.map(trimmed) }),
    ...(groups !== undefined && { groups: trimmed(groups) }),
    maxBytes: most,
  };
  // The records of an object have one header, which is parsed once in each thread.
  const headers = new WeakMap<Uint8Array, Header>();
  return {
    name: 'hdf5',
    options: { ...applied },
    index: (object, options) => index(object, applied, options),
    decode: (record) => decode(record, applied, headers),
  };
}

/** A path as HDF5's names are joined. */
function trimmed(path: string): string {
  return path.split('/').filter(Boolean).join('/');
}

async function index(object: ObjectReader, applied: Applied, options: IndexOptions): Promise<RecordTable> {
  try {
    return await findRecords(object, applied, options);
  } catch (error) {
    if (!isTieredError(error, 'TIERED_DATA_CORRUPT')) throw error;
    options.onDamage(error);
    return { offsets: new Float64Array(0), lengths: new Float64Array(0) };
  }
}

async function decode(
  { key, offset, bytes, header }: RawRecord,
  applied: Applied,
  headers: WeakMap<Uint8Array, Header>,
): Promise<Hdf5Sample[]> {
  const at = { key, offset };
  const about = header && (headers.get(header) ?? parsed(header, at));
  if (header !== undefined && about !== undefined) headers.set(header, about);
  const library = await loadLibrary();
  const file = library.open(about === undefined ? wholeOf(bytes) : partOf(about, offset, bytes));
  if (file === undefined) throw wrong(at, library.takeReason());
  try {
    const ask = asking(file, at, () => library.takeReason());
    const { units, columns } = await unitsOf(ask, at, applied, about);
    const reader = new SampleReader(ask, at, applied, applied.maxBytes);
    const samples: Hdf5Sample[] = [];
    for (const unit of units) {
      if (typeof unit === 'string') samples.push(await reader.member(unit));
      else for (const row of await reader.rows(columns, unit)) samples.push(row);
    }
    return samples;
  } finally {
    file[Symbol.dispose]();
  }
}

function parsed(header: Uint8Array, at: { readonly key: string; readonly offset: number }): Header {
  try {
    return decodeHeader(header);
  } catch (cause) {
    throw damaged(at, 'invalid header', 'Index the source again.', cause);
  }
}

/** What a record has, and the datasets of its rows. */
async function unitsOf(
  ask: Ask,
  at: { readonly key: string; readonly offset: number },
  applied: Applied,
  about: Header | undefined,
): Promise<{ readonly units: readonly Unit[]; readonly columns: readonly Named[] }> {
  if (about === undefined) {
    const { columns, members, count } = await tableOf(ask, at.key, applied);
    return columns === undefined ? { units: members, columns: [] } : { units: [[0, count]], columns };
  }
  const units = about.records.get(at.offset);
  if (units === undefined) throw damaged(at, 'its header does not have it', 'Index the source again.');
  const columns: Named[] = [];
  for (const name of about.datasets) columns.push([name, await datasetAt(ask, at.key, name)]);
  return { units, columns };
}

function wholeOf(bytes: Uint8Array): FileBytes {
  return {
    size: bytes.byteLength,
    read: (position, target) => {
      target.set(bytes.subarray(position, position + target.byteLength));
      return true;
    },
  };
}

/** A file of which a record is there, and what leads to it. */
function partOf({ size, ranges }: Header, offset: number, bytes: Uint8Array): FileBytes {
  const here = (position: number) => position >= offset && position < offset + bytes.byteLength;
  return {
    size,
    read: (position, target) => {
      let filled = 0;
      while (filled < target.byteLength) {
        const next = position + filled;
        const rest = target.subarray(filled);
        const own = here(next) ? bytes.subarray(next - offset).subarray(0, rest.byteLength) : undefined;
        if (own !== undefined) rest.set(own);
        const more = own?.byteLength ?? ranges.fill(next, rest);
        if (more === 0) break;
        filled += more;
      }
      // HDF5 reads beyond what it needs where it guesses lengths, and other rows beside those asked for.
      target.fill(0, filled);
      return filled > 0 || target.byteLength === 0;
    },
  };
}
