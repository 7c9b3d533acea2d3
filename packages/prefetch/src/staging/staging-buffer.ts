import { parseBytes, systemClock, type ByteSize, type Clock, type TieredError } from '@tiered/core';
import { assertCounts, configError, SafeEmitter } from '@tiered/core/internal';
import { assertReservable } from './arena.js';
import { adaptiveAutotuner } from '../autotuner/adaptive.js';
import type {
  Autotuner,
  Tuning,
  TuningDecision,
  TuningEvent,
  TuningObservation,
} from '../autotuner/autotuner.js';
import type { BatchSize } from './batch-size.js';
import { Epochs, type EpochProfile } from '../observe/epochs.js';
import type { BatchLimits, LineParts, Taken } from './line-parts.js';
import { LineMemory, SharedMemory } from './line-memory.js';
import { Line } from './line.js';
import { Meter } from '../observe/meter.js';
import { openedOf, type Opened } from './opened.js';
import { slower, type Source } from '../observe/places.js';
import type { Settings } from '../observe/figures.js';
import { profileOf, type Profile } from '../observe/profile.js';

/** Options of `StagingBuffer`. */
export interface StagingBufferOptions {
  /**
   * Bytes of samples that are read, wait, or are in consumers' hands; the budget that tuning keeps to. Address space until
   * it is used. A sample larger than its share is read when it is alone, and consumers that hold all of it still get
   * the next sample, in memory beyond it. A prefetcher made while others hold all of it reads ahead as they give it back.
   * Default: 256 MiB.
   */
  readonly memory?: ByteSize | undefined;
  /** Producers, fixed. Default: the autotuner chooses. */
  readonly producers?: number | undefined;
  /**
   * Reads under way at the same time at most: the budget of requests to the source. Producers are never more, and read
   * small objects in batches, from storage as fast as memory, only as far as all of them together keep to it. A source whose first
   * reads of small objects wait is asked for all of them at once, for a moment: give what it can bear, also beside others.
   * Default: `producers`; if those are tuned, 64.
   */
  readonly maxProducers?: number | undefined;
  /** What else is not to be tuned: bytes of memory in use, `memory` at most, or PRISMA's number of samples. Default: nothing. */
  readonly fixed?: Partial<Omit<Tuning, 'producers'>> | undefined;
  /** Default: `adaptiveAutotuner()`; with `producers` given it tunes memory only. `undefined` is the default, `false` tunes nothing. */
  readonly autotuner?: Autotuner | false | undefined;
  /** Gets a line for each decision of the autotuner and for each read, as the debug mode of PRISMA's thesis. Default: none. */
  readonly debug?: ((line: string) => void) | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** What a staging buffer tells. */
export interface StagingBufferEvents {
  /** The autotuner has decided something, if only to leave everything as it is. */
  tuned: (event: TuningEvent) => void;
}

/** Decisions that are kept for the profile. */
const DECISIONS_KEPT = 256;

/** Reads at a time where nothing is tuned and nothing was given: what PRISMA's autotuner ends at (Cluster'21, section V). */
const UNTUNED_PRODUCERS = 4;

/** What a line needs that its buffer does not know. */
type OpenParts = Omit<LineParts, 'host' | 'memory'> & { readonly source: Source };

/** Opens a line of a buffer: for prefetchers only. */
export let openLine: (buffer: StagingBuffer, parts: OpenParts) => Line;

/** What was measured of each epoch of a line, also after it has ended. */
export let epochsOf: (buffer: StagingBuffer, line: Line) => readonly EpochProfile[];

/** Closes it, with this error for all who come: resolves when it reads nothing and holds nothing. */
export let closeLine: (buffer: StagingBuffer, line: Line, error: TieredError) => Promise<void>;

/**
 * Memory and producers that prefetchers share: train and validation under one budget, say. PRISMA's in-memory buffer and
 * thread pool (Cluster'21, section III), in bytes.
 *
 * Each prefetcher has a line with its share of the memory, by priority; a producer serves the line whose consumer waits,
 * else the one that has the least of its share. The autotuner is shown what happened when it wants to be, on the
 * occasion of a read or of a consumer: there is no timer, and nothing runs while nothing is read.
 */
export class StagingBuffer extends SafeEmitter<StagingBufferEvents> {
  /** Bytes, the budget. */
  readonly memoryBytes: number;
  readonly #clock: Clock;
  readonly #maxProducers: number;
  readonly #fixed: Partial<Tuning>;
  readonly #autotuner: Autotuner | undefined;
  readonly #debug: ((line: string) => void) | undefined;
  readonly #meter: Meter;
  readonly #lines = new Map<Line, Opened>();
  readonly #epochs = new WeakMap<Line, Epochs>();
  readonly #decisions: TuningEvent[] = [];
  readonly #memory: SharedMemory;
  #tuning: Tuning;
  #lookAt = Infinity;
  /** Of all sources that it has read from, the one that makes most reads at a time. */
  #readsAtOnce = 0;
  /** Reads under way: those of a batch each count. */
  #requests = 0;
  #hasBegun = false;
  #isWaking = false;
  #isToWake = false;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for options that cannot work. */
  constructor(options: StagingBufferOptions = {}) {
    super();
    const {
      memory = '256MiB',
      producers,
      maxProducers = producers ?? 64,
      fixed = {},
      autotuner,
      debug,
      clock = systemClock,
    } = options;
    const { memoryBytes = 1, samples = 1 } = fixed;
    assertCounts({
      producers: producers ?? 1,
      maxProducers,
      'fixed.memoryBytes': memoryBytes,
      'fixed.samples': samples,
    });
    this.memoryBytes = parseBytes(memory, 'memory');
    assertReservable(this.memoryBytes);
    if (memoryBytes > this.memoryBytes && fixed.memoryBytes !== undefined)
      throw configError('fixed.memoryBytes', `at most memory (${this.memoryBytes} bytes)`, memoryBytes);
    this.#memory = new SharedMemory(this.memoryBytes);
    this.#maxProducers = Math.max(maxProducers, producers ?? 1);
    this.#fixed = producers === undefined ? fixed : { ...fixed, producers };
    this.#autotuner = autotuner === false ? undefined : (autotuner ?? adaptiveAutotuner());
    this.#debug = debug;
    this.#clock = clock;
    this.#meter = new Meter(clock);
    this.#tuning = {
      producers: producers ?? UNTUNED_PRODUCERS,
      memoryBytes: this.memoryBytes,
      samples: Infinity,
      ...fixed,
    };
  }

