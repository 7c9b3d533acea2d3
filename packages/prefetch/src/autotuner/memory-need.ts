import { formatBytes } from '@tiered/core';
import type { Tuning, TuningLimits } from './autotuner.js';
import { percent } from './curve.js';
import type { Totals } from './totals.js';

/** The least memory. Less is not worth saving, and small objects are taken in large batches. */
const LEAST_BYTES = 16 * 2 ** 20;

/**
 * Rounds of reads to provide room for: one in flight, and one that waits for consumers. `OUT_OF_TURN` adds a
 * few samples that are not taken in order.
 */
const ROUNDS = 2;

/**
 * The same for a source that reads wait for. Samples are taken in order, so a read that takes many times as
 * long as others holds up all samples behind it. Less memory would gain nothing here, because no cache keeps
 * such samples until they are taken.
 */
const ROUNDS_OF_WAITING = 8;

const OUT_OF_TURN = 4;

/** More room is tried if consumers starve for this part of the time and producers are idle for it. */
const OFTEN = 0.03;

/** Values that leave no doubt even in a short time. */
const OBVIOUS = { starved: 0.5, idle: 0.1, ms: 40 };

/**
 * The memory that goes with a number of producers. It should be small, so that samples are still in the cache
 * when they are taken. It should be large enough that consumers do not starve while producers are idle.
 */
export class MemoryNeed {
  #boost = 1;
  #rounds = ROUNDS;

  /** Notes that reads were seen to wait for the source. */
  expectWaiting(): void {
    this.#rounds = ROUNDS_OF_WAITING;
  }

  /**
   * Returns the bytes, a power of two, for this many producers and objects of this mean size (0 if unknown).
   */
  bytesFor(producers: number, objectBytes: number): number {
    const needed = (this.#rounds * producers + OUT_OF_TURN) * objectBytes;
    return this.#boost * 2 ** Math.ceil(Math.log2(Math.max(LEAST_BYTES, needed)));
  }

  /**
   * Judges the whole time that this tuning was in force. If room was the limit, doubles `bytesFor` and
   * returns the reason.
   */
  judge(totals: Totals, tuning: Tuning, limits: TuningLimits): string | undefined {
    const idle = idleShare(totals, tuning);
    if (totals.starvedShare < OFTEN || idle < OFTEN || !this.grow(tuning, limits)) return undefined;
    return (
      `consumers starve ${percent(totals.starvedShare)} of the time and producers have no room ` +
      `${percent(idle)} of theirs, trying more than ${formatBytes(tuning.memoryBytes)}`
    );
  }

  /** Whether room is so clearly the limit that no longer measurement is needed. */
  isObvious(totals: Totals, tuning: Tuning): boolean {
    return (
      totals.elapsedMs >= OBVIOUS.ms &&
      totals.starvedShare >= OBVIOUS.starved &&
      idleShare(totals, tuning) >= OBVIOUS.idle
    );
  }

  /** Doubles `bytesFor`, unless memory is at its limit or fixed. */
  grow(tuning: Tuning, limits: TuningLimits): boolean {
    if (limits.fixed.memoryBytes !== undefined || tuning.memoryBytes >= limits.memoryBytes) return false;
    this.#boost *= 2;
    return true;
  }

  /** Forgets what another workload has shown. */
  reset(): void {
    this.#boost = 1;
    this.#rounds = ROUNDS;
  }
}

/**
 * The part of their time in which producers are idle for lack of room. If only one of many waits, little is
 * lost.
 */
function idleShare(totals: Totals, tuning: Tuning): number {
  return Math.min(totals.fullShare, 1 - totals.busy / tuning.producers);
}
