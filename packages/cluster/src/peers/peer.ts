import { isTieredError, type Clock, type StorageDriver } from '@tiered/core';
import type { ReadOutcome } from '@tiered/core/driver';
import { TierHealth } from '@tiered/core/internal';
import { GatheredReads } from './gathered-reads.js';
import type { WantedRange } from './wanted-read.js';

/** Faults that count at the first occurrence: wrong bytes, and a missed deadline, which costs a long wait. */
const CERTAIN = ['TIERED_DATA_CORRUPT', 'TIERED_DEADLINE'] as const;

/** Outcomes of the reads of one peer. */
export interface PeerCounts {
  /** Reads that it answered with the bytes. */
  readonly reads: number;
  readonly bytes: number;
  /** Reads of objects that it neither has nor fetches: wrong guesses. */
  readonly missed: number;
  /** Reads of objects of which it has another version. */
  readonly changed: number;
  /** Reads whose bytes did not match their checksum. */
  readonly damaged: number;
  /** Reads that failed: the peer was down, too slow, or broke off. */
  readonly failed: number;
}

/** The outcomes before any read. */
export const NO_COUNTS: PeerCounts = { reads: 0, bytes: 0, missed: 0, changed: 0, damaged: 0, failed: 0 };

/** Adds the outcomes of two peers. */
export function sumOfCounts(one: PeerCounts, other: PeerCounts): PeerCounts {
  return {
    reads: one.reads + other.reads,
    bytes: one.bytes + other.bytes,
    missed: one.missed + other.missed,
    changed: one.changed + other.changed,
    damaged: one.damaged + other.damaged,
    failed: one.failed + other.failed,
  };
}

/** Options of `Peer`. */
export interface PeerOptions {
  readonly rank: number;
  readonly url: string;
  /** Its process. Another process at the same URL is another peer, and starts without this one's faults. */
  readonly owner: string;
  /** The driver that reads from the peer. Owned by this object. */
  readonly driver: StorageDriver;
  readonly deadlineMs: number;
  readonly clock: Clock;
  /** Called when the peer is skipped for a while. */
  readonly onOut: (retryInMs: number, error: unknown) => void;
  /** Called when the peer is asked again. */
  readonly onBack: () => void;
}

/**
 * Another worker, and its health. After three failures in a row it is skipped, for a second at first and for
 * up to a minute later. It is skipped at once if its bytes were wrong or it missed the deadline. After that
 * time a probe that no read waits for is sent to it, and the answer decides.
 */
export class Peer {
  readonly rank: number;
  readonly url: string;
  readonly owner: string;
  readonly #options: PeerOptions;
  readonly #driver: StorageDriver;
  readonly #health: TierHealth;
  /** Reads that may wait for the peer to fetch the object. */
  readonly #reads: GatheredReads;
  /**
   * Reads of objects that it is the former home of: it answers from its tiers or not at all. If these queued
   * behind reads that wait, two workers that fetch for each other could wait in a circle.
   */
  readonly #formerReads: GatheredReads;
  readonly #counts = { ...NO_COUNTS };
  readonly #opening: Promise<void>;
  #probe: Promise<unknown> | undefined;
  #underWay = 0;

  constructor(options: PeerOptions) {
    const { rank, url, owner, driver, deadlineMs, clock } = options;
    this.rank = rank;
    this.url = url;
    this.owner = owner;
    this.#options = options;
    this.#driver = driver;
    this.#health = new TierHealth(clock);
    const onOutcomes = (outcomes: readonly ReadOutcome[]) => this.#note(outcomes);
    const parts = { driver, clock, deadlineMs, onOutcomes };
    this.#reads = new GatheredReads(parts);
    this.#formerReads = new GatheredReads(parts);
    // Opening sends nothing.
    this.#opening = this.#driver.open({});
  }

  /** Whether reads may wait for it. */
  get isAsked(): boolean {
    return this.#health.inService && !this.#health.isOnTrial;
  }

  /** Whether it was skipped, and it is time for a probe. */
  get isOnTrial(): boolean {
    return this.#health.isOnTrial && this.#probe === undefined;
  }

  /** Asks for a range that no read waits for, to test whether the peer answers. */
  probe(range: Omit<WantedRange, 'signal'>): void {
    const done = () => (this.#probe = undefined);
    this.#probe = this.read({ ...range, signal: undefined }, true).then(done, done);
  }

  /** Reads that wait for the peer. */
  get underWay(): number {
    return this.#underWay;
  }

  get counts(): PeerCounts {
    return { ...this.#counts };
  }

  /**
   * Reads a range. Rejects with `TIERED_NOT_FOUND` if the peer does not keep the object, and as the driver
   * does. Settles within the deadline, whatever the peer does.
   * @param isHome Whether the peer is to fetch the object.
   */
  async read(range: WantedRange, isHome: boolean): Promise<Uint8Array> {
    this.#underWay += 1;
    try {
      await this.#opening;
      const bytes = await (isHome ? this.#reads : this.#formerReads).read(range);
      this.#counts.reads += 1;
      this.#counts.bytes += bytes.byteLength;
      return bytes;
    } catch (error) {
      if (range.signal?.aborted !== true) this.#count(error);
      throw error;
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Ends its connections. Reads in flight fail. */
  async close(): Promise<void> {
    await this.#opening;
    await Promise.all([this.#reads.end(), this.#formerReads.end()]);
    await this.#probe;
    await this.#driver.close();
  }

  #count(error: unknown): void {
    if (isTieredError(error, 'TIERED_NOT_FOUND')) this.#counts.missed += 1;
    else if (isTieredError(error, 'TIERED_SOURCE_CHANGED')) this.#counts.changed += 1;
    else if (isTieredError(error, 'TIERED_DATA_CORRUPT')) this.#counts.damaged += 1;
    else this.#counts.failed += 1;
  }

  /** Records the end of a request, which counts once, whatever it asked for. */
  #note(outcomes: readonly ReadOutcome[]): void {
    const failures = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []));
    const faults = failures.filter((error) => !isTieredError(error, 'TIERED_NOT_FOUND'));
    const [fault] = faults;
    if (fault === undefined) {
      if (this.#health.succeeded()) this.#options.onBack();
      return;
    }
    const certain = faults.find((error) => CERTAIN.some((code) => isTieredError(error, code)));
    // A peer that answers with some of the objects works.
    if (certain === undefined && faults.length < outcomes.length) return;
    const retryInMs = certain === undefined ? this.#health.failed() : this.#health.failedForCertain();
    if (retryInMs !== undefined) this.#options.onOut(retryInMs, certain ?? fault);
  }
}
