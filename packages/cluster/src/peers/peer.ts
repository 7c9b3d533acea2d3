import { isTieredError, type Clock, type StorageDriver } from '@tiered/core';
import type { ReadOutcome } from '@tiered/core/driver';
import { TierHealth } from '@tiered/core/internal';
import { GatheredReads } from './gathered-reads.js';
import type { WantedRange } from './wanted-read.js';

/** Faults that need no second one: wrong bytes, and a wait for nothing, which is long. */
const CERTAIN = ['TIERED_DATA_CORRUPT', 'TIERED_DEADLINE'] as const;

/** What came of the reads of one peer. */
export interface PeerCounts {
  /** Reads that it has answered with the bytes. */
  readonly reads: number;
  readonly bytes: number;
  /** Reads of objects that it does not have, and does not fetch: wrong guesses. */
  readonly missed: number;
  /** Reads of objects that it has another version of. */
  readonly changed: number;
  /** Reads whose bytes did not have their checksum. */
  readonly damaged: number;
  /** Reads that failed: it was down, too slow, or broke off. */
  readonly failed: number;
}

/** What came of no read. */
export const NO_COUNTS: PeerCounts = { reads: 0, bytes: 0, missed: 0, changed: 0, damaged: 0, failed: 0 };

/** What came of the reads of two. */
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

/** What a peer is made of. */
export interface PeerOptions {
  readonly rank: number;
  readonly url: string;
  /** Its process. Another one at the same place is another peer, whatever was wrong with this one. */
  readonly owner: string;
  /** Reads from it. Belongs to the peer. */
  readonly driver: StorageDriver;
  readonly deadlineMs: number;
  readonly clock: Clock;
  /** Told when it is left alone for a while. */
  readonly onOut: (retryInMs: number, error: unknown) => void;
  /** Told when it is asked again. */
  readonly onBack: () => void;
}

/**
 * Another worker, and how it is. After three failures in a row it is left alone, for a second at first and up
 * to a minute later; at once if its bytes were wrong, or it did not answer in time. Then it is asked for
 * something that nobody waits for, and its answer decides.
 */
export class Peer {
  readonly rank: number;
  readonly url: string;
  readonly owner: string;
  readonly #options: PeerOptions;
  readonly #driver: StorageDriver;
  readonly #health: TierHealth;
  /** Reads that may wait for what it fetches. */
  readonly #reads: GatheredReads;
  /**
   * Reads of what it is the former home of: it answers from its tiers or not at all. Behind those that wait,
   * two workers that fetch for each other could wait in a circle.
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
    // Sends nothing.
    this.#opening = this.#driver.open({});
  }

  /** Whether it is worth waiting for. */
  get isAsked(): boolean {
    return this.#health.inService && !this.#health.isOnTrial;
  }

  /** Whether it was left alone, and it is time to see whether it answers. */
  get isOnTrial(): boolean {
    return this.#health.isOnTrial && this.#probe === undefined;
  }

  /** Asks it for a range that nobody waits for, to see whether it answers. */
  probe(range: Omit<WantedRange, 'signal'>): void {
    const done = () => (this.#probe = undefined);
    this.#probe = this.read({ ...range, signal: undefined }, true).then(done, done);
  }

  /** Reads that wait for it. */
  get underWay(): number {
    return this.#underWay;
  }

  get counts(): PeerCounts {
    return { ...this.#counts };
  }

  /**
   * Reads a range. Rejects with `TIERED_NOT_FOUND` if it does not keep the object, and as the driver does.
   * Within the deadline, whatever the peer does.
   * @param isHome Whether it is the one to fetch the object.
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

  /** Ends its connections. Reads under way fail. */
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

  /** One request has ended. It counts once, whatever it asked for. */
  #note(outcomes: readonly ReadOutcome[]): void {
    const failures = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []));
    const faults = failures.filter((error) => !isTieredError(error, 'TIERED_NOT_FOUND'));
    const [fault] = faults;
    if (fault === undefined) {
      if (this.#health.succeeded()) this.#options.onBack();
      return;
    }
    const certain = faults.find((error) => CERTAIN.some((code) => isTieredError(error, code)));
    // An answer that has some of the objects is from a peer that works.
    if (certain === undefined && faults.length < outcomes.length) return;
    const retryInMs = certain === undefined ? this.#health.failed() : this.#health.failedForCertain();
    if (retryInMs !== undefined) this.#options.onOut(retryInMs, certain ?? fault);
  }
}
