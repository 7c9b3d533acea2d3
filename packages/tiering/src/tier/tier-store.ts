import type { OperationOptions, Tier } from '@tiered/core';
import type { ObjectWriter, ReadIntoOptions } from '@tiered/core/driver';
import type { FetchTurn, OtherFetch } from './fetch-turns.js';
import type { CopyRow } from './copy-rows.js';

/** What identifies a copy: an object of a dataset, at a version. */
export interface CopyIdentity {
  /** The dataset that the key belongs to: several sources may share a tier. */
  readonly dataset: string;
  readonly key: string;
  readonly version: string;
}

/** What is known of a copy's content. */
export interface CopyContent {
  /** Bytes of the object. The copy may hold only the first of them, `bytes`. */
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
  /** Unique among all copies. The name of the file that holds the copy, if it holds nothing else. */
  readonly name: string;
  /**
   * What follows the key in the name, or the place in a segment, see `packedTag`; undefined if the name is
   * the key.
   */
  readonly tag: number | undefined;
  readonly bytes: number;
  /** Undefined if the record of the copy is damaged: the copy cannot be trusted, and is to be removed. */
  readonly content: CopyContent | undefined;
  /** The row of the copy in the index, where there is one. */
  readonly row?: CopyRow | undefined;
  /** Bytes that follow the copy's own under its name, where the copy describes itself. */
  readonly tailBytes?: number | undefined;
}

/** A copy that is to be moved on its tier, with its bytes. */
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

/** Runs an operation on the storage when it is its turn, and settles as the operation does. */
export type Turn = <T>(work: () => Promise<T>) => Promise<T>;

/** How a copy is published. */
export interface PublishOptions extends OperationOptions {
  /**
   * Covers the steps from the write to its record. Waiting before that, such as for a claim to be recorded,
   * takes no turn.
   */
  readonly turn: Turn;
}

/** Bytes of a tier that belong to a copy on its way. Ends once, by `write`, `publish` or `release`. */
export interface Claim {
  readonly store: TierStore;
  readonly name: string;
  readonly bytes: number;
  /**
   * Whether `write` waits until other copies can be written together with this one, and keeps them in memory
   * until then. Default: false.
   */
  readonly gathers?: boolean | undefined;
  /** Whether `write` may keep the memory of the copy. Default: false. */
  readonly keeps?: boolean | undefined;
  /**
   * Writes all of a copy at once, and publishes it: in place of `create` and `publish`, for a copy of one
   * chunk or none. Unless it `keeps` them, the bytes are the caller's again when it has settled. An abort has
   * no effect while the copy is being published. If it fails there may still be a file, as after `publish`.
   * @throws As `publish`.
   */
  write(bytes: Uint8Array, content: CopyContent, options: PublishOptions): Promise<Copy>;
  /** Begins to write the copy, in parts. */
  create(options: OperationOptions): Promise<ObjectWriter>;
  /** Reads what was published. */
  readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number>;
  /**
   * Publishes what was written: the tier has the copy from then on. If it fails there may still be a file,
   * which `release` removes.
   * @throws TieredError `TIERED_EXISTS` if another process has or makes the same copy, `TIERED_UNAVAILABLE`
   * if the tier has another index now.
   */
  publish(writer: ObjectWriter, content: CopyContent, options: PublishOptions): Promise<Copy>;
  /**
   * Gives the bytes back, after deleting what may lie under the name. Never rejects: what fails is tried
   * again.
   */
  release(): Promise<void>;
}

/** What one tier holds, as one process sees it: how much of it may be filled, and which copies there are. */
export interface TierStore {
  readonly tier: Tier;
  /** Bytes that the tier may hold: the smallest quota of its members. */
  readonly quotaBytes: number;
  /** Bytes that copies take on the storage, and everything else that is there for them. */
  readonly usedBytes: number;
  /** Bytes that belong to copies on their way. */
  readonly claimedBytes: number;
  /** Bytes of the largest copy for which there is room. */
  readonly freeBytes: number;
  /**
   * Bytes by which copies exceed the quota, because it was lowered, or a member with a smaller one joined.
   */
  readonly excessBytes: number;
  /**
   * Whether this is still what the storage holds, as far as is known. False once it was found that the
   * storage was emptied, is another one, or is not there at all. Costs nothing.
   */
  readonly current: boolean;
  /**
   * As `current`, after a look at the storage that begins after the call. Waits as long as the storage does.
   * Never rejects.
   */
  isCurrent(): Promise<boolean>;
  /** Whether there may be copies that this process does not know of yet. */
  readonly mayHoldMore: boolean;
  /** Bytes of copies that were removed. They count until every process has let go of them. */
  leavingBytes(): Promise<number>;
  /**
   * Background work: recording copies that were placed, and deleting those that were removed. None of it
   * rejects.
   */
  readonly underWay?: readonly Promise<void>[] | undefined;
  /**
   * Resolves when bytes were asked for that `claim` returned `later` for; undefined if none are, or nobody
   * answers.
   */
  readonly asked: Promise<void> | undefined;
  /**
   * Claims bytes for a copy, before it is fetched. Returns `later` if there is room that first has to be
   * asked for, which takes milliseconds; undefined if there is no room.
   */
  claim(object: Candidate, bytes: number): Claim | 'later' | undefined;
  /** Whether several processes fill the tier, and can know who fetches what. Costs nothing. */
  readonly hasTurns?: boolean | undefined;
  /**
   * Begins a fetch that other processes need not make as well. Returns what ends it, once the copy is there
   * or will not be; the fetch of another process; or undefined if nobody else could make it.
   */
  fetching?(object: Candidate): FetchTurn | OtherFetch | undefined;
  /** The copies of an object, of any version. */
  find(key: string): Promise<readonly Copy[]>;
  /** Every copy of the dataset, or every copy of all others, a page at a time. */
  pages(options?: { readonly others?: boolean }): AsyncIterable<readonly Copy[]>;
  /**
   * The copies that have to be removed before the bytes of one are free, including that one. Default: only
   * itself.
   */
  together?(copy: Copy): Promise<readonly Copy[]>;
  /**
   * The copies of this dataset in one segment that is less than half full; none if there is no such segment.
   */
  sparse?(): Promise<readonly Copy[]>;
  /**
   * Writes copies of segments together into a new one. At any moment each copy is in one of the two.
   * Undefined if there is no room for that now. The place of a copy that fails is unknown.
   */
  rewrite?(copies: readonly RewrittenCopy[]): Promise<readonly PromiseSettledResult<Copy>[] | undefined>;
  /**
   * Takes a copy out of service, deletes it, and then gives back its bytes: until it is deleted, it fills the
   * tier.
   */
  remove(copy: Copy): Promise<void>;
  /**
   * Lowers the quota, because the storage is full before the quota is: to what was held, less what was lost.
   * Room that was written to and given back counts. When several copies meet the end of the storage at the
   * same time, each gives back what it had, and the next ones are to find that room.
   */
  shrink(held: number, lost: number): void;
  /** Called before the copies of `pages` are adopted, in the background after the tier was opened. */
  beginTakingOver(signal: AbortSignal): Promise<void>;
  /**
   * Called when all copies were looked at.
   * @param isAllKnown Whether each was of an object that is known.
   */
  endTakingOver(signal: AbortSignal, isAllKnown: boolean): Promise<void>;
  /** Leaves the tier. Idempotent. */
  close(): Promise<void>;
}
