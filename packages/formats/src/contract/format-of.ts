import { configError } from '@tiered/core/internal';
import type { SampleFormat } from './format.js';

/** The formats of this package by name, each loaded when it is first asked for. */
const FORMATS: Readonly<Record<string, () => Promise<(options: never) => SampleFormat<unknown>>>> = {
  csv: async () => (await import('../lines/index.js')).csv,
  hdf5: async () => (await import('../hdf5/index.js')).hdf5,
  'image-folder': async () => (await import('../image-folder/index.js')).imageFolder,
  'json-lines': async () => (await import('../lines/index.js')).jsonLines,
  mds: async () => (await import('../mds/index.js')).mds,
  npy: async () => (await import('../numpy/index.js')).npy,
  npz: async () => (await import('../numpy/index.js')).npz,
  parquet: async () => (await import('../parquet/index.js')).parquet,
  'raw-records': async () => (await import('../raw/index.js')).rawRecords,
  tfrecord: async () => (await import('../tfrecord/index.js')).tfrecord,
  webdataset: async () => (await import('../webdataset/index.js')).webdataset,
};

/** The names of the formats of this package. */
export const FORMAT_NAMES: readonly string[] = Object.keys(FORMATS);

/**
 * Makes a format from its name and its options, as a configuration file or another thread has them.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a name that is none of `FORMAT_NAMES`, and for options that
 * the format cannot work with.
 */
export async function formatOf(
  name: string,
  options: SampleFormat<unknown>['options'] = {},
): Promise<SampleFormat<unknown>> {
  const load = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (load === undefined) throw configError('format', `one of ${FORMAT_NAMES.join(', ')}`, name);
  return (await load())(options as never);
}
