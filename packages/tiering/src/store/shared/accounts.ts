import type { Tier } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import type { Applied, IndexState } from '../../index/index-messages.js';
import type { ClaimRow, CopyRef } from '../../tier/copy-rows.js';
import type { Leases } from '../../index/index-writer.js';
import { Lease } from './lease.js';
import { logRoomOf, transactionPagesOf } from '../../index/open-index.js';
import { lowered } from '../own-quota.js';

/** Directories of a tier without copies: its own, the private one, and two inside the private one. */
export const OWN_DIRECTORIES = 4;

/** Bytes that directories take on a tier: the given number that copies need, and its own. */
export function directoryBytesOf({ blockBytes, isOnTier }: IndexHome, directories: number): number {
  return blockBytes === 1 ? 0 : (directories + (isOnTier ? OWN_DIRECTORIES : 0)) * blockBytes;
}

/** Events that accounts report to their store. */
export interface AccountsEvents {
  /** Called if other members took this process for dead. */
  readonly onLost: () => void;
  /** Called with empty segments that this process must delete. */
  readonly onEmptied: (segments: readonly CopyRef[]) => void;
}

/** Counts the bytes of a tier's storage: the last seen totals of its index, and this process's lease. */
export class Accounts implements Leases {
  readonly lease: Lease;
  readonly mostPages: number;
  readonly #tier: Tier;
  readonly #home: IndexHome;
  readonly #events: AccountsEvents;
  #state: IndexState;
  #wasShared = false;
  #quota: number;

  constructor(tier: Tier, home: IndexHome, state: IndexState, events: AccountsEvents) {
    this.#tier = tier;
    this.#home = home;
    this.#events = events;
    this.#quota = tier.quotaBytes;
    this.mostPages = transactionPagesOf(tier.quotaBytes);
    this.#state = this.#counted(state);
    this.lease = new Lease(this.#quota, home.blockBytes);
  }

  /** The last seen totals. */
  get state(): IndexState {
    return this.#state;
  }

  /** Whether another process has ever used the tier at the same time as this one. */
  get wasShared(): boolean {
    return this.#wasShared;
  }

  get quotaBytes(): number {
    return Math.min(this.#state.quota, this.#quota);
  }

  get usedBytes(): number {
    const { occupied, claimed, directories, fileBytes } = this.#state;
    return occupied - claimed + directoryBytesOf(this.#home, directories) + fileBytes;
  }

  get claimedBytes(): number {
    return this.#state.claimed + this.lease.reserved;
  }

  get freeBytes(): number {
    return this.lease.largest(this.unleased);
  }

  /** Includes the growth of the log: members continue to write to the index once the quota is met. */
  get excessBytes(): number {
    return Math.max(0, this.#takenBytes - this.quotaBytes);
  }

  /** Bytes that no member has leased; negative if more is leased than there is. */
  get unleased(): number {
    return this.quotaBytes - this.#takenBytes - this.#state.leased - this.lease.hold;
  }

  /**
   * See `TierStore.shrink`. Returns the new quota of this process for the tier: no more than there is room
   * for, so that copies in flight leave the index its own room.
   */
  shrink(held: number, lost: number): number {
    const atFirst = this.#tier.quotaBytes;
    const quota = lowered({ from: this.#quota, atFirst, used: this.usedBytes, held, lost });
    const { freeBytes = Infinity } = this.#state;
    this.#quota = Math.min(quota, this.usedBytes + freeBytes);
    return this.#quota;
  }

  /** Takes over the current totals of the index. */
  learn(state: IndexState): void {
    this.#state = this.#counted(state);
    this.#wasShared ||= state.members > 1;
    this.lease.learn(state.mine ?? 0);
  }

  terms(): ReturnType<Leases['terms']> {
    const terms = this.lease.terms(Math.max(this.#state.wanted, -this.unleased));
    const [ofNone, ofOne] = [directoryBytesOf(this.#home, 0), directoryBytesOf(this.#home, 1)];
    // To the index, its own files and directories without copies are among the bytes that no member may
    // lease.
    return { ...terms, hold: terms.hold + this.#indexBytes + ofNone, directoryBytes: ofOne - ofNone };
  }

  applied({ isMember, isAtPath, refused, emptied, state }: Applied, claims: readonly ClaimRow[]): void {
    const isRefused = new Set(refused);
    for (const claim of claims)
      this.lease.recorded(this.#taken(claim), isMember && !isRefused.has(claim.tag));
    this.lease.ended();
    this.learn(state);
    if (emptied.length > 0) this.#events.onEmptied(emptied);
    if (!isMember || !isAtPath) this.#events.onLost();
  }

  failed(claims: readonly ClaimRow[]): void {
    this.lease.ended();
    for (const claim of claims) this.lease.recorded(this.#taken(claim), false);
  }

  /** Bytes of copies, claims, directories and the index. */
  get #takenBytes(): number {
    const { occupied, directories } = this.#state;
    return occupied + directoryBytesOf(this.#home, directories) + this.#indexBytes;
  }

  /** Bytes that were taken from the lease for a claim. */
  #taken({ key, occupied }: ClaimRow): number {
    return occupied + this.lease.directories(key);
  }

  /** Bytes of the index, including the possible growth of its log. */
  get #indexBytes(): number {
    const { fileBytes, logBytes, largestQuota } = this.#state;
    if (!this.#home.isOnTier) return 0;
    // A member with a larger quota makes larger transactions, and a longer log.
    const logRoom = logRoomOf(Math.max(this.#tier.quotaBytes, largestQuota));
    return fileBytes + Math.max(0, logRoom - logBytes);
  }

  /** The totals, without the index's own files if they are not on the tier. */
  #counted(state: IndexState): IndexState {
    return this.#home.isOnTier ? state : { ...state, fileBytes: 0 };
  }
}
