/** The inputs of a batch: plain data, for any thread. Its lists are by sample. */
export interface BatchTask {
  readonly epoch: number;
  readonly seed: number;
  readonly parts: Uint32Array;
  /** Sample numbers in their sample sets. */
  readonly samples: Uint32Array;
  readonly keys: readonly string[];
  /** The start of each record in its object. */
  readonly offsets: Float64Array;
  /** The bytes of records. */
  readonly records: readonly Uint8Array[];
  readonly headers: readonly (Uint8Array | undefined)[];
  /** The index of each sample in its record. */
  readonly within: Uint32Array;
  /** The numbers of the blocks that records are in. */
  readonly blocks: Float64Array;
}

/** The result of a task. */
export interface MadeBatch {
  readonly data: unknown;
  /** Whether its arrays are the only users of their memory. */
  readonly isOwn: boolean;
  /** The samples of the task that it has, if some are damaged. Undefined if it has all. */
  readonly kept: Uint32Array | undefined;
  /** The errors of the missing samples. */
  readonly damage: readonly { readonly index: number; readonly error: unknown }[];
}
