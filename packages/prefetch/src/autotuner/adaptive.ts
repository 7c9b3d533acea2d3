/**
 * The autotuner that a prefetcher has if it is not given another.
 *
 * The problem: a read takes 50 us or 50 ms, alone or behind others; nobody knows how many at a time are worth
 * it, and too many harm others that share the source. What is best changes in mid-run: the second epoch comes
 * from a tier, another dataset has other sizes, the model is trained on a busier machine. And measuring costs
 * time, above all at the beginning, where there is nothing to go by.
 *
 * The moving parts:
 * - `Totals` sums observations up to windows that are long enough to hold a few rounds of reads, and says
 *   what was the limit in one: consumers starve (the source, or too few producers), or they do not (the
 *   consumer).
 * - `Curve` holds the throughput of each number of producers that was tried, and where to look next. It ends
 *   at the fewest producers that are within a few percent of the best.
 * - `Opening` has the first word, for small objects: where the first reads wait for the source, it asks all
 *   producers at once how many there is use for, instead of climbing there.
 * - `MemoryNeed` gives each number of producers room for two rounds of reads, and doubles it as long as
 *   producers stand still while consumers starve.
 * - `AdaptiveTuner`, here, drives them: *searching*, where every window moves the search on, and *settled*,
 *   where windows are long, and only compared with what was found. It searches anew when the workload is
 *   another (in long strides), and from time to time (in short ones), as what was measured in a hurry can be
 *   wrong.
 *
 * The invariants:
 * - Nothing above the limits, and what is fixed stays as given, whatever is observed.
 * - No decision without a read, but for the one that ends a standstill: consumers starve, and there is no
 *   room.
 * - The first window after a change does not count: it is made of reads that began before.
 * - More producers only while consumers starve. Fewer, as soon as fewer do. Too many for a moment, if reads
 *   wait.
 * - Searches that find nothing new become rarer, so that the number of changes grows with the logarithm of
 *   time.
 */
import { invariant } from '@tiered/core/internal';
import type { Autotuner, Tuning, TuningDecision, TuningLimits, TuningObservation } from './autotuner.js';
import { Curve, LONG_STRIDE, type Stride } from './curve.js';
import { assertOptions, withinLimits } from './limits.js';
import { MemoryNeed } from './memory-need.js';
import { LOOK_MS, Opening } from './opening.js';
import { Totals } from './totals.js';
import { Watch } from './watch.js';
import { isLongEnough, missingMs, UNHURRIED_MS, WINDOW_MS, type Purpose } from './window-length.js';

/**
 * Producers to begin with: for small objects twice what PRISMA ends at, since to come down costs no
 * throughput; for large objects, of which a link is full sooner and a search has fewer to learn from, one
 * that reads and one whose read begins.
 */
const FIRST = 8;
const FIRST_OF_LARGE = 2;
const LARGE_BYTES = 512 * 1024;

/** The longest wait for an observation, so that a shift is not seen too late. */
const LONGEST_MS = 2000;

/** Windows until what is known of waiting counts. */
const WINDOWS_TO_JUDGE = 2;

/** A change shows in the reads that began after it: wait for more than one of them to end. */
const WARM_UP_ROUNDS = 1.5;

/** Options of `adaptiveAutotuner`. */
export interface AdaptiveAutotunerOptions {
  /**
   * Producers to begin with, if something is known of the source: `initialProducersOf` a calibration of
   * `@tiered/simulator`. A start, not a bound. Default: 8 for small objects, and, where their first reads
   * wait for the source, at once as many as are allowed, until it is seen how many have use; 2 for objects
   * from 512 KiB.
   */
  readonly initialProducers?: number | undefined;
}

/**
 * Tunes producers and memory to the fewest producers that give the most throughput, within a second or two on
 * a source of 5 ms, which has nearly all of it from its first tenth of a second on, and goes on watching
 * until the run ends. Works in bytes; `samples` is without bound unless it is fixed. What it settles on gives
 * at least 95 % of the best throughput, unless the source is too unsteady to tell.
 *
 * Costs: a few additions a decision, at most fifty decisions a second while it searches and four once it has
 * settled.
 * @throws TieredError `TIERED_CONFIG_INVALID` for less than one producer.
 */
