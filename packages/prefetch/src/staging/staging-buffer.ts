import { parseBytes, systemClock, type ByteSize, type Clock } from '@tiered/core';
import { assertCounts, configError, invariant, SafeEmitter } from '@tiered/core/internal';
import { adaptiveAutotuner } from '../autotuner/adaptive.js';
import type { Autotuner, Tuning, TuningEvent } from '../autotuner/autotuner.js';
import type { Profile } from '../observe/profile.js';
import { assertReservable } from './arena.js';
import { Producers, type OpenedQueue, type OpenParts } from './producers.js';

/** Options of `StagingBuffer`. */
export interface StagingBufferOptions {
  /**
   * Bytes of samples that are read, wait, or are in consumers' hands; the budget that tuning keeps to.
   * Address space until it is used. A sample larger than its share is read when it is alone, and consumers
   * that hold all of it still get the next sample, in memory beyond it. A prefetcher made while others hold
   * all of it reads ahead as they give it back. Default: 256 MiB.
   */
  readonly memory?: ByteSize | undefined;
  /** Producers, fixed. Default: the autotuner chooses. */
  readonly producers?: number | undefined;
  /**
   * Reads under way at the same time at most: the budget of requests to the source. Producers are never more,
   * and read small objects in batches, from storage as fast as memory, only as far as all of them together
   * keep to it. A source whose first reads of small objects wait is asked for all of them at once, for a
   * moment: give what it can bear, also beside others. Default: `producers`; if those are tuned, 64.
   */
  readonly maxProducers?: number | undefined;
  /** What else is not to be tuned. Default: nothing. */
  readonly fixed?: FixedTuning | undefined;
  /**
   * Default: `adaptiveAutotuner()`; with `producers` given it tunes memory only. `undefined` is the default,
   * `false` tunes nothing.
   */
  readonly autotuner?: Autotuner | false | undefined;
  /**
   * Gets a line for each decision of the autotuner and for each read, as the debug mode of PRISMA's thesis.
   * Default: none.
   */
  readonly debug?: ((line: string) => void) | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** What is not to be tuned. */
export interface FixedTuning {
  /** Memory in use, `memory` of the buffer at most. */
  readonly memory?: ByteSize | undefined;
  /** PRISMA's N: samples that may be there for consumers. */
  readonly samples?: number | undefined;
}

/** What a staging buffer tells. */
export interface StagingBufferEvents {
  /** The autotuner has decided something, if only to leave everything as it is. */
  tuned: (event: TuningEvent) => void;
}

/**
 * Memory and producers that prefetchers share: train and validation under one budget, say. PRISMA's in-memory
 * buffer and thread pool (Cluster'21, section III), in bytes.
 *
 * Each prefetcher has a queue with its share of the memory, by priority; a producer serves the queue whose
 * consumer waits, else the one that has the least of its share. The autotuner is shown what happened when it
 * wants to be, on the occasion of a read or of a consumer: there is no timer, and nothing runs while nothing
 * is read.
 */
export class StagingBuffer extends SafeEmitter<StagingBufferEvents> {
  /** Bytes, the budget. */
  readonly memoryBytes: number;
  readonly #producers: Producers;

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
    assertCounts({ producers: producers ?? 1, maxProducers });
    this.memoryBytes = parseBytes(memory, 'memory');
    assertReservable(this.memoryBytes, 'memory');
    this.#producers = new Producers({
      memoryBytes: this.memoryBytes,
      maxProducers: Math.max(maxProducers, producers ?? 1),
      fixed: { ...fixedOf(fixed, this.memoryBytes), ...(producers === undefined ? {} : { producers }) },
      autotuner: autotuner === false ? undefined : (autotuner ?? adaptiveAutotuner()),
      debug,
      clock,
      onTuned: (event) => this.emit('tuned', event),
    });
    PRODUCERS.set(this, this.#producers);
  }

  /** What is in force now. */
  get tuning(): Tuning {
    return this.#producers.tuning;
  }

  /**
   * What was measured since the buffer was made, and what it says about the limit of this loader. Cheap
   * enough for every second.
   */
  profile(): Profile {
    return this.#producers.profile();
  }
}

/** @throws TieredError `TIERED_CONFIG_INVALID` */
function fixedOf({ memory, samples }: FixedTuning, most: number): Partial<Tuning> {
  const memoryBytes = memory === undefined ? undefined : parseBytes(memory, 'fixed.memory');
  assertCounts({ 'fixed.memory': memoryBytes ?? 1, 'fixed.samples': samples ?? 1 });
  if (memoryBytes !== undefined && memoryBytes > most)
    throw configError('fixed.memory', `at most memory (${most} bytes)`, memory);
  return {
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
    ...(samples === undefined ? {} : { samples }),
  };
}

/** For prefetchers only, so that it is not among what users see of a buffer. */
const PRODUCERS = new WeakMap<StagingBuffer, Producers>();

/** Opens a queue of a buffer. */
export function openQueue(buffer: StagingBuffer, parts: OpenParts): OpenedQueue {
  const producers = PRODUCERS.get(buffer);
  invariant(producers !== undefined, 'a staging buffer has no producers');
  return producers.open(parts);
}
