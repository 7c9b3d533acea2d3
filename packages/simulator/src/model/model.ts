import { Random } from '@tiered/core';

/**
 * A measured throughput: pairs of a number (of threads, or clients) and MB/s, by rising number. Between two
 * points it is interpolated. Below the first it falls in proportion: one of two threads counts for half of
 * the throughput of both. Beyond the last point see `beyond`.
 */
export interface ThroughputCurve {
  /** `[number, MB/s]`, at least one. */
  readonly points: readonly (readonly [number, number])[];
  /**
   * The throughput beyond the last point. `'hold'` keeps that of the last point, like a saturated device.
   * `'linear'` rises like the linear regression through all points (as NoPFS does, section 5.2.2). Default:
   * `'hold'`, which assumes nothing beyond the measurements.
   */
  readonly beyond?: 'hold' | 'linear' | undefined;
}

/**
 * Returns the throughput of this many threads or clients together, in MB/s.
 * @param curve The measured throughput.
 * @param many More than 0. Need not be whole, since an average number of clients is not.
 */
export function throughput({ points, beyond = 'hold' }: ThroughputCurve, many: number): number {
  let [fromAt, fromRate] = [0, 0];
  for (const [at, rate] of points) {
    if (many <= at) return fromRate + ((rate - fromRate) * (many - fromAt)) / (at - fromAt);
    [fromAt, fromRate] = [at, rate];
  }
  return beyond === 'hold' ? fromRate : fromRate + Math.max(0, slope(points)) * (many - fromAt);
}

