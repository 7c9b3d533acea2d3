import { parseBytes, type ByteSize } from '../support/bytes.js';
import type { Clock } from '../support/clock.js';
import type {
  OperationOptions,
  ReadIntoOptions,
  ReadOptions,
  ReadOutcome,
  ReadRequest,
  StorageDriver,
} from '../driver/driver.js';
import { assertMilliseconds, configError } from '../support/errors.js';
import { MemoryDriver } from '../driver/memory-driver.js';
import type { Found } from '../driver/locations.js';
import { closeFor, openFor } from '../driver/open-drivers.js';
import { disown, own } from '../driver/ownership.js';
import { TierReads } from '../read/tier-reads.js';

/** A tier as configured by the user. */
export interface TierOptions {
  /** Where the tier keeps its copies. The driver must be able to list, write and delete. */
  readonly driver: StorageDriver;
  /**
   * The most bytes it holds, such as `'200GiB'`; 0 for memory that takes nothing. No default, because every
   * resource is bounded by its owner.
   */
  readonly quota: ByteSize;
  /**
   * Milliseconds after which an unanswered read of the tier is aborted, and served from the source. A read
   * gets one more second per 4 MiB. It may wait in the tier's queue for as long as the tier serves others. Up
   * to a quarter is added, because deadlines are checked only a few times in that period. Default: 15,000,
   * longer than a disk needs to spin up. A `MemoryDriver` never waits, and has no deadline.
   */
  readonly readDeadlineMs?: number | undefined;
  /**
   * The layout of copies on the storage.
   * - `files`: each copy is a file of its own, which other programs can open.
   * - `packed`: copies of up to 256 KiB are gathered in segments of up to 4 MiB. A read of one is a read of
   *   an already open file, and a tier of small objects has a thousandth of the files. Objects read just
   *   before a process was killed are fetched again. The space of removed copies is freed once more than half
   *   of their segment was removed and the rest was rewritten. A policy that evicts evicts whole segments,
   *   except recently read copies. Only for drivers with an index.
   *
   * Existing copies on the tier stay as they are, so this can be changed at any time. Default: `files`.
   */
  readonly layout?: TierLayout | undefined;
}

/** The use of a tier. Each use has its own health: a disk that turned read-only still serves reads. */
export type TierUse = 'read' | 'write';

/** The layout of copies on the storage of a tier, see `TierOptions`. */
export type TierLayout = 'files' | 'packed';

const LAYOUTS: readonly TierLayout[] = ['files', 'packed'];
const READ_DEADLINE_MS = 15_000;
/**
 * Consecutive faults after which a tier is skipped. One may be an accident; three mean that the tier is
 * broken.
 */
const FAULTS_UNTIL_OUT = 3;
/** First pause before a failed tier is retried. It doubles up to the last one. Short enough for a remount. */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 60_000;
/**
 * A tier that hangs costs a reader a deadline whenever it is retried. This eventually bounds that to a
 * twentieth of the time.
 */
const LAST_PAUSE_IN_DEADLINES = 20;

/** One level above the source: a driver, its quota, and its health. */
export class Tier {
  readonly level: number;
  readonly driver: StorageDriver;
  readonly quotaBytes: number;
  readonly layout: TierLayout;
  readonly reading: TierHealth;
  readonly writing: TierHealth;
  /** Reads served, and their bytes. */
  reads = 0;
  readBytes = 0;
  /** Operations that failed and were served from elsewhere. */
  faults = 0;
  /** The place of its directory, if it has one and was looked up. */
  found: Found | undefined;
  #opening: Promise<void> | undefined;
  /** Undefined if the driver never waits. */
  readonly #underWay: TierReads | undefined;

