/** Objects of the dataset, and bytes of each. */
export const OBJECTS = 400;
export const BYTES = 100_000;
export const EPOCHS = 3;
/** What the source gives to all workers together. */
export const SOURCE_BYTES_PER_SECOND = 40e6;

/** What a worker is. */
export interface WorkerTask {
  readonly rank: number;
  readonly size: number;
  /** The directory of the dataset, which is slow. */
  readonly source: string;
  /** The file of the registry. Undefined: the worker is alone. */
  readonly registry: string | undefined;
  /** Bytes of its RAM tier. */
  readonly quota: number;
}

/** What a worker is asked: to read an epoch, by its number, to say what it has read so far, or to end. */
export type WorkerAsked = number | 'figures' | 'end';

/** What a worker has read so far. */
export interface WorkerTold {
  readonly sourceBytes: number;
  readonly peerBytes: number;
}