export function adaptiveAutotuner({ initialProducers }: AdaptiveAutotunerOptions = {}): Autotuner {
  if (initialProducers !== undefined) assertOptions({ initialProducers }, 1);
  let tuner: AdaptiveTuner | undefined;
  return {
    name: 'adaptive',
    begin(limits) {
      tuner = new AdaptiveTuner(limits, initialProducers);
      return tuner.begin();
    },
    decide(observation) {
      invariant(tuner !== undefined, 'an autotuner was asked to decide before it began');
      return tuner.decide(observation);
    },
  };
}

class AdaptiveTuner {
  readonly #limits: TuningLimits;
  readonly #memory = new MemoryNeed();
  readonly #watch = new Watch();
  #curve = new Curve();
  #stride: Stride = LONG_STRIDE;
  /** Undefined once it is over. */
  #opening: Opening | undefined;
  /** Producers at most, by the limits and by what there is use for. */
  #most: number;
  #settled = false;
  #tuning: Tuning;
  #window = new Totals();
  /**
   * All time since the last change was made and its first window was over, also that in which nothing moved.
   */
  #all = new Totals();
  #windows = 0;
  /** The time since something was read or taken. */
  #still = new Totals();
  /** All that was read under this workload. */
  #workload = new Totals();
  /** Milliseconds that the window after a change lasts at least; undefined in windows that count. */
  #warmUpMs: number | undefined = WINDOW_MS;

  constructor(limits: TuningLimits, initialProducers: number | undefined) {
    this.#limits = limits;
    this.#most = limits.producers;
    const isSmall = (limits.objectBytes ?? LARGE_BYTES) < LARGE_BYTES;
    this.#tuning = this.#allowed(initialProducers ?? (isSmall ? FIRST : FIRST_OF_LARGE));
    // Who gives a number knows something of the source; and a few large objects fill memory, and a link for
    // seconds.
    if (isSmall && initialProducers === undefined && limits.fixed.producers === undefined)
      this.#opening = new Opening();
  }

