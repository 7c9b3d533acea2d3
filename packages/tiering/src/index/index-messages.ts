import type { ClaimRow, CopyRef, CopyRow, MovedRow, PackedRow, PlacedRow } from '../tier/copy-rows.js';

/** The changes of one transaction. */
export interface Batch {
  readonly member: string;
  /** Bytes that this member lets the tier hold, if changed. */
  readonly quota: number | undefined;
  /** The member has no removed copy open up to this sequence number. */
  readonly seen: number | undefined;
  /** Bytes that a directory takes. */
  readonly directoryBytes: number;
  /**
   * Bytes that it would like to lease in addition, bytes that it gives back, and bytes that no member may
   * lease.
   */
  readonly wants: number;
  readonly spare: number;
  readonly hold: number;
  readonly claims: readonly ClaimRow[];
  readonly placed: readonly PlacedRow[];
  /** Copies in claimed segments whose files are there; and segments that get no more copies. */
  readonly packed: readonly PackedRow[];
  readonly sealed: readonly CopyRef[];
  /** Copies that moved to another segment, in the form of `packed`. */
  readonly moved: readonly MovedRow[];
  /** Copies that must not be served any more, and copies whose files are gone. */
  readonly leaving: readonly CopyRef[];
  readonly gone: readonly CopyRef[];
}

/** The outcome of a batch. */
export interface Applied {
  /** False if others took this member for dead. Then nothing was changed. */
  readonly isMember: boolean;
  /** False if a check that began after the call found another file, or none, at the path of the index. */
  readonly isAtPath: boolean;
  /**
   * Tags of claims that were refused because another member has the same copy or is making it; and tags of
   * copies whose claim was gone, or that another member packed or removed, and of empty segments.
   */
  readonly refused: readonly number[];
  readonly lost: readonly number[];
  /** Segments whose last copy is gone. This member must delete their files. */
  readonly emptied: readonly CopyRef[];
  readonly state: IndexState;
}

/** Totals of the index. Bytes are bytes of the storage. */
export interface IndexState {
  /** Placed copies. */
  readonly copies: number;
  /** Bytes of all copies, including claimed and leaving ones; and bytes of the claimed ones. */
  readonly occupied: number;
  readonly claimed: number;
  /** Directories that the files of copies need. */
  readonly directories: number;
  /** Bytes of the index's own files, including the write-ahead log; and bytes of the log. */
  readonly fileBytes: number;
  readonly logBytes: number;
  /** Bytes that the storage has left for this user, if known. */
  readonly freeBytes: number | undefined;
  readonly seq: number;
  /** The boot during which all names on the storage were last known to be in the index. */
  readonly boot: string;
  /** The smallest quota of all members. */
  readonly quota: number;
  /** The largest quota of all members. It determines how long the log may become. */
  readonly largestQuota: number;
  /**
   * Bytes leased to all members; bytes leased to this one (undefined if it is not a member); and bytes that
   * others would like to have.
   */
  readonly leased: number;
  readonly mine: number | undefined;
  readonly wanted: number;
  readonly members: number;
}

/** The view of an index for a survey. */
export interface IndexSurvey {
  readonly members: readonly { readonly id: string; readonly quota: number; readonly leased: number }[];
  /** Placed copies, and their bytes. */
  readonly datasets: readonly {
    readonly name: string;
    readonly copies: number;
    readonly bytes: number;
  }[];
  /** Copies that are claimed, or removed and not yet given back, by member, and the bytes that they take. */
  readonly unfinished: readonly {
    readonly member: string | undefined;
    readonly copies: number;
    readonly occupied: number;
  }[];
  readonly state: IndexState;
}

/** The calls that the thread of an index answers. */
export interface Calls {
  /**
   * The inode of the file at the path of the index now; 0 if there is none. Another number is another file.
   * Opens nothing.
   */
  inode(options: undefined): bigint;
  /** Whether the file with this inode was found damaged. Opens nothing. */
  isMarked(options: { readonly inode: bigint }): boolean;
  open(options: undefined): 'known' | 'new' | 'foreign';
  /** Surveys an index that was not opened for use. Undefined if it is empty. Changes nothing. */
  survey(options: undefined): IndexSurvey | 'foreign' | undefined;
  /** The names of the sources; none if the index is empty. */
  datasets(options: undefined): readonly { readonly id: number; readonly name: string }[];
  /**
   * Joins a member for a dataset. Records under the former name are then found under the new one, unless the
   * index has since named others at its place.
   */
  join(options: {
    readonly member: string;
    readonly quota: number;
    readonly dataset: string;
    readonly place?: string;
    readonly formerly?: string | undefined;
  }): {
    readonly dataset: number;
    /** Whether the dataset is new in the index, and earlier datasets at its place have copies. */
    readonly isReplaced: boolean;
    readonly state: IndexState;
  };
  leave(options: { readonly member: string }): void;
  members(options: undefined): readonly string[];
  state(options: { readonly member: string }): IndexState;
  changed(options: undefined): boolean;
  apply(batch: Batch): Applied;
  find(options: { readonly dataset: number; readonly key: string }): readonly CopyRow[];
  /** Copies of a dataset, or of all others, ordered by key. */
  page(options: {
    readonly dataset: number;
    readonly others: boolean;
    readonly after: CopyRef;
    readonly limit: number;
  }): readonly CopyRow[];
  /** Copies removed after a sequence number. */
  left(options: { readonly after: number }): readonly CopyRow[];
  /** Ends dead members. Returns their unfinished copies, which this member must delete. */
  inherit(options: { readonly member: string; readonly dead: readonly string[] }): readonly CopyRef[];
  tags(options: undefined): Float64Array;
  /** The placed copies in the segment of this one. */
  together(options: { readonly tag: number }): readonly CopyRow[];
  /** Some segments that are less than half full. */
  sparse(options: undefined): readonly number[];
  /** Bytes of copies that are removed and not yet given back. */
  leavingBytes(options: undefined): number;
  /** The tags that are not in the index any more. */
  unknown(options: { readonly tags: readonly number[] }): readonly number[];
  /** Records that everything on the storage is in the index. */
  swept(options: { readonly boot: string }): void;
}
