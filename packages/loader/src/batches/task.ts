/** What is to be made into a batch: plain data, for any thread. Its lists are by sample. */
export interface BatchTask {
  readonly epoch: number;
  readonly seed: number;
  readonly parts: Uint32Array;
  /** Numbers in their sample sets. */
  readonly samples: Uint32Array;
  readonly keys: readonly string[];
  /** Where records begin in their objects. */
  readonly offsets: Float64Array;
  /** The bytes of records. */
  readonly records: readonly Uint8Array[];
  readonly headers: readonly (Uint8Array | undefined)[];
  /** Which sample of its record each is. */
  readonly within: Uint32Array;
  /** The numbers of the blocks that records are in. */
  readonly blocks: Float64Array;
}

/** What was made. */
export interface MadeBatch {
  readonly data: unknown;
  /** Whether nobody else has the memory of its arrays. */
  readonly isOwn: boolean;
  /** Which samples of the task it has, if some are damaged; else it has all. */
  readonly kept: Uint32Array | undefined;
  /** Why the others are not there. */
  readonly damage: readonly { readonly index: number; readonly error: unknown }[];
}
