import { Random } from '@tiered/core';

/** A dataset whose sizes are drawn from a normal distribution, as in section 6.1. */
export interface NormalDataset {
  /** F, the number of samples. */
  readonly samples: number;
  /** mu, the mean size. */
  readonly meanMB: number;
  /** sigma, the standard deviation. Default: 0, so that all sizes are the same. */
  readonly sigmaMB?: number | undefined;
  /**
   * How impossible sizes are avoided. `'symmetric'` draws again outside of 0 to 2 mu, which keeps the mean.
   * `'redraw'` draws again below 0, and `'clamp'` takes 0; both raise the mean. Default: `'symmetric'`,
   * because the totals that the paper states for its datasets are F times mu.
   */
  readonly truncate?: 'symmetric' | 'redraw' | 'clamp' | undefined;
}

/** The samples of a dataset: given one by one, or drawn. */
export type Dataset = NormalDataset | { readonly sizesMB: ArrayLike<number> };

/** The size of every sample in bytes. 8 bytes of memory a sample; a draw takes some 40 ns. */
export function sampleSizes(dataset: Dataset, seed: number): Float64Array {
  if ('sizesMB' in dataset) return Float64Array.from(dataset.sizesMB, (mb) => Math.round(mb * 1e6));
  const { samples, meanMB, sigmaMB = 0, truncate = 'symmetric' } = dataset;
  const sizes = new Float64Array(samples);
  const random = new Random(seed, SIZES);
  const [mean, sigma] = [meanMB * 1e6, sigmaMB * 1e6];
  const most = truncate === 'symmetric' ? 2 * mean : Infinity;
  for (let sample = 0; sample < samples; sample++) {
    let size = mean + (sigma === 0 ? 0 : sigma * random.normal());
    while (truncate !== 'clamp' && (size < 0 || size > most)) size = mean + sigma * random.normal();
    sizes[sample] = Math.max(0, Math.round(size));
  }
  return sizes;
}

/** A stream that no epoch uses. */
const SIZES = 2 ** 40;
