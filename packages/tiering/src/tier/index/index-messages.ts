/** A copy in the index: the object's key and dataset, and the tag that makes its name unlike any other. */
export interface CopyRef {
  readonly key: string;
  /** The number of the dataset in this index. */
  readonly dataset: number;
  readonly tag: number;
}

/** Bytes asked for, for a copy that is to come. */
export interface ClaimRow extends CopyRef {
  readonly version: string;
  /** Bytes of the object, of the copy, and what that takes on the storage. */
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

/** A copy in a segment: claimed with that, and placed as soon as it is recorded. */
export interface PackedRow extends PlacedRow {
  readonly version: string;
  /** Bytes of the object, and of the copy. */
  readonly size: number;
  readonly bytes: number;
}

/** A copy in a segment that was in another one, under this tag. */
export interface MovedRow extends PackedRow {
  readonly from: number;
}

/** A copy as the index has it. */
export interface CopyRow extends ClaimRow, PlacedRow {
  /** Who writes or deletes it. */
  readonly member: string | undefined;
  /** When it left. */
  readonly seq: number;
}

/** What is to be changed, in one transaction. */
export interface Batch {
  readonly member: string;
  /** What this member lets the tier hold, if that has changed. */
  readonly quota: number | undefined;
  /** Up to here it has nothing open of what left. */
  readonly seen: number | undefined;
  /** Bytes by which directories and their like grew. */
  readonly overhead: number;
  /** Bytes it would like to have leased beside what it has, bytes that it gives back, and those that nobody may lease. */
  readonly wants: number;
  readonly spare: number;
  readonly hold: number;
  readonly claims: readonly ClaimRow[];
  readonly placed: readonly PlacedRow[];
  /** Copies in segments that are claimed and whose files are there; and segments to which none is to come any more. */
  readonly packed: readonly PackedRow[];
  readonly sealed: readonly CopyRef[];
  /** Copies that are in another segment from now on, as `packed`. */
  readonly moved: readonly MovedRow[];
  /** Copies that are not to be served any more, and those whose files are gone. */
  readonly leaving: readonly CopyRef[];
  readonly gone: readonly CopyRef[];
}

/** What became of a batch. */
export interface Applied {
  /** False if others took this member for dead: nothing was changed. */
  readonly isMember: boolean;
  /** Tags of claims for what another one has or makes; and of copies that were claimed no more, packed or removed by another one, and empty segments. */
  readonly refused: readonly number[];
  readonly lost: readonly number[];
  /** Segments whose last copy went: their files are this member's to delete from now on. */
  readonly emptied: readonly CopyRef[];
  readonly state: IndexState;
}

/** The sums over the index. Bytes are those that the storage is taken by. */
export interface IndexState {
  /** Copies that are placed. */
  readonly copies: number;
  /** Bytes of all copies, those that are claimed and those that are leaving among them; and of the claimed ones. */
  readonly occupied: number;
  readonly claimed: number;
  readonly overhead: number;
  /** Bytes of the index's own files, and of its write-ahead log among them. */
  readonly fileBytes: number;
  readonly logBytes: number;
  readonly seq: number;
  /** When all names on the storage were last known to be in the index. */
  readonly boot: string;
  /** The smallest quota of all members. */
  readonly quota: number;
  /** The largest one: whose it is lets the log become longest. */
  readonly largestQuota: number;
  /** Bytes leased to all members; to this one (undefined: it is none); and what others would like to have. */
  readonly leased: number;
  readonly mine: number | undefined;
  readonly wanted: number;
  readonly members: number;
}

/** The calls that the thread of an index answers. */
export interface Calls {
  open(options: undefined): 'known' | 'new' | 'foreign';
  join(options: { readonly member: string; readonly quota: number; readonly dataset: string }): {
    readonly dataset: number;
    readonly state: IndexState;
  };
  leave(options: { readonly member: string }): void;
  members(options: undefined): readonly string[];
  state(options: { readonly member: string }): IndexState;
  changed(options: undefined): boolean;
  apply(batch: Batch): Applied;
  find(options: { readonly dataset: number; readonly key: string }): readonly CopyRow[];
  /** Copies of a dataset, or of all others, in the order of their keys. */
  page(options: {
    readonly dataset: number;
    readonly others: boolean;
    readonly after: CopyRef;
    readonly limit: number;
  }): readonly CopyRow[];
  /** Copies that left after a number. */
  left(options: { readonly after: number }): readonly CopyRow[];
  /** Ends members; gives what those that are gone have left unfinished, which is this member's to delete from now on. */
  inherit(options: { readonly member: string; readonly dead: readonly string[] }): readonly CopyRef[];
  tags(options: undefined): Float64Array;
  /** The copies that are placed in the segment of one. */
  together(options: { readonly tag: number }): readonly CopyRow[];
  /** Some segments of whose bytes less than half are copies'. */
  sparse(options: undefined): readonly number[];
  /** Bytes of copies that were removed and not yet given back. */
  leavingBytes(options: undefined): number;
  /** Those of the tags that are in the index no more. */
  unknown(options: { readonly tags: readonly number[] }): readonly number[];
  /** All on the storage is in the index; so much else was there, and `before` was said to be when it was begun to look. */
  swept(options: { readonly boot: string; readonly overhead: number; readonly before: number }): void;
}
