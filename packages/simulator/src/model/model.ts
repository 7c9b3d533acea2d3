import { throughput, type ThroughputCurve } from './curve.js';

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
   * MB/s that gamma workers together read from the source while they bring it to this class. That may be more
   * than t(gamma), as whole objects are fetched in large requests, or less, as copies cost checksums and
   * writes. Default: as t(gamma); in the paper, bringing costs nothing.
   */
  readonly place?: ThroughputCurve | undefined;
}

/** The environment of a training (section 4, Table A.1): one worker a node, all workers alike. */
export interface SystemModel {
  /** N, the number of workers. */
  readonly workers: number;
  /**
   * c, how fast a worker trains. From samples per second: multiply by their mean size before any
   * preprocessing.
   */
  readonly computeMBps: MegabytesPerSecond;
  /** beta, how fast a thread preprocesses. */
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

/** r_j(p_j) / p_j: what one thread reads from a class. */
function readRate({ read, threads }: StorageClass): MegabytesPerSecond {
  return throughput(read, threads) / threads;
}

/** w_j(p_j) / p_j: what one thread writes to a class. */
function writeRate({ read, write = read, threads }: StorageClass): MegabytesPerSecond {
  return throughput(write, threads) / threads;
}

/**
 * t(gamma) / gamma: the share of the source that each of gamma workers gets.
 * @param placedOn The class that samples are brought to, if they are.
 */
function sourceRate({ source }: SystemModel, gamma: number, placedOn?: StorageClass): MegabytesPerSecond {
  return throughput(placedOn?.place ?? source, gamma) / gamma;
}

/**
 * fetch_{i,0,0}: from the source, while gamma - 1 other workers read from it as well (section 4, case 1).
 * @param placedOn The class that the sample is brought to, if it is.
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
