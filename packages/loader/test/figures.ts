import type { EpochFigures, LoaderFigures } from '@tiered/loader';

const MIB = 2 ** 20;

/** Figures of an epoch of which this part was waited, and what each level gave. */
export function epochFigures(
  epoch: number,
  {
    seconds = 10,
    waited = 0,
    what = 'training',
    text = `text of ${epoch}`,
    bytes = [0, 0],
  }: {
    seconds?: number;
    waited?: number;
    what?: string;
    text?: string;
    bytes?: readonly number[];
  } = {},
): EpochFigures {
  const levels = bytes.map((given, i) => ({
    driver: i === bytes.length - 1 ? 's3' : `disk`,
    reads: 10,
    bytes: given,
  }));
  const reading = { seconds, starved: waited / seconds, levels, limits: { memoryBytes: 256 * MIB } };
  return {
    epoch,
    batches: 10,
    samples: 50_000,
    seconds,
    waitedSeconds: waited,
    reading: reading as unknown as EpochFigures['reading'],
    limit: { what: what as 'training', text },
  };
}

/** Of 50,000 samples of 100 kB: 5 GB, of which a tier has room for half. */
export function figuresWith(changes: Partial<LoaderFigures> = {}): LoaderFigures {
  return {
    samples: 50_000,
    bytes: 5e9,
    batchSize: 100,
    batchesPerEpoch: 10,
    rank: 0,
    ranks: 1,
    workers: 0,
    order: 'all 50,000 samples of an epoch shuffled',
    shuffleQuality: 1,
    epochs: [
      epochFigures(0, { seconds: 50, waited: 45, what: 'source bandwidth', bytes: [0, 5e9] }),
      epochFigures(1, { seconds: 30, waited: 25, what: 'source bandwidth', bytes: [2.5e9, 2.5e9] }),
    ],
    skipped: 0,
    source: { givenBytes: 7.6e9, leastBytes: 7.5e9, epochs: 2 },
    tiers: [{ driver: 'disk', quotaBytes: 2.5e9 }],
    ...changes,
  };
}

/** A source of 100 MB/s, and a tier of 1,000 MB/s. */
export const PROFILE = {
  version: 1 as const,
  objectBytes: 100_000,
  source: {
    name: 's3',
    read: {
      points: [
        [1, 20],
        [8, 100],
      ] as [number, number][],
    },
  },
  tiers: [{ name: 'disk', read: { points: [[1, 1000]] as [number, number][] } }],
};
