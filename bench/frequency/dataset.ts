import { MemoryDriver, Random } from '@tiered/core';

const SEED = 1;
/** Mean of ImageNet. */
const MEAN_BYTES = 110e3;
/** Of the logarithm: one sample in thirty is below 10 KB, one in three hundred above 1 MB. */
const SIGMA = 1;

/** Samples whose sizes differ, and where they are. */
export interface Dataset {
  readonly sizes: Float64Array;
  /** Of each sample. */
  readonly keys: readonly string[];
  readonly sampleOf: (key: string) => number;
  readonly bytes: number;
  readonly driver: MemoryDriver;
}

/** Bytes of samples, by a lognormal distribution. */
export function lognormalSizes(samples: number): Float64Array {
  const random = new Random(SEED);
  const middle = Math.log(MEAN_BYTES) - SIGMA ** 2 / 2;
  return new Float64Array(samples).map(() => Math.round(Math.exp(middle + SIGMA * random.normal())));
}

/** A dataset in memory: the throttle before it is what makes it a source. */
export async function makeDataset(samples: number): Promise<Dataset> {
  const sizes = lognormalSizes(samples);
  const driver = new MemoryDriver({ name: 'dataset' });
  const keys = Array.from(sizes, (_, sample) => String(sample));
  for (const [sample, key] of keys.entries()) {
    const size = sizes[sample] ?? 0;
    await driver.write(key, new Uint8Array(size).fill(sample), { size });
  }
  return { sizes, keys, sampleOf: Number, bytes: sizes.reduce((sum, size) => sum + size, 0), driver };
}