  begin(): TuningDecision {
    const { producers, memoryBytes } = this.#limits.fixed;
    const nothingToTune = producers !== undefined && memoryBytes !== undefined;
    return nothingToTune
      ? { tuning: this.#tuning, reason: 'producers and memory are fixed', nextInMs: undefined }
      : this.#keep(`beginning with ${this.#tuning.producers} producers`, 0, this.#opening && LOOK_MS);
  }

  decide(observation: TuningObservation): TuningDecision {
    const seen = Totals.of(observation);
    const moved = seen.samples > 0 || seen.taken > 0;
    this.#all = this.#all.plus(seen);
    if (!moved && !seen.starved)
      return this.#keep('nothing was read and nobody waits', Math.min(2 * seen.elapsedMs, UNHURRIED_MS));
    this.#most = Math.min(this.#limits.producers, observation.usableProducers);
    if (this.#tuning.producers > this.#most && this.#limits.fixed.producers === undefined) {
      this.#memory.reset();
      return this.#restart(
        `there is use for ${this.#most} producers: they read batches, or the source makes no more reads at a time`,
        this.#most,
      );
    }
    this.#still = moved ? new Totals() : this.#still.plus(seen);
    if (this.#isStuck && this.#memory.grow(this.#tuning, this.#limits)) {
      this.#opening = undefined;
      return this.#change(this.#tuning.producers, 'nothing moves: consumers starve and there is no room');
    }
    this.#window = this.#window.plus(seen);
    const opened = this.#opening === undefined ? undefined : this.#open(this.#opening);
    if (opened !== undefined) return opened;
    const isRoomTheLimit = this.#warmUpMs === undefined && this.#memory.isObvious(this.#all, this.#tuning);
    const roomy = isRoomTheLimit ? this.#judgeMemory() : undefined;
    if (roomy !== undefined) return roomy;
    if (!isLongEnough(this.#window, this.#purpose))
      return this.#keep(`${this.#window.samples} reads are too few to tell`);
    const window = this.#window;
    this.#window = new Totals();
    this.#workload = this.#workload.plus(window);
    if (this.#warmUpMs !== undefined) {
      this.#warmUpMs = undefined;
      this.#all = new Totals();
      this.#windows = 0;
      return this.#keep(`measuring ${this.#tuning.producers} producers`);
    }
    this.#windows++;
    const roomier = this.#windows % WINDOWS_TO_JUDGE === 0 ? this.#judgeMemory() : undefined;
    return roomier ?? (this.#settled ? this.#compare(window) : this.#search(window));
  }

  /** Undefined if that is over, and the search is to go on with these producers. */
  #open(opening: Opening): TuningDecision | undefined {
    const { producers } = this.#tuning;
    const move = opening.see(this.#window, producers, this.#most);
    if (move.known !== undefined) this.#curve.at(move.known.producers).add(move.known.totals);
    if (move.nextInMs === undefined) this.#opening = undefined;
    if (move.producers > producers) this.#memory.expectWaiting();
    if (move.producers !== producers) {
      this.#workload = this.#window;
      return this.#change(move.producers, move.reason, move.nextInMs);
    }
    if (move.nextInMs !== undefined) return this.#keep(move.reason, 0, move.nextInMs);
    // Those that it has tried read for long enough.
    if (move.known !== undefined) this.#warmUpMs = 0;
    return undefined;
  }

  #judgeMemory(): TuningDecision | undefined {
    const { producers } = this.#tuning;
    const reason = this.#memory.judge(this.#all, this.#tuning, this.#limits);
    if (reason === undefined) return undefined;
    if (!this.#settled) this.#curve.drop(producers);
    return this.#change(producers, reason);
  }

  #search(window: Totals): TuningDecision {
    const { producers } = this.#tuning;
    const point = this.#curve.at(producers);
    point.add(window);
    const next =
      this.#limits.fixed.producers === undefined
        ? this.#curve.next(producers, this.#most, this.#stride)
        : { producers, settled: point.complete, reason: `producers are fixed at ${producers}` };
    if (next.settled) {
      this.#settled = true;
      this.#watch.settle(this.#curve.at(next.producers));
    }
    return next.producers === producers ? this.#keep(next.reason) : this.#change(next.producers, next.reason);
  }

  #compare(window: Totals): TuningDecision {
    const alarm = this.#watch.see(window);
    if (alarm === undefined) return this.#keep(`${this.#tuning.producers} producers are still right`);
    this.#stride = alarm.stride;
    if (alarm.shifted) {
      this.#workload = window;
      this.#memory.reset();
    }
    return this.#restart(alarm.reason);
  }

  /** Searches anew. */
  #restart(reason: string, producers = this.#tuning.producers): TuningDecision {
    this.#opening = undefined;
    this.#settled = false;
    this.#curve = new Curve();
    return this.#change(producers, reason);
  }

  #change(producers: number, reason: string, inMs?: number): TuningDecision {
    const before = this.#tuning;
    this.#tuning = this.#allowed(producers);
    const more = Math.max(1, this.#tuning.producers / before.producers);
    this.#warmUpMs = WARM_UP_ROUNDS * this.#workload.durationMs * more;
    this.#window = new Totals();
    return this.#keep(reason, 0, inMs);
  }

  #keep(reason: string, leastMs = 0, inMs?: number): TuningDecision {
    const wait = inMs ?? Math.max(leastMs, Math.ceil(missingMs(this.#window, this.#purpose)));
    return { tuning: this.#tuning, reason, nextInMs: Math.min(wait, LONGEST_MS) };
  }

  get #purpose(): Purpose {
    return {
      warmUpMs: this.#warmUpMs,
      settled: this.#settled,
      producers: this.#tuning.producers,
    };
  }

  get #isStuck(): boolean {
    const { elapsedMs, starvedShare, fullShare } = this.#still;
    return elapsedMs >= UNHURRIED_MS && starvedShare > 0.5 && fullShare > 0.5;
  }

  #allowed(producers: number): Tuning {
    const { fixed, objectBytes = 0 } = this.#limits;
    const known = this.#workload.samples > 0 ? this.#workload.objectBytes : objectBytes;
    const memoryBytes = this.#memory.bytesFor(fixed.producers ?? producers, known);
    return withinLimits({ producers, memoryBytes, samples: Infinity }, this.#limits);
  }
}
