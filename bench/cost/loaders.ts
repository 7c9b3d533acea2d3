import { Hierarchy } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { FROM_SOURCES } from '../../packages/loader/test/from-sources.js';

/** Samples of a batch. */
const BATCH = 32;

/** The samples of a loader, each of which is an object. */
export interface LoaderOf {
  /** Bytes of a sample. */
  readonly bytes: number;
  readonly workers: number;
  readonly epochs: number;
}

/** Makes a loader, which finds its samples now, and starts its workers with the first epoch. */
export async function loaderOf(hierarchy: Hierarchy, { bytes, workers, epochs }: LoaderOf) {
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: bytes }) });
  const transform = { module: new URL('transform.mjs', import.meta.url), export: 'firstByte' };
  return new DataLoader(samples, {
    batchSize: BATCH,
    seed: 1,
    epochs,
    ...(workers > 0 && { workers, transform, workerExecArgv: FROM_SOURCES }),
  });
}

/** Makes a loader of the files in a directory, in whatever thread calls it. */
export async function openLoader({ root, ...of }: LoaderOf & { readonly root: string }) {
  const hierarchy = await new Hierarchy({ source: new FileSystemDriver({ root }) }).open();
  return { loader: await loaderOf(hierarchy, of), close: () => hierarchy.close() };
}