  /** What is in force now. */
  get tuning(): Tuning {
    return this.#tuning;
  }

  /** What was measured since the buffer was made, and what it says about the limit of this loader. Cheap enough for every second. */
  profile(): Profile {
    return profileOf(this.#meter, this.#settings, [...this.#decisions]);
  }

  get #settings(): Settings {
    const limits = { producers: this.#maxProducers, memoryBytes: this.memoryBytes };
    return { tuning: this.#tuning, limits: { ...limits, readsAtOnce: this.#readsAtOnce || Infinity } };
  }

  static {
    openLine = (buffer, parts) => buffer.#open(parts);
    closeLine = (buffer, line, error) => buffer.#close(line, error);
    epochsOf = (buffer, line) => buffer.#epochs.get(line)?.profiles(buffer.#settings, buffer.#meter) ?? [];
  }

  #open(parts: OpenParts): Line {
    const epochs = new Epochs(this.#clock, parts.source);
    const opened = openedOf(parts.source, epochs);
    this.#readsAtOnce = Math.max(this.#readsAtOnce, parts.source.readsAtOnce ?? Infinity);
    const line: Line = new Line({
      ...parts,
      onEnd: () => {
        parts.onEnd();
        opened.isOver = true;
        epochs.end(this.#settings, this.#meter);
        this.#leaveIfOver(line, opened);
      },
      memory: new LineMemory(this.memoryBytes, this.#memory),
      host: {
        clock: this.#clock,
        wake: () => {
          this.#leaveIfOver(line, opened);
          this.#wake();
        },
        released: () => {
          if (this.#isFull()) this.#wake();
        },
        starving: (change) => [this.#meter, epochs.meter].forEach((meter) => meter.starving(change)),
        refused: () => [this.#meter, epochs.meter].forEach((meter) => meter.refused()),
        moved: (taken) => this.#moved(line, epochs, taken),
      },
    });
    this.#lines.set(line, opened);
    this.#epochs.set(line, epochs);
    this.#share();
    // Not at once: whoever made the prefetcher may want to resume it first.
    queueMicrotask(() => this.#wake());
    return line;
  }

  async #close(line: Line, error: TieredError): Promise<void> {
    await line.close(error);
    this.#leave(line);
  }

  #leaveIfOver(line: Line, { isOver }: Opened): void {
    // What it still reads holds memory of its share.
    if (isOver && line.reading === 0) this.#leave(line);
  }

  #leave(line: Line): void {
    if (!this.#lines.delete(line)) return;
    this.#share();
    this.#wake();
  }

  /** Gives every line its part of memory and samples. */
  #share(): void {
    const weights = [...this.#lines.keys()].reduce((sum, { weight }) => sum + weight, 0);
    const { producers, samples, memoryBytes } = this.#tuning;
    this.#memory.limit = memoryBytes;
    for (const line of this.#lines.keys()) {
      const share = line.weight / weights;
      line.memory.limit = Math.floor(memoryBytes * share);
      line.room.mostSamples = Math.max(1, Math.floor(samples * share));
      // Where bytes alone decide, what is read is bounded by the producers that there are.
      line.room.producers = Number.isFinite(samples) ? Math.max(1, Math.floor(producers * share)) : Infinity;
    }
  }

  /** Lets producers read as much as there is to read and room for. */
  #wake(): void {
    if (this.#isWaking) {
      this.#isToWake = true;
      return;
    }
    this.#isWaking = true;
    do {
      this.#isToWake = false;
      // Also where no producer is free: it takes none.
      for (const line of this.#lines.keys()) line.tellEnd();
      while (this.#isProducerFree && this.#startOne());
    } while (this.#isToWake);
    this.#isWaking = false;
    const full = this.#isProducerFree && this.#isFull();
    this.#meter.full = full;
    for (const { epochs } of this.#lines.values()) epochs.meter.full = full;
  }

  get #isProducerFree(): boolean {
    return this.#meter.busy < this.#producers && this.#requests < this.#maxProducers;
  }

  /** Producers that may be at work now. */
  get #producers(): number {
    return this.#trying === undefined ? Math.min(this.#tuning.producers, this.#usableProducers) : 1;
  }

  /** The line that is to try a batch alone. One that admits nothing would keep the others waiting for as long. */
  get #trying(): Line | undefined {
    for (const [line, { size, isPassedOver }] of this.#lines)
      if (!isPassedOver && size.isAlone(line)) return line;
    return undefined;
  }

  /** Fewer than the budget of requests where producers read batches. */
  get #usableProducers(): number {
    let usable = 1;
    for (const [line, { size }] of this.#lines)
      usable = Math.max(usable, size.usable(line, this.#maxProducers));
    return usable;
  }

  #isFull(): boolean {
    for (const line of this.#lines.keys()) if (line.isFull && !line.ended) return true;
    return false;
  }

  #startOne(): boolean {
    for (const [line, opened] of this.#inOrder()) {
      const { size, epochs, placeOf } = opened;
      opened.isPassedOver = true;
      if (line.ended) continue;
      if (!this.#hasBegun) this.#begin(line);
      const batch = line.admit(this.#limitsOf(line, size));
      const [first] = batch;
      if (first === undefined) continue;
      opened.isPassedOver = false;
      const start = this.#clock.now();
      // Only fast storage is read in batches: its ends stand for all of one.
      const last = batch.at(-1) ?? first;
      const place =
        batch.length === 1
          ? placeOf(first.access.key)
          : slower(placeOf(first.access.key), placeOf(last.access.key));
      for (const meter of [this.#meter, epochs.meter]) meter.began(place, batch.length);
      size.began(batch.length);
      const underWay = this.#meter.busy;
      this.#requests += batch.length;
      void line.read(batch).then(() => {
        const ms = this.#clock.now() - start;
        this.#requests -= batch.length;
        const bytes = batch.reduce((sum, entry) => sum + entry.size, 0);
        size.ended(batch.length, ms, underWay, place);
        for (const meter of [this.#meter, epochs.meter]) meter.ended(place, batch.length, bytes, ms);
        this.#debug?.(`read ${batch.length} from ${first.access.key}, ${bytes} bytes in ${ms.toFixed(3)} ms`);
        this.#leaveIfOver(line, opened);
        this.#look();
        this.#wake();
      });
      return true;
    }
    return false;
  }

  #limitsOf(line: Line, size: BatchSize): BatchLimits {
    // One that was passed over comes while others read: it would not try a batch alone.
    if (this.#meter.busy > 0 && size.isAlone(line)) return { samples: 1, bytes: Infinity };
    const free = this.#maxProducers - this.#requests;
    return size.limits(line, this.#tuning.producers, this.#maxProducers, free);
  }

  /** The line that tries a batch, lines whose consumer waits, then those that hold the least of their share. */
  #inOrder(): Iterable<[Line, Opened]> {
    if (this.#lines.size < 2) return this.#lines;
    const trying = this.#trying;
    const share = (line: Line) => line.memory.heldBytes / line.weight;
    return [...this.#lines].sort(
      ([a], [b]) =>
        Number(b === trying) - Number(a === trying) ||
        Number(b.isUrgent) - Number(a.isUrgent) ||
        share(a) - share(b),
    );
  }

  #moved(line: Line, epochs: Epochs, { samples, bytes, epoch }: Taken): void {
    const { samples: most, memoryBytes } = this.#tuning;
    const usage = Number.isFinite(most) ? line.readySamples / most : line.memory.heldBytes / memoryBytes;
    this.#meter.usage(Math.min(100, usage * 100));
    if (samples === 0) return;
    if (epoch !== epochs.epoch) epochs.enter(epoch, this.#settings, this.#meter);
    for (const meter of [this.#meter, epochs.meter]) meter.taken(samples, bytes);
    this.#look();
  }

  /** The first tuning, made when the first object's size is known. */
  #begin(line: Line): void {
    const upcoming = line.upcomingBytes;
    if (upcoming === undefined) return;
    this.#hasBegun = true;
    if (this.#autotuner === undefined) return;
    const limits = {
      producers: this.#maxProducers,
      memoryBytes: this.memoryBytes,
      fixed: this.#fixed,
      objectBytes: upcoming,
    };
    this.#follow(this.#autotuner.begin(limits), undefined);
  }

  /** Shows the autotuner what happened, if it is time. */
  #look(): void {
    if (this.#autotuner === undefined || this.#clock.now() < this.#lookAt) return;
    // What the user gave is not bounded by it, so that it is only told.
    const most = Math.max(1, ...[...this.#lines.values()].map(({ mostProducers }) => mostProducers));
    const observation = this.#meter.observe(this.#tuning, Math.min(most, this.#usableProducers));
    this.#follow(this.#autotuner.decide(observation), observation);
    this.#wake();
  }

  #follow(decision: TuningDecision, observation: TuningObservation | undefined): void {
    const now = this.#clock.now();
    this.#lookAt = decision.nextInMs === undefined ? Infinity : now + decision.nextInMs;
    const { producers, memoryBytes, samples } = { ...decision.tuning, ...this.#fixed };
    this.#tuning = {
      producers: Math.min(this.#maxProducers, Math.max(1, Math.floor(producers))),
      memoryBytes: Math.min(this.memoryBytes, memoryBytes),
      samples,
    };
    this.#share();
    const atMs = this.#meter.totals().ms;
    const event = { atMs, autotuner: this.#autotuner?.name ?? 'none', observation, decision };
    if (this.#decisions.length === DECISIONS_KEPT) this.#decisions.shift();
    this.#decisions.push(event);
    this.#debug?.(`tuned at ${atMs.toFixed(0)} ms: ${decision.reason}`);
    this.emit('tuned', event);
  }
}
