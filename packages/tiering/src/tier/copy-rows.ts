/** A copy in the index: the object's key and dataset, and the tag that makes its name unique. */
export interface CopyRef {
  readonly key: string;
  /** The number of the dataset in this index. */
  readonly dataset: number;
  readonly tag: number;
}

/** Bytes that are claimed for a copy in flight. */
export interface ClaimRow extends CopyRef {
  readonly version: string;
  /** Bytes of the object, of the copy, and of the storage that the copy takes. */
  readonly size: number;
  readonly bytes: number;
  readonly occupied: number;
}

/** A copy that is on the storage. */
export interface PlacedRow extends CopyRef {
  /** Bytes of a chunk. */
  readonly chunk: number;
  /** Checksums, see `copy-record.ts`. */
  readonly sums: Uint8Array;
}

/** A copy in a segment. It is claimed with the segment, and placed as soon as it is recorded. */
export interface PackedRow extends PlacedRow {
  readonly version: string;
  /** Bytes of the object, and of the copy. */
  readonly size: number;
  readonly bytes: number;
}

/** A copy that was moved from another segment, where it had this tag. */
export interface MovedRow extends PackedRow {
  readonly from: number;
}

/** A copy as recorded in the index. */
export interface CopyRow extends ClaimRow, PlacedRow {
  /** The member that writes or deletes it. */
  readonly member: string | undefined;
  /** The sequence number of its removal. */
  readonly seq: number;
}
