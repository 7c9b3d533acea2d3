import { formatBytes } from '@tiered/core';
import type { Tuning, TuningLimits } from './autotuner.js';
import { percent } from './curve.js';
import type { Totals } from './totals.js';

/** Less is not worth saving, and small objects are taken in large batches. */
const LEAST_BYTES = 16 * 2 ** 20;

/** One round of reads under way, one that waits for consumers, and a few for those that come out of turn. */
const ROUNDS = 2;

/**
 * Of a source that waits: samples are taken in order, and a read that takes many times as long as others
 * holds up all behind it. No cache holds what such a source gives until it is taken.
 */
const ROUNDS_OF_WAITING = 8;

const OUT_OF_TURN = 4;

/**
 * Part of the time that producers stand still, and consumers starve, from which room is tried as the remedy.
 */
const OFTEN = 0.03;

/** What leaves no doubt, however short it was. */
const OBVIOUS = { starved: 0.5, idle: 0.1, ms: 40 };

/**
 * How much memory goes with a number of producers: small, for what is read into a cache is still in it when
 * it is taken; large enough that consumers do not starve while producers stand still.
 */
export class MemoryNeed {
  #boost = 1;
  #rounds = ROUNDS;

  /** The source was seen to wait. */
  expectWaiting(): void {
    this.#rounds = ROUNDS_OF_WAITING;
  }

  /** Bytes for so many producers and objects of this mean size, 0 if it is not known. A power of two. */
  bytesFor(producers: number, objectBytes: number): number {
    const needed = (this.#rounds * producers + OUT_OF_TURN) * objectBytes;
    return this.#boost * 2 ** Math.ceil(Math.log2(Math.max(LEAST_BYTES, needed)));
  }

  /** Whether room was the limit, all time with this tuning counted: then doubles `bytesFor`, and says why. */
  judge(totals: Totals, tuning: Tuning, limits: TuningLimits): string | undefined {
    const idle = idleShare(totals, tuning);
    if (totals.starvedShare < OFTEN || idle < OFTEN || !this.grow(tuning, limits)) return undefined;
    return (
      `consumers starve ${percent(totals.starvedShare)} of the time and producers have no room ` +
      `${percent(idle)} of theirs, trying more than ${formatBytes(tuning.memoryBytes)}`
    );
  }

  /** Whether room is so clearly the limit that there is no need to measure for longer. */
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

  /** Forgets what was learnt from another workload. */
  reset(): void {
    this.#boost = 1;
    this.#rounds = ROUNDS;
  }
}

/** The part of their time that producers stand still for lack of room. One of many that waits is no loss. */
function idleShare(totals: Totals, tuning: Tuning): number {
  return Math.min(totals.fullShare, 1 - totals.busy / tuning.producers);
}
