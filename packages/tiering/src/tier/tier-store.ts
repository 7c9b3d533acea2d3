import type { OperationOptions, Tier } from '@tiered/core';
import type { ObjectWriter, ReadIntoOptions } from '@tiered/core/driver';
import type { FetchTurn, OtherFetch } from './fetch-turns.js';
import type { CopyRow } from './copy-rows.js';

/** The identity of a copy: an object of a dataset, at a version. */
export interface CopyIdentity {
  /** The dataset that the key belongs to. Several sources may share a tier. */
  readonly dataset: string;
  readonly key: string;
  readonly version: string;
}

/** The content of a copy, as far as it is known. */
export interface CopyContent {
  /** Bytes of the object. The copy may hold only the first `bytes` of them. */
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
   * The part of the name after the key, or the place in a segment, see `packedTag`; undefined if the name is
   * the key.
   */
  readonly tag: number | undefined;
  readonly bytes: number;
  /** Undefined if the record of the copy is damaged. Such a copy cannot be trusted, and must be removed. */
  readonly content: CopyContent | undefined;
  /** The row of the copy in the index, if there is one. */
  readonly row?: CopyRow | undefined;
  /** Bytes of the trailer that follows the copy's own bytes, if the copy describes itself. */
  readonly tailBytes?: number | undefined;
}

/** A copy to move within its tier, with its bytes. */
export interface RewrittenCopy {
  readonly copy: Copy;
  readonly content: CopyContent;
  readonly data: Uint8Array;
}

/** An object to copy. */
export interface Candidate extends Omit<CopyIdentity, 'dataset'> {
  /** Bytes of the object, and of a chunk of it. */
  readonly size: number;
  readonly chunkBytes: number;
}

/** Runs a storage operation when its turn comes, and settles as the operation does. */
export type Turn = <T>(work: () => Promise<T>) => Promise<T>;

/** How a copy is published. */
export interface PublishOptions extends OperationOptions {
  /**
   * Covers the steps from the write to its record. Earlier waits, such as for a claim to be recorded, take no
   * turn.
   */
  readonly turn: Turn;
}

/** Bytes of a tier that belong to a copy in flight. Ends once, by `write`, `publish` or `release`. */
export interface Claim {
  readonly store: TierStore;
  readonly name: string;
  readonly bytes: number;
  /**
   * Whether `write` waits to write this copy together with others, and keeps it in memory until then.
   * Default: false.
   */
  readonly gathers?: boolean | undefined;
  /** Whether `write` may keep the memory of the copy. Default: false. */
  readonly keeps?: boolean | undefined;
  /**
   * Writes and publishes a whole copy: in place of `create` and `publish`, for a copy of at most one chunk.
   * Once settled, the caller owns the bytes again, unless the claim `keeps` them. An abort has no effect
   * while the copy is being published. After a failure there may still be a file, as after `publish`.
   * @throws As `publish`.
   */
  write(bytes: Uint8Array, content: CopyContent, options: PublishOptions): Promise<Copy>;
  /** Begins to write the copy in parts. */
  create(options: OperationOptions): Promise<ObjectWriter>;
  /** Reads the published copy. */
  readInto(target: Uint8Array, options: ReadIntoOptions): Promise<number>;
  /**
   * Publishes the written parts: from then on the tier has the copy. After a failure there may still be a
   * file, which `release` removes.
   * @throws TieredError `TIERED_EXISTS` if another process has the same copy or is making it,
   * `TIERED_UNAVAILABLE` if the tier has another index now.
   */
  publish(writer: ObjectWriter, content: CopyContent, options: PublishOptions): Promise<Copy>;
  /**
   * Deletes the file under the name, if there is one, and then gives the bytes back. Never rejects: a failure
   * is retried.
   */
  release(): Promise<void>;
}

