import { systemClock, type Clock, type OperationOptions } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import { assertIndex } from '../sequence/access-sequence.js';
import type { Sampler } from './sampler.js';

/** How often each sample is read. The type is the smallest of these that holds the largest count. */
export type FrequencyTable = Uint8Array | Uint16Array | Uint32Array;

/** In a table of first accesses: the worker never reads the sample. */
export const NEVER_READ = 2 ** 32 - 1;

/** The reads of a worker in all epochs, by sample. */
export interface AccessTable {
  readonly worker: number;
  /** How often it reads the sample. */
  readonly frequency: FrequencyTable;
  /** The worker's first access to the sample, counted from 0 over all epochs, or `NEVER_READ`. */
  readonly first: Uint32Array;
}

/** Options of the functions that walk through all epochs. */
export interface AccessTableOptions extends OperationOptions {
  /** Called after every epoch. */
  readonly onProgress?: ((done: number, epochs: number) => void) | undefined;
  /** Lets the event loop turn. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Counts how often a worker reads each sample in all epochs. As `frequencyTables` for one worker.
 * @throws As `frequencyTables`.
 */
export async function frequencyTable(
  sampler: Sampler,
  worker: number,
  options: AccessTableOptions = {},
): Promise<FrequencyTable> {
  const counter = new FrequencyCounter(sampler);
  await eachEpoch(sampler, [worker], options, (_, samples) => counter.add(samples));
  return counter.table;
}

/**
 * Counts how often workers read each sample in all epochs. Returns one table for each of `workers`, in their
 * order.
 *
 * Draws every epoch once, which takes most of the time, so request all needed workers at once. A table takes
 * one byte per sample as long as no count in it is above 255. The event loop turns after every epoch; an
 * epoch of 14.2 million samples blocks it for half a second.
 * @throws TieredError `TIERED_CONFIG_INVALID` for a worker that does not exist.
 * @throws The signal's reason, as soon as the epoch that is being counted is done.
 */
export async function frequencyTables(
  sampler: Sampler,
  workers: readonly number[],
  options: AccessTableOptions = {},
): Promise<readonly FrequencyTable[]> {
  const counters = workers.map(() => new FrequencyCounter(sampler));
  await eachEpoch(sampler, workers, options, (i, samples) => counters[i]?.add(samples));
  return counters.map(({ table }) => table);
}

/**
 * Finds a worker's first access to each sample, counted from 0 over all epochs, or `NEVER_READ`. Takes four
 * bytes per sample, and as much time as `frequencyTables`.
 * @throws As `frequencyTables`; also `TIERED_CONFIG_INVALID` if a worker has 2^32 - 1 accesses or more.
 */
export async function firstAccesses(
  sampler: Sampler,
  worker: number,
  options: AccessTableOptions = {},
): Promise<Uint32Array> {
  const finder = new FirstFinder(sampler, worker);
  await eachEpoch(sampler, [worker], options, (_, samples) => finder.add(samples));
  return finder.table;
}

/**
 * Finds the frequencies and first accesses of workers in one pass, as a placement by frequency needs them.
 * Takes five bytes per sample and worker.
 * @throws As `frequencyTables` and `firstAccesses`.
 */
export async function accessTables(
  sampler: Sampler,
  workers: readonly number[],
  options: AccessTableOptions = {},
): Promise<readonly AccessTable[]> {
  const tables = workers.map((worker) => ({
    worker,
    counter: new FrequencyCounter(sampler),
    finder: new FirstFinder(sampler, worker),
  }));
  await eachEpoch(sampler, workers, options, (i, samples) => {
    tables[i]?.counter.add(samples);
    tables[i]?.finder.add(samples);
  });
  return tables.map(({ worker, counter, finder }) => ({
    worker,
    frequency: counter.table,
    first: finder.table,
  }));
}

/** Calls `visit` with the reads of each worker, epoch by epoch. */
async function eachEpoch(
  sampler: Sampler,
  workers: readonly number[],
  { signal, onProgress, clock = systemClock }: AccessTableOptions,
  visit: (index: number, samples: Uint32Array) => void,
): Promise<void> {
  for (const worker of workers) assertIndex('worker', worker, sampler.workers);
  for (let epoch = 0; epoch < sampler.epochs; epoch++) {
    signal?.throwIfAborted();
    for (const [index, worker] of workers.entries()) visit(index, sampler.epoch(worker, epoch));
    onProgress?.(epoch + 1, sampler.epochs);
    await clock.turn();
  }
}

class FrequencyCounter {
  table: FrequencyTable;
  #most = 2 ** 8 - 1;

  constructor({ samples }: Sampler) {
    this.table = new Uint8Array(samples);
  }

  add(samples: Uint32Array): void {
    let { table } = this;
    for (const sample of samples) {
      const count = (table[sample] ?? 0) + 1;
      if (count > this.#most) table = this.#widen();
      table[sample] = count;
    }
  }

  #widen(): FrequencyTable {
    const isBytes = this.table instanceof Uint8Array;
    this.#most = isBytes ? 2 ** 16 - 1 : 2 ** 32 - 1;
    this.table = isBytes ? new Uint16Array(this.table) : new Uint32Array(this.table);
    return this.table;
  }
}

class FirstFinder {
  readonly table: Uint32Array;
  #access = 0;

  constructor(sampler: Sampler, worker: number) {
    const accesses = sampler.epochs * sampler.epochLength(worker);
    if (accesses >= NEVER_READ)
      throw configError('sampler', `fewer than ${NEVER_READ} accesses of a worker`, accesses);
    this.table = new Uint32Array(sampler.samples).fill(NEVER_READ);
  }

  add(samples: Uint32Array): void {
    const { table } = this;
    let access = this.#access;
    for (const sample of samples) {
      if (table[sample] === NEVER_READ) table[sample] = access;
      access += 1;
    }
    this.#access = access;
  }
}
