import { DataLoader, stack, type LoaderState, type ThreadedLoader } from '@tiered/loader';
import { Hierarchy } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { hierarchyWith } from '../sources.js';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';

export interface Asked {
  readonly counts: readonly number[];
  readonly resume?: LoaderState;
  readonly failsAt?: number;
  /** Has the transform never end at this sample. */
  readonly hangsAt?: number;
  readonly batchSize?: number;
  readonly dropLast?: boolean;
  /** Has the transform make the same array of every sample. */
  readonly isConstant?: boolean;
}

const CONSTANT = Uint8Array.of(1, 2, 3);

/** Makes a loader over objects of so many records, in whatever thread calls it. */
export async function makeLoader({
  counts,
  failsAt,
  hangsAt,
  isConstant,
  ...options
}: Asked): Promise<ThreadedLoader> {
  const hierarchy = await hierarchyWith(counts);
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: 8 }) });
  const loader = new DataLoader(samples, {
    batchSize: 4,
    epochs: 2,
    seed: 3,
    ...options,
    transform: (bytes, { sample }) => {
      if (sample === failsAt) throw new RangeError('refused');
      if (sample === hangsAt) return neverReady();
      return isConstant === true ? CONSTANT : bytes;
    },
    ...(isConstant !== true && { collate: stack }),
  });
  return { loader: loader as never, close: () => hierarchy.close() };
}

export function neverReady(): Promise<never> {
  return new Promise(() => undefined);
}

export function throws(): never {
  throw new Error('no loader today');
}

export async function exits(asked: Asked): Promise<ThreadedLoader> {
  queueMicrotask(() => process.exit(5));
  return makeLoader(asked);
}

/** Makes a loader over a directory of files with records, whose reads keep descriptors. */
export async function makeOfFiles(root: string): Promise<ThreadedLoader> {
  const hierarchy = await new Hierarchy({ source: new FileSystemDriver({ root }) }).open();
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: 8 }) });
  const loader = new DataLoader(samples, { batchSize: 4, shuffle: true, collate: stack });
  return { loader: loader as never, close: () => hierarchy.close() };
}
