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
   * Bytes of samples that are being read, wait, or are held by consumers. Tuning stays within this budget. It
   * is address space only until it is used. A sample larger than its queue's share is read when it is alone.
   * Consumers that hold all of the memory still get the next sample, in memory beyond the budget, which is
   * kept for the next that needs it. So a process with larger objects takes `memory` and the largest of them.
   * A prefetcher made while others hold all of it reads ahead as they give memory back.
   * Default: 256 MiB.
   */
  readonly memory?: ByteSize | undefined;
  /** A fixed number of producers. Default: the autotuner chooses. */
  readonly producers?: number | undefined;
  /**
   * The most reads under way at the same time: the budget of requests to the source. There are never more
   * producers than this. Producers read small objects in batches, from storage as fast as memory, only as far
   * as all of their reads together stay within it. A source whose first reads of small objects wait gets all
   * of these requests at once, for a moment; so set what it can bear, also beside its other load. Default:
   * `producers`; if those are tuned, 64.
   */
  readonly concurrency?: number | undefined;
  /** Other settings that are not tuned. Default: none. */
  readonly fixed?: FixedTuning | undefined;
  /**
   * Chooses the settings that are not fixed; `false` tunes nothing. Default: `adaptiveAutotuner()`, which
   * tunes memory only if `producers` is given.
   */
  readonly autotuner?: Autotuner | false | undefined;
  /**
   * Called with a line for each decision of the autotuner and for each read, as in the debug mode of PRISMA's
   * thesis. Default: none.
   */
  readonly debug?: ((line: string) => void) | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** Settings that are not tuned. */
export interface FixedTuning {
  /** Memory in use, at most the `memory` of the buffer. */
  readonly memory?: ByteSize | undefined;
  /** PRISMA's N: samples that may be there for consumers. */
  readonly samples?: number | undefined;
}

/** Events of a staging buffer. */
export interface StagingBufferEvents {
  /** The autotuner has made a decision, even if only to change nothing. */
  tuned: (event: TuningEvent) => void;
  /** Nothing reads into it any more: all prefetchers have ended. A next one may come. */
  rested: () => void;
}

/**
 * Memory and producers that prefetchers share, for example training and validation under one budget. This is
 * PRISMA's in-memory buffer and thread pool (Cluster'21, section III), in bytes.
 *
 * Each prefetcher has a queue with its share of the memory, by priority. A producer serves the queue whose
 * consumer waits, otherwise the queue that has the least of its share. The autotuner says when it wants to be
 * shown what happened; it is shown on the next read or call of a consumer. There is no timer, and nothing
 * runs while nothing is read.
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
   * Bounds what the buffer uses from now on, within its budgets: for those who share out memory and requests
   * between jobs. What is held already stays until consumers have had it. A call replaces the last one.
   * @param bounds `memory` in bytes and `concurrency` in requests at a time, at least 1. Default: the budgets
   * of the buffer.
   * @throws TieredError `TIERED_CONFIG_INVALID` for other numbers.
   */
  bound({ memory, concurrency }: { memory?: number | undefined; concurrency?: number | undefined }): void {
    assertCounts({ memory: memory ?? 1, concurrency: concurrency ?? 1 });
    this.#producers.bound({ memoryBytes: memory ?? Infinity, producers: concurrency ?? Infinity });
  }

  /** The settings now in force. */
  get tuning(): Tuning {
    return this.#producers.tuning;
  }

  /**
   * Returns what was measured since the buffer was made, and a verdict on what limits this loader. Cheap
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