/** The slope of the least-squares line through all points. */
function slope(points: ThroughputCurve['points']): number {
  const mean = (of: (point: readonly [number, number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean(([at]) => at), mean(([, rate]) => rate)];
  const spread = mean(([at]) => (at - x) ** 2);
  return spread === 0 ? 0 : mean(([at, rate]) => (at - x) * (rate - y)) / spread;
}

/** Megabytes: 10^6 bytes. */
export type Megabytes = number;
/** 10^6 bytes a second. */
export type MegabytesPerSecond = number;
/** Seconds. */
export type Seconds = number;

/**
 * A storage class of a worker (Table A.1). Class 0 is the staging buffer; the others are its tiers, fastest
 * first.
 */
export interface StorageClass {
  /** The name in tables and charts, and for `--what-if`. */
  readonly name: string;
  /** d_j, the capacity. */
  readonly capacityMB: Megabytes;
  /** p_j: threads that prefetch into the class and read from it. */
  readonly threads: number;
  /** r_j(p): random reads of p threads together. */
  readonly read: ThroughputCurve;
  /** w_j(p): random writes of p threads together. Default: as `read`. */
  readonly write?: ThroughputCurve | undefined;
  /**
   * MB/s that gamma workers together read from the source while they fill this class. This may be more than
   * t(gamma), because whole objects are fetched in large requests, or less, because copies cost checksums and
   * writes. Default: as t(gamma); in the paper, filling costs nothing.
   */
  readonly place?: ThroughputCurve | undefined;
}

/** The environment of a training (section 4, Table A.1): one worker per node, all workers alike. */
export interface SystemModel {
  /** N, the number of workers. */
  readonly workers: number;
  /**
   * c, the training speed of a worker. From samples per second: multiply by their mean size before any
   * preprocessing.
   */
  readonly computeMBps: MegabytesPerSecond;
  /** beta, the preprocessing speed of a thread. */
  readonly preprocessMBps: MegabytesPerSecond;
  /** b_c, the throughput between two workers. The network is assumed to be free of congestion. */
  readonly networkMBps: MegabytesPerSecond;
  /** t(gamma): random reads of gamma workers together from the source, the papers' PFS. */
  readonly source: ThroughputCurve;
  /** Class 0. */
  readonly staging: StorageClass;
  /** Classes 1 .. J, fastest first. */
  readonly levels: readonly StorageClass[];
}

/** r_j(p_j) / p_j: the read rate of one thread from a class. */
function readRate({ read, threads }: StorageClass): MegabytesPerSecond {
  return throughput(read, threads) / threads;
}

/** w_j(p_j) / p_j: the write rate of one thread to a class. */
function writeRate({ read, write = read, threads }: StorageClass): MegabytesPerSecond {
  return throughput(write, threads) / threads;
}

/**
 * t(gamma) / gamma: the share of the source that each of gamma workers gets.
 * @param placedOn The class that samples are brought to, if any.
 */
function sourceRate({ source }: SystemModel, gamma: number, placedOn?: StorageClass): MegabytesPerSecond {
  return throughput(placedOn?.place ?? source, gamma) / gamma;
}

/**
 * fetch_{i,0,0}: from the source, while gamma - 1 other workers read from it as well (section 4, case 1).
 * @param placedOn The class that the sample is brought to, if any.
 */
export function fetchFromSource(
  system: SystemModel,
  sizeMB: Megabytes,
  gamma: number,
  placedOn?: StorageClass,
): Seconds {
  return sizeMB / sourceRate(system, gamma, placedOn);
}

/** fetch_{i,1,j}: from a storage class of another worker (section 4, case 2). */
export function fetchRemote(system: SystemModel, sizeMB: Megabytes, level: StorageClass): Seconds {
  return sizeMB / Math.min(system.networkMBps, readRate(level));
}

/** fetch_{i,2,j}: from a storage class of the worker's own (section 4, case 3). */
export function fetchLocal(sizeMB: Megabytes, level: StorageClass): Seconds {
  return sizeMB / readRate(level);
}

/**
 * write_i: preprocessing and storing in the staging buffer. They run in a pipeline, so the slower one counts
 * (section 4).
 */
export function write(system: SystemModel, sizeMB: Megabytes): Seconds {
  return Math.max(sizeMB / system.preprocessMBps, sizeMB / writeRate(system.staging));
}

/**
 * Answers to questions that the paper leaves open and that affect the result. docs/simulator.md gives the
 * reasons for the defaults, and how far the published figures move with each.
 */
export interface Assumptions {
  /**
   * Who gets a share of t(gamma)/gamma. `'worker'`: all threads of a worker together, so that all workers
   * never read more than t(gamma). `'thread'`: each prefetch thread, which follows avail and fetch literally,
   * and lets N workers read p_0 times t(gamma). Default: `'worker'`.
   */
  readonly sourceShare: 'worker' | 'thread';
  /**
   * The value of gamma for workers that read ahead. `'average'`: one, plus for every other worker the part of
   * its time in which it reads from the source. `'all'`: always all workers. Default: `'average'`. Without
   * reading ahead all workers wait for the source at the same time, and gamma is N.
   */
  readonly gamma: 'average' | 'all';
}

/** The defaults of `Assumptions`. */
export const DEFAULT_ASSUMPTIONS: Assumptions = { sourceShare: 'worker', gamma: 'average' };

/** A dataset whose sizes are drawn from a normal distribution, as in section 6.1. */
export interface NormalDataset {
  /** F, the number of samples. */
  readonly samples: number;
  /** mu, the mean size. */
  readonly meanMB: number;
  /** sigma, the standard deviation. Default: 0, so that all sizes are the same. */
  readonly sigmaMB?: number | undefined;
  /**
   * How to avoid impossible sizes. `'symmetric'` draws again outside of 0 to 2 mu, which keeps the mean.
   * `'redraw'` draws again below 0, and `'clamp'` takes 0; both raise the mean. Default: `'symmetric'`,
   * because the totals that the paper states for its datasets are F times mu.
   */
  readonly truncate?: 'symmetric' | 'redraw' | 'clamp' | undefined;
}

/** The samples of a dataset: given one by one, or drawn. */
export type Dataset = NormalDataset | { readonly sizesMB: ArrayLike<number> };

/**
 * Returns the size of every sample in bytes. Takes 8 bytes of memory per sample; a draw takes about 40 ns.
 */
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
