import { parseBytes, systemClock, type ByteSize, type Clock } from '@tiered/core';
import { assertCounts, configError, definedOf, invariant, SafeEmitter } from '@tiered/core/internal';
import { adaptiveAutotuner } from '../autotuner/adaptive.js';
import type { Autotuner, Tuning, TuningEvent } from '../autotuner/autotuner.js';
import type { Profile } from '../observe/profile.js';
import { Producers, type OpenedQueue, type OpenParts } from './producers.js';
import { assertReservable } from './queue-memory.js';

/** Options of `StagingBuffer`. */
export interface StagingBufferOptions {
  /**
   * Budget in bytes for samples that are being read, waiting, or held by consumers. Tuning stays within it.
   * The memory is only address space until it is used. A sample larger than its queue's share is read alone.
   * Consumers that hold all of the memory still get the next sample, in memory beyond the budget, which is
   * kept for the next sample that needs it. So a process with larger objects takes `memory` plus the largest
   * of them. A prefetcher made while others hold all of the memory reads ahead as they release it.
   * Default: 256 MiB.
   */
  readonly memory?: ByteSize | undefined;
  /** A fixed number of producers. Default: the autotuner chooses. */
  readonly producers?: number | undefined;
  /**
   * Most reads in flight at the same time: the request budget of the source. There are never more producers
   * than this. Producers may read small objects in batches from storage as fast as memory, but all of their
   * reads together stay within the budget. If the first reads of small objects wait for the source, it
   * briefly gets all of these requests at once. So set a number that it can bear on top of its other load.
   * Default: `producers`, or 64 if those are tuned.
   */
  readonly concurrency?: number | undefined;
  /** Other settings that are not tuned. Default: none. */
  readonly fixed?: FixedTuning | undefined;
  /**
   * Chooses the settings that are not fixed; `false` tunes nothing. Default: `adaptiveAutotuner()`. If
   * `producers` is given, it tunes only memory.
   */
  readonly autotuner?: Autotuner | false | undefined;
  /**
   * Called with a line for each decision of the autotuner and for each read, as in the debug mode of PRISMA's
   * thesis. Default: none.
   */
  readonly debug?: ((line: string) => void) | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** Settings that are not tuned. */
export interface FixedTuning {
  /** Memory in use, at most the `memory` of the buffer. */
  readonly memory?: ByteSize | undefined;
  /** PRISMA's N: samples that may be ready for consumers. */
  readonly samples?: number | undefined;
}

/** Events of a staging buffer. */
export interface StagingBufferEvents {
  /** The autotuner has made a decision, even if only to change nothing. */
  tuned: (event: TuningEvent) => void;
  /** All prefetchers have ended, so nothing reads into the buffer. Another one may follow. */
  rested: () => void;
}

/**
 * Memory and producers that prefetchers share, for example training and validation under one budget. This is
 * PRISMA's in-memory buffer and thread pool (Cluster'21, section III), in bytes.
 *
 * Each prefetcher has a queue with its share of the memory, by priority. A producer serves the queue whose
 * consumer waits, otherwise the queue that holds the least of its share. The autotuner says when it wants the
 * next observation, and gets it with the next read or consumer call. There is no timer, and nothing runs
 * while nothing is read.
 */
export class StagingBuffer extends SafeEmitter<StagingBufferEvents> {
  /** The memory budget in bytes. */
  readonly memoryBytes: number;
  readonly #producers: Producers;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for invalid options. */
  constructor(options: StagingBufferOptions = {}) {
    super();
    const {
      memory = '256MiB',
      producers,
      concurrency = producers ?? 64,
      fixed = {},
      autotuner,
      debug,
      clock = systemClock,
    } = options;
    assertCounts({ producers: producers ?? 1, concurrency });
    this.memoryBytes = parseBytes(memory, 'memory');
    assertReservable(this.memoryBytes, 'memory');
    this.#producers = new Producers({
      memoryBytes: this.memoryBytes,
      concurrency: Math.max(concurrency, producers ?? 1),
      fixed: definedOf({ ...fixedOf(fixed, this.memoryBytes), producers }),
      autotuner: autotuner === false ? undefined : (autotuner ?? adaptiveAutotuner()),
      debug,
      clock,
      onTuned: (event) => this.emit('tuned', event),
      onRest: () => this.emit('rested'),
    });
    PRODUCERS.set(this, this.#producers);
  }

  /**
   * Bounds what the buffer uses from now on, within its budgets. For callers that divide memory and requests
   * between jobs. Samples already held stay until consumers are done with them. A call replaces the previous
   * bounds.
   * @param bounds `memory` in bytes and `concurrency` in requests at a time, at least 1. Default: the budgets
   * of the buffer.
   * @throws TieredError `TIERED_CONFIG_INVALID` for other numbers.
   */
  bound({ memory, concurrency }: { memory?: number | undefined; concurrency?: number | undefined }): void {
    assertCounts({ memory: memory ?? 1, concurrency: concurrency ?? 1 });
    this.#producers.bound({ memoryBytes: memory ?? Infinity, producers: concurrency ?? Infinity });
  }

  /** The current settings. */
  get tuning(): Tuning {
    return this.#producers.tuning;
  }

  /**
   * Returns the measurements since the buffer was made, and a verdict on what limits this loader. Cheap
   * enough to call every second.
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
  return definedOf({ memoryBytes, samples });
}

/** For prefetchers only; not a member, so that users of a buffer do not see it. */
const PRODUCERS = new WeakMap<StagingBuffer, Producers>();

/** Opens a queue of a buffer. */
export function openQueue(buffer: StagingBuffer, parts: OpenParts): OpenedQueue {
  const producers = PRODUCERS.get(buffer);
  invariant(producers !== undefined, 'a staging buffer has no producers');
  return producers.open(parts);
}
