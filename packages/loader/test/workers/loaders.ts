import { DataLoader, stack, type LoaderState, type ThreadedLoader } from '@tiered/loader';
import { hierarchyWith } from '../sources.js';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';

export interface Asked {
  readonly counts: readonly number[];
  readonly resume?: LoaderState;
  readonly failsAt?: number;
}

/** Makes a loader over objects of so many records, in whatever thread calls it. */
export async function makeLoader({ counts, resume, failsAt }: Asked): Promise<ThreadedLoader> {
  const hierarchy = await hierarchyWith(counts);
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: 8 }) });
  const loader = new DataLoader(samples, {
    batchSize: 4,
    epochs: 2,
    seed: 3,
    resume,
    transform: (bytes, { sample }) => {
      if (sample === failsAt) throw new RangeError('refused');
      return bytes;
    },
    collate: stack,
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
