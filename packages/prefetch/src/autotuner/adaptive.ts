/**
 * The autotuner that a prefetcher uses unless it is given another.
 *
 * The problem. A read takes 50 us or 50 ms, alone or among others. The right number at a time is not known in
 * advance, and too many harm others that share the source. The best number changes during a run: the second
 * epoch comes from a tier, another dataset has objects of other sizes, the model is trained on a busier
 * machine. Measuring takes time, most of all at the beginning, when nothing is known.
 *
 * The moving parts:
 * - `Totals` sums observations up to windows that are long enough for a few rounds of reads. It says what the
 *   limit was in a window. If consumers starve, it is the source, or there are too few producers. If they do
 *   not, it is the consumer.
 * - `Curve` holds the throughput of each number of producers that was tried, and says which to try next. It
 *   ends at the fewest producers that are within a few percent of the best.
 * - `Opening` decides first, for small objects. If the first reads wait for the source, it sets all producers
 *   to work at once to see how many are useful. Climbing there would take longer.
 * - `MemoryNeed` gives each number of producers room for two rounds of reads, or for eight if reads wait for
 *   the source. It doubles the room as long as producers are idle while consumers starve.
 * - `AdaptiveTuner`, below, drives them. While it *searches*, every window moves the search on. Once it has
 *   *settled*, windows are long, and are only compared with what was found. It searches again when the
 *   workload has changed, in long strides. It also checks from time to time, in short strides, because
 *   hurried measurements can be wrong.
 *
 * The invariants:
 * - No setting goes above its limit, and fixed settings stay as given, whatever is observed.
 * - Settings change only after reads have ended, with two exceptions. A standstill, in which consumers starve
 *   and there is no room, is ended. And producers beyond the useful number are removed.
 * - The first window after a change does not count, because its reads began before the change.
 * - Producers are added only while consumers starve, and are removed as soon as fewer will do. Only the
 *   opening may briefly have too many, if reads wait for the source.
 * - Searches that find nothing new become rarer. So the number of changes grows with the logarithm of time.
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
 * Initial producers. For small objects: twice the number that PRISMA ends at, because coming down costs no
 * throughput. For large objects: one that reads, and one whose read begins. Fewer large objects fill a link,
 * and a search has fewer reads to learn from.
 */
const FIRST_PRODUCERS = 8;
const FIRST_PRODUCERS_OF_LARGE = 2;
const LARGE_BYTES = 512 * 1024;

/** The longest wait for an observation, so that a change of the workload is not seen too late. */
const LONGEST_MS = 2000;

/** Memory is judged each time after this many windows. One window shows too little of who waits. */
const WINDOWS_TO_JUDGE = 2;

/** A change shows in the reads that began after it, so wait until more than one round of them has ended. */
const WARM_UP_ROUNDS = 1.5;

/** Options of `adaptiveAutotuner`. */
export interface AdaptiveAutotunerOptions {
  /**
   * Initial producers, if something is known of the source, such as `initialProducersOf` a calibration of
   * `@tiered/simulator`. A starting point, not a bound. Default: 8 for small objects, and 2 for objects of
   * 512 KiB or more, or of unknown size. If the 8 wait for the source, all allowed producers are tried next,
   * to see how many are useful.
   */
  readonly initialProducers?: number | undefined;
}

/**
 * Finds the fewest producers that give the most throughput, and memory for them, and keeps watching until the
 * run ends. On a source whose reads take 5 ms, the search takes a second or two, and nearly all of the
 * throughput is reached after the first tenth of a second. Memory is tuned in bytes: `samples` is unbounded
 * unless it is fixed. The producers that it settles on give at least 95 % of the best throughput, unless the
 * source is too unsteady to tell.
 *
 * Cost: a few additions per decision. It makes up to one decision per millisecond while the first reads end,
 * then about fifty per second while it searches, and four once it has settled.
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
  /** Undefined once the opening is over. */
  #opening: Opening | undefined;
  /** Most producers, given the limits and how many are useful. */
  #most: number;
  #settled = false;
  #tuning: Tuning;
  #window = new Totals();
  /** Everything since the first window after the last change, including the time in which nothing moved. */
  #all = new Totals();
  #windows = 0;
  /** The time in which nothing was read or taken, up to now. */
  #still = new Totals();
  /** Everything that was read under this workload. */
  #workload = new Totals();
  /** Milliseconds that the window after a change has to last. Undefined in windows that count. */
  #warmUpMs: number | undefined = WINDOW_MS;

  constructor(limits: TuningLimits, initialProducers: number | undefined) {
    this.#limits = limits;
    this.#most = limits.producers;
    const isSmall = (limits.objectBytes ?? LARGE_BYTES) < LARGE_BYTES;
    this.#tuning = this.#allowed(initialProducers ?? (isSmall ? FIRST_PRODUCERS : FIRST_PRODUCERS_OF_LARGE));
    // There is no opening if the user gave a number, and so knows something about the source. Nor is there
    // one for large objects: a few of them fill memory, and keep a link busy for seconds.
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

  /** Returns undefined when the opening is over and the search is to go on with these producers. */
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
    // These producers have read for long enough, so they need no warm-up.
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

  /** Begins a new search. */
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