/** The contents of one tier as seen by one process: its copies, and how much more it may hold. */
export interface TierStore {
  readonly tier: Tier;
  /** Bytes that the tier may hold: the smallest quota of its members. */
  readonly quotaBytes: number;
  /** Bytes that copies take on the storage, including everything else that is there for them. */
  readonly usedBytes: number;
  /** Bytes that belong to copies in flight. */
  readonly claimedBytes: number;
  /** Bytes of the largest copy that fits. */
  readonly freeBytes: number;
  /**
   * Bytes by which copies exceed the quota, because it was lowered, or a member with a smaller one joined.
   */
  readonly excessBytes: number;
  /**
   * Whether the store still matches the storage, as far as is known. False once the storage was found to be
   * emptied, replaced, or missing. Costs nothing.
   */
  readonly current: boolean;
  /**
   * As `current`, after a check of the storage that begins after the call. Takes as long as the storage does.
   * Never rejects.
   */
  isCurrent(): Promise<boolean>;
  /** Whether there may be copies that this process does not know yet. */
  readonly mayHoldMore: boolean;
  /** Bytes of removed copies. They count until every process has let go of them. */
  leavingBytes(): Promise<number>;
  /** Background work: recording placed copies, and deleting removed ones. None of it rejects. */
  readonly underWay?: readonly Promise<void>[] | undefined;
  /**
   * Resolves once a request for bytes that `claim` returned `later` for has ended. Undefined if there is no
   * request, or nothing answers it.
   */
  readonly asked: Promise<void> | undefined;
  /**
   * Claims bytes for a copy before it is fetched. Returns `later` if there is room that must be requested
   * first, which takes milliseconds; undefined if there is no room.
   */
  claim(object: Candidate, bytes: number): Claim | 'later' | undefined;
  /** Whether several processes fill the tier and coordinate their fetches. Costs nothing. */
  readonly hasTurns?: boolean | undefined;
  /**
   * Begins a fetch that other processes need not repeat. Returns the turn, to be ended once the copy is there
   * or will not be; the fetch of another process; or undefined if no other process could make it.
   */
  fetching?(object: Candidate): FetchTurn | OtherFetch | undefined;
  /** The copies of an object, of any version. */
  find(key: string): Promise<readonly Copy[]>;
  /** Every copy of the dataset, or of all other datasets, a page at a time. */
  pages(options?: { readonly others?: boolean }): AsyncIterable<readonly Copy[]>;
  /** The copies that must be removed to free the bytes of one, including that one. Default: only itself. */
  together?(copy: Copy): Promise<readonly Copy[]>;
  /**
   * The copies of this dataset in one segment that is less than half full; none if there is no such segment.
   */
  sparse?(): Promise<readonly Copy[]>;
  /**
   * Writes copies of segments together into a new segment. At any moment each copy is in its old segment or
   * in the new one. Undefined if there is no room for that now. The place of a copy that failed is unknown.
   */
  rewrite?(copies: readonly RewrittenCopy[]): Promise<readonly PromiseSettledResult<Copy>[] | undefined>;
  /**
   * Takes a copy out of service, deletes it, and then gives back its bytes. It fills the tier until it is
   * deleted.
   */
  remove(copy: Copy): Promise<void>;
  /**
   * Lowers the quota because the storage was full before the quota was reached: to what was held, minus what
   * was lost. Room that was written to and given back counts as held. If several copies hit the end of the
   * storage at the same time, each gives back its bytes, and the next copies must find that room.
   */
  shrink(held: number, lost: number): void;
  /** Called before the copies of `pages` are adopted, in the background after the tier is opened. */
  beginTakingOver(signal: AbortSignal): Promise<void>;
  /**
   * Called once all copies were visited.
   * @param isAllKnown Whether the object of each copy is known.
   */
  endTakingOver(signal: AbortSignal, isAllKnown: boolean): Promise<void>;
  /** Leaves the tier. Idempotent. */
  close(): Promise<void>;
}
