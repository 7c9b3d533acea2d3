import { parseBytes, type ByteSize } from './bytes.js';
import type { Clock } from './clock.js';
import type { OperationOptions, StorageDriver } from './driver.js';
import { configError } from './errors.js';

/** A tier as the user configures it. */
export interface TierOptions {
  /** Where the tier keeps its objects; must be able to list, write and delete. */
  readonly driver: StorageDriver;
  /** Bytes it holds at most, such as `'200GiB'`. No default: every resource is bounded by its owner. */
  readonly quota: ByteSize;
}

/** Faults in a row after which a tier is passed over. One may be an accident, three are a state. */
const FAULTS_UNTIL_OUT = 3;
/** First pause before a failed tier is tried again; doubles up to the last one. Short enough for a remount. */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 60_000;

/** One level above the source: a driver, its quota, and how it fares. */
export class Tier {
  readonly level: number;
  readonly driver: StorageDriver;
  readonly quotaBytes: number;
  readonly reading: TierHealth;
  readonly writing: TierHealth;
  /** Reads served, and their bytes. */
  reads = 0;
  readBytes = 0;
  /** Operations that failed and were served from elsewhere. */
  faults = 0;
  #opening: Promise<void> | undefined;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for a quota that is no size, or a driver that cannot be a tier. */
  constructor(level: number, options: TierOptions, clock: Clock) {
    const { driver, quota } = options;
    for (const needed of ['list', 'write', 'delete'] as const) {
      if (driver.capabilities[needed]) continue;
      throw configError(
        `tiers[${level}].driver`,
        `a driver that can ${needed}, as every tier must`,
        driver.name,
      );
    }
    this.level = level;
    this.driver = driver;
    this.quotaBytes = parseBytes(quota, `tiers[${level}].quota`);
    this.reading = new TierHealth(clock);
    this.writing = new TierHealth(clock);
  }

  /** Opens the driver, if it is not open. */
  open(options: OperationOptions): Promise<void> {
    this.#opening ??= this.driver.open(options).catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }
}

/**
 * Whether a tier is worth asking. After repeated faults it is out of service for a pause; then operations are
 * let through again, and the first outcome decides.
 */
export class TierHealth {
  readonly #clock: Clock;
  #faultsInARow = 0;
  #outUntil: number | undefined;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False while operations should pass the tier over. Costs no look at the clock for a healthy tier. */
  get inService(): boolean {
    return this.#outUntil === undefined || this.#clock.now() >= this.#outUntil;
  }

  /** An operation succeeded. Returns whether that brought the tier back into service. */
  succeeded(): boolean {
    if (this.#faultsInARow === 0) return false;
    const wasOut = this.#outUntil !== undefined;
    this.#faultsInARow = 0;
    this.#outUntil = undefined;
    this.#pauseMs = FIRST_PAUSE_MS;
    return wasOut;
  }

  /** An operation failed. Returns the pause in milliseconds if that took the tier out of service. */
  failed(): number | undefined {
    this.#faultsInARow += 1;
    // Operations that began before the tier went out may still fail; they do not prolong the pause.
    if (this.#faultsInARow < FAULTS_UNTIL_OUT || !this.inService) return undefined;
    const pauseMs = this.#pauseMs;
    this.#outUntil = this.#clock.now() + pauseMs;
    this.#pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2);
    return pauseMs;
  }
}
