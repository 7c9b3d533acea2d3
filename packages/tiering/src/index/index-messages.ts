import type { ClaimRow, CopyRef, CopyRow, MovedRow, PackedRow, PlacedRow } from '../tier/copy-rows.js';

/** The changes of one transaction. */
export interface Batch {
  readonly member: string;
  /** Bytes that this member lets the tier hold, if that has changed. */
  readonly quota: number | undefined;
  /** Up to this number it has nothing open of what left. */
  readonly seen: number | undefined;
  /** Bytes that a directory takes. */
  readonly directoryBytes: number;
  /**
   * Bytes that it would like to lease besides those it has, bytes that it gives back, and bytes that nobody
   * may lease.
   */
  readonly wants: number;
  readonly spare: number;
  readonly hold: number;
  readonly claims: readonly ClaimRow[];
  readonly placed: readonly PlacedRow[];
  /** Copies in segments that are claimed and whose files are there; and segments that get no more copies. */
  readonly packed: readonly PackedRow[];
  readonly sealed: readonly CopyRef[];
  /** Copies that are in another segment from now on, in the form of `packed`. */
  readonly moved: readonly MovedRow[];
  /** Copies that must not be served any more, and copies whose files are gone. */
  readonly leaving: readonly CopyRef[];
  readonly gone: readonly CopyRef[];
}

/** The outcome of a batch. */
export interface Applied {
  /** False if others took this member for dead: nothing was changed. */
  readonly isMember: boolean;
  /** False if another file is at the path of the index, or none, by a look that began after the call. */
  readonly isAtPath: boolean;
  /**
   * Tags of claims that were refused because another member has or makes the same copy. And tags of copies
   * whose claim was gone, or that were packed or removed by another member, and of empty segments.
   */
  readonly refused: readonly number[];
  readonly lost: readonly number[];
  /** Segments whose last copy is gone. From now on this member has to delete their files. */
  readonly emptied: readonly CopyRef[];
  readonly state: IndexState;
}

/** The sums over the index. Bytes are bytes of the storage. */
export interface IndexState {
  /** Copies that are placed. */
  readonly copies: number;
  /** Bytes of all copies, including those that are claimed or leaving; and bytes of the claimed ones. */
  readonly occupied: number;
  readonly claimed: number;
  /** Directories that the files of copies need. */
  readonly directories: number;
  /** Bytes of the index's own files, including its write-ahead log; and bytes of that log. */
  readonly fileBytes: number;
  readonly logBytes: number;
  /** Bytes that the storage has left for this user, where that is known. */
  readonly freeBytes: number | undefined;
  readonly seq: number;
  /** When all names on the storage were last known to be in the index. */
  readonly boot: string;
  /** The smallest quota of all members. */
  readonly quota: number;
  /** The largest quota of all members. It decides how long the log may become. */
  readonly largestQuota: number;
  /**
   * Bytes leased to all members; bytes leased to this one (undefined if it is no member); and bytes that
   * others would like to have.
   */
  readonly leased: number;
  readonly mine: number | undefined;
  readonly wanted: number;
  readonly members: number;
}

/** What an index says to whoever only looks at it. */
export interface IndexSurvey {
  readonly members: readonly { readonly id: string; readonly quota: number; readonly leased: number }[];
  /** Copies that are placed, and their bytes. */
  readonly datasets: readonly {
    readonly name: string;
    readonly copies: number;
    readonly bytes: number;
  }[];
  /** Copies that are claimed or were removed and not yet given back, by member, and what they take. */
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
   * Which file is at the path of the index now; 0 if there is none. Another number is another file. Opens
   * nothing.
   */
  inode(options: undefined): bigint;
  /** Whether the file of this inode was found damaged. Opens nothing. */
  isMarked(options: { readonly inode: bigint }): boolean;
  open(options: undefined): 'known' | 'new' | 'foreign';
  /** Looks at an index that was not opened for use. Undefined if it is empty. Changes nothing. */
  survey(options: undefined): IndexSurvey | 'foreign' | undefined;
  /** The names of the sources; none if the index is empty. */
  datasets(options: undefined): readonly { readonly id: number; readonly name: string }[];
  /**
   * Joins a member for a dataset. Records under an older name are found under the new one from then on,
   * unless the index has named others at its place since.
   */
  join(options: {
    readonly member: string;
    readonly quota: number;
    readonly dataset: string;
    readonly place?: string;
    readonly formerly?: string | undefined;
  }): {
    readonly dataset: number;
    /** Whether the dataset is new in the index, and has others at its place before it that have copies. */
    readonly isReplaced: boolean;
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
  /**
   * Ends members. Returns what the dead ones have left unfinished, which this member has to delete from now
   * on.
   */
  inherit(options: { readonly member: string; readonly dead: readonly string[] }): readonly CopyRef[];
  tags(options: undefined): Float64Array;
  /** The placed copies in the segment of this one. */
  together(options: { readonly tag: number }): readonly CopyRow[];
  /** Some segments that are less than half full. */
  sparse(options: undefined): readonly number[];
  /** Bytes of copies that were removed and not yet given back. */
  leavingBytes(options: undefined): number;
  /** Those of the tags that are not in the index any more. */
  unknown(options: { readonly tags: readonly number[] }): readonly number[];
  /** Records that everything on the storage is in the index. */
  swept(options: { readonly boot: string }): void;
}
