import type { ObjectWriter, OperationOptions, ReadIntoOptions, Tier } from '@tiered/core';
import type { CopyRow } from './index/index-messages.js';

/** What identifies a copy: an object of a dataset, at a version. */
export interface CopyIdentity {
  /** Whose key it is: several sources may share a tier. */
  readonly dataset: string;
  readonly key: string;
  readonly version: string;
}

/** What is known of a copy that is on the tier. */
export interface CopyContent {
  /** Bytes of the object; the copy may hold fewer, its first `bytes`. */
  readonly size: number;
  /** Bytes of the copy. */
  readonly bytes: number;
  /** Bytes of a chunk; the last one may be shorter. */
  readonly chunkBytes: number;
  /** XXH64 of each chunk. */
  readonly sums: readonly bigint[];
}

/** A copy on the tier. */
export interface Copy extends CopyIdentity {
  /** Unlike that of any other copy. That of the file which holds it, if that holds nothing else. */
  readonly name: string;
  /** What is behind the key in the name, or where in which segment it is, see `packedTag`; undefined if the name is the key. */
  readonly tag: number | undefined;
  readonly bytes: number;
  /** Undefined if what is recorded of it is damaged: the copy cannot be trusted, and is to be removed. */
  readonly content: CopyContent | undefined;
  /** The copy as the index has it, where there is one. */
  readonly row?: CopyRow | undefined;
  /** Bytes behind the copy's own under its name, where it describes itself. */
  readonly tailBytes?: number | undefined;
}

/** A copy that is to lie elsewhere on its tier, with its bytes. */
export interface RewrittenCopy {
  readonly copy: Copy;
  readonly content: CopyContent;
  readonly data: Uint8Array;
}

/** An object that is to have a copy. */
export interface Candidate extends Omit<CopyIdentity, 'dataset'> {
  /** Bytes of the object, and of a chunk of it. */
  readonly size: number;
  readonly chunkBytes: number;
}

/** Runs what goes to the storage when it is its turn, and settles as that does. */
export type Turn = <T>(work: () => Promise<T>) => Promise<T>;

/** How a copy is published. */
export interface PublishOptions extends OperationOptions {
  /** From the write to the record of it: what waits before that, as for a claim to be recorded, has no turn. */
  readonly turn: Turn;
}

/** Bytes of a tier that belong to a copy on its way. Ends once, by `write`, `publish` or `release`. */
export interface Claim {
  readonly store: TierStore;
  readonly name: string;
  readonly bytes: number;
  /** Whether `write` waits until other copies can be written with this one, and keeps them in memory until then. Default: false. */
  readonly gathers?: boolean | undefined;
  /**
   * Writes all of a copy at once, and publishes it: in place of `create` and `publish`, for a copy of one chunk or none. The bytes are the
   * caller's again when it has settled. An abort while the copy is just being published has no effect. Where it failed there may be a file
   * all the same, as after `publish`.
   * @throws As `publish`.
   */
  write(bytes: Uint8Array, content: CopyContent, options: PublishOptions): Promise<Copy>;
  /** Begins to write the copy, in parts. */
  create(options: OperationOptions): Promise<ObjectWriter>;
  /** Reads what was published. */
  readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number>;
  /**
   * Publishes what was written: the tier has the copy from then on. Where it failed there may be a file all the same,
   * which is for `release` to remove.
   * @throws TieredError `TIERED_EXISTS` if another process has or makes the same copy, `TIERED_UNAVAILABLE` if the tier has another
   * index now.
   */
  publish(writer: ObjectWriter, content: CopyContent, options: PublishOptions): Promise<Copy>;
  /** Gives the bytes back, after deleting what may be under the name. Never rejects: what fails is tried again. */
  release(): Promise<void>;
}

/** What one tier holds, as far as one process is concerned: who may fill how much of it, and what copies there are. */
export interface TierStore {
  readonly tier: Tier;
  /** What the tier may hold, in bytes: the smallest quota of those who use it. */
  readonly quotaBytes: number;
  /** Bytes that copies take on the storage, and all else that is there for them. */
  readonly usedBytes: number;
  /** Bytes promised to copies on their way. */
  readonly claimedBytes: number;
  /** Bytes of the largest copy for which there is room. */
  readonly freeBytes: number;
  /** Bytes by which copies exceed the quota: it was lowered, or a process with a smaller one joined. */
  readonly excessBytes: number;
  /** Whether this is still what the storage holds: false if it was emptied, or is another one, or not there at all. */
  readonly current: boolean;
  /** Whether there may be copies that this process was not shown yet. */
  readonly mayHoldMore: boolean;
  /** Bytes of copies that were removed, and count until every process has let go of them. */
  leavingBytes(): Promise<number>;
  /** What is said of copies that were placed, and deleted of those that were removed, in the background. None of it rejects. */
  readonly underWay?: readonly Promise<void>[] | undefined;
  /** Resolves when what `claim` answered `later` for was asked for; undefined if nothing is, or nobody answers. */
  readonly asked: Promise<void> | undefined;
  /**
   * Bytes for a copy, before it is fetched. `later` if there is room that first has to be asked for, which takes
   * milliseconds; undefined if there is none.
   */
  claim(object: Candidate, bytes: number): Claim | 'later' | undefined;
  /** The copies of an object, of any version. */
  find(key: string): Promise<readonly Copy[]>;
  /** Every copy of the dataset, or of all others, some at a time. */
  pages(options?: { readonly others?: boolean }): AsyncIterable<readonly Copy[]>;
  /** The copies that have to be removed before the bytes of one are free, that one among them. Default: no other. */
  together?(copy: Copy): Promise<readonly Copy[]>;
  /** Copies, of this dataset, of a segment of whose bytes less than half are copies'; none if there is no such segment. */
  sparse?(): Promise<readonly Copy[]>;
  /**
   * Writes copies of segments together into a new one. Each is in one of both at any moment. Undefined if there is no room
   * for that now; of one that fails nobody knows where it is.
   */
  rewrite?(copies: readonly RewrittenCopy[]): Promise<readonly PromiseSettledResult<Copy>[] | undefined>;
  /** Takes a copy out of service, deletes it, and then gives back its bytes: what is still there still fills the tier. */
  remove(copy: Copy): Promise<void>;
  /**
   * The storage is full before the quota is: lowers that to what was held, without what was lost. Room that was written
   * to and given back counts: of several copies that meet the end of the storage at the same time each gives back
   * what it had, and the next ones are to find that.
   */
  shrink(held: number, lost: number): void;
  /** Before the copies of `pages` are taken over, in the background after it was opened. */
  beginTakingOver(signal: AbortSignal): Promise<void>;
  /**
   * All copies were taken over.
   * @param isAllKnown Whether each was of an object that is known.
   */
  endTakingOver(signal: AbortSignal, isAllKnown: boolean): Promise<void>;
  /** Leaves. Idempotent. */
  close(): Promise<void>;
}