  /**
   * @throws TieredError `TIERED_CONFIG_INVALID` for a quota that is not a size, a deadline that is not a
   * time, a driver that cannot be a tier, or a layout that the driver does not support.
   */
  constructor(level: number, options: TierOptions, clock: Clock) {
    const { driver, quota, readDeadlineMs = READ_DEADLINE_MS, layout = 'files' } = options;
    assertMilliseconds({ [`tiers[${level}].readDeadlineMs`]: readDeadlineMs });
    for (const needed of ['list', 'write', 'delete'] as const) {
      if (driver.capabilities[needed]) continue;
      throw configError(
        `tiers[${level}].driver`,
        `a driver that can ${needed}, as every tier must; those of directories and object stores can with writable: true, one of your own declares it in its capabilities`,
        driver.name,
      );
    }
    if (!LAYOUTS.includes(layout)) throw configError(`tiers[${level}].layout`, '"files" or "packed"', layout);
    if (layout === 'packed' && !driver.capabilities.index) {
      const expected = '"files", or a driver that keeps an index, such as one of a directory on a local disk';
      throw configError(`tiers[${level}].layout`, expected, layout);
    }
    this.level = level;
    this.layout = layout;
    this.driver = driver;
    this.quotaBytes = parseBytes(quota, `tiers[${level}].quota`);
    // A driver that extends or wraps `MemoryDriver` may wait.
    const waits = driver.constructor !== MemoryDriver;
    this.#underWay = waits ? new TierReads(driver, clock, readDeadlineMs) : undefined;
    this.reading = new TierHealth(clock, this.#underWay);
    this.writing = new TierHealth(clock);
  }

  /**
   * Opens the driver, if it is not open.
   * @throws TieredError `TIERED_CONFIG_INVALID` if the driver is a tier of another hierarchy that is open.
   */
  async open(options: OperationOptions): Promise<void> {
    own(this, this.driver, `tiers[${this.level}].driver`);
    this.#opening ??= openFor(this, this.driver, options).catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    await this.#opening;
  }

  /**
   * As the driver's `read`, within the deadline of this tier. An abort ends it at once, whatever the driver
   * does.
   * @throws TieredError `TIERED_DEADLINE` if the tier did not answer, which counts as a fault; or the error
   * of the driver.
   */
  read(name: string, options: ReadOptions): Promise<Uint8Array> {
    if (this.#underWay === undefined) return this.driver.read(name, options);
    return this.#underWay.leave(options.length, options.signal, (signal) =>
      this.driver.read(name, { ...options, signal }),
    );
  }

  /**
   * As the driver's `readInto`, within the deadline of this tier. An abort or the deadline ends it once the
   * driver has released the target, which a correct driver does at once. `close` does not wait for a driver
   * that never releases it.
   * @throws TieredError As `read`.
   */
  readInto(name: string, target: Uint8Array, options: ReadIntoOptions): Promise<number> {
    if (this.#underWay === undefined) return this.driver.readInto(name, target, options);
    return this.#underWay.hold(target.byteLength, options.signal, (signal) =>
      this.driver.readInto(name, target, { ...options, signal }),
    );
  }

  /** As `readInto`, by the caller's own call, for a read of so many bytes of a file that is already open. */
  within<T>(
    bytes: number,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    return this.#underWay === undefined ? call(signal) : this.#underWay.hold(bytes, signal, call);
  }

  /**
   * As the driver's `readMany`, with the deadline of `readInto`. The outcome of a late read is
   * `TIERED_DEADLINE`.
   */
  readMany(requests: readonly ReadRequest[], options: OperationOptions): Promise<readonly ReadOutcome[]> {
    if (this.#underWay === undefined) return this.driver.readMany(requests, options);
    const bytes = requests.reduce((sum, { target }) => sum + target.byteLength, 0);
    return this.#underWay.hold(bytes, options.signal, (signal) => this.driver.readMany(requests, { signal }));
  }

  /**
   * Aborts every read with `reason`, and refuses new ones with it. Resolves when the driver has ended all of
   * them, at the latest after a deadline.
   */
  async endReads(reason: Error): Promise<void> {
    await this.#underWay?.end(reason);
  }

  /** Whether the driver has ended every read. */
  get isDone(): boolean {
    return this.#underWay?.areDone ?? true;
  }

  /** Closes the driver. Does not wait for a driver that has not ended its reads. */
  async close(): Promise<void> {
    const closing = closeFor(this, this.driver);
    if (this.isDone) await closing.finally(() => disown(this, this.driver));
    else {
      closing.catch(() => undefined);
      // The next user that opens it waits until it is closed.
      disown(this, this.driver);
    }
  }
}

/**
 * Decides whether to ask a tier. After repeated faults the tier is out of service for a pause. Operations are
 * then let through again, and the first outcome decides. Reads are let through one at a time, because a tier
 * that hangs also holds the reads that probe it.
 */
export class TierHealth {
  readonly #clock: Clock;
  readonly #reads: TierReads | undefined;
  #faultsInARow = 0;
  #outUntil: number | undefined;
  #pauseMs = FIRST_PAUSE_MS;

  /** @param reads The reads in flight, if this is the health of reading. */
  constructor(clock: Clock, reads?: TierReads) {
    this.#clock = clock;
    this.#reads = reads;
  }

  /** False while operations should skip the tier. Costs no clock read for a healthy tier. */
  get inService(): boolean {
    const reads = this.#reads;
    // The driver holds memory that it was to fill. Each further read would add to that.
    if (reads !== undefined && reads.stuck > 0) return false;
    if (this.#outUntil === undefined) return true;
    return this.#isPauseOver && (reads === undefined || reads.inTime === 0);
  }

  /** Whether it was out of service, and the first operation since then has not ended. */
  get isOnTrial(): boolean {
    return this.#outUntil !== undefined && this.#isPauseOver;
  }

  get #isPauseOver(): boolean {
    return this.#outUntil === undefined || this.#clock.now() >= this.#outUntil;
  }

  /** Records that an operation succeeded. Returns whether that brought the tier back into service. */
  succeeded(): boolean {
    if (this.#faultsInARow === 0) return false;
    const wasOut = this.#outUntil !== undefined;
    this.#faultsInARow = 0;
    this.#outUntil = undefined;
    this.#pauseMs = FIRST_PAUSE_MS;
    return wasOut;
  }

  /** As `failed`, after a fault that is conclusive on its own. */
  failedForCertain(): number | undefined {
    this.#faultsInARow = Math.max(this.#faultsInARow, FAULTS_UNTIL_OUT - 1);
    return this.failed();
  }

  /**
   * Records that an operation failed. Returns the pause in milliseconds if that took the tier out of service.
   * @param hung Whether the operation did not end by itself. The pauses are then longer, and begin with the
   * deadline.
   */
  failed(hung = false): number | undefined {
    this.#faultsInARow += 1;
    // Operations that began before the tier went out of service may still fail; they do not prolong the
    // pause.
    if (this.#faultsInARow < FAULTS_UNTIL_OUT || !this.#isPauseOver) return undefined;
    const costMs = hung ? (this.#reads?.deadlineMs ?? 0) : 0;
    const pauseMs = Math.max(this.#pauseMs, costMs);
    this.#outUntil = this.#clock.now() + pauseMs;
    this.#pauseMs = Math.min(Math.max(LAST_PAUSE_MS, LAST_PAUSE_IN_DEADLINES * costMs), pauseMs * 2);
    return pauseMs;
  }
}
