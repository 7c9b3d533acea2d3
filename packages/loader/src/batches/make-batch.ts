import { isTieredError, Random, TieredError } from '@tiered/core';
import { raceAbort } from '@tiered/core/internal';
import type { SampleFormat } from '@tiered/formats';
import { closedError } from '../errors.js';
import { stack, stackEach } from './collate.js';
import type { Collate, SampleContext, Transform } from './functions.js';
import type { BatchTask, MadeBatch } from './task.js';

/** The functions that make batches, in one thread. */
export interface BatchFunctions {
  /** By part. */
  readonly formats: readonly SampleFormat<unknown>[];
  readonly transform?: Transform | undefined;
  readonly collate?: Collate | undefined;
}

type Samples = readonly unknown[];

/** Functions that make new arrays, and keep none. A user function may keep its arrays. */
const MAKE_OWN: readonly unknown[] = [stack, stackEach];

/** The place of a sample whose record is damaged. */
const DAMAGED = Symbol('damaged');

/**
 * Decodes, transforms and collates, in one thread. Decoded records with several samples are kept until their
 * block is dropped, because other batches need the other samples.
 */
export class BatchMaker {
  readonly #functions: BatchFunctions;
  /** Decoded records by block, and then by their first byte. */
  readonly #decoded = new Map<number, Map<number, Samples | Promise<Samples>>>();
  readonly #ending = new AbortController();

  constructor(functions: BatchFunctions) {
    this.#functions = functions;
  }

  /** Drops a block that is no longer needed. */
  drop(block: number): void {
    this.#decoded.delete(block);
  }

  /** Fails batches in progress, because a user function may never end. Idempotent. */
  close(): Promise<void> {
    this.#ending.abort(closedError());
    return Promise.resolve();
  }

  /**
   * @throws TieredError `TIERED_TRANSFORM_FAILED` with the error of the transform, or of `collate`;
   * `TIERED_CLOSED`. Damaged records do not throw: the batch lacks them.
   */
  make(task: BatchTask): Promise<MadeBatch> {
    return raceAbort(this.#make(task), this.#ending.signal);
  }

  async #make(task: BatchTask): Promise<MadeBatch> {
    const damage: { index: number; error: unknown }[] = [];
    const made: unknown[] = [];
    let isSettled = true;
    for (let i = 0; i < task.records.length; i++) {
      let one: unknown;
      try {
        one = this.#makeOne(task, i);
      } catch (error) {
        // Not thrown: other samples may be in progress, and their errors must be awaited.
        one = Promise.reject(error);
      }
      if (one instanceof Promise) {
        isSettled = false;
        made.push(one.catch((error: unknown) => damagedOrThrow(error, i, damage)));
      } else made.push(one);
    }
    const all = isSettled ? made : await Promise.all(made);
    return { ...(await this.#collated(task, all, damage.length > 0)), damage };
  }

  async #collated(
    task: BatchTask,
    all: Samples,
    isDamaged: boolean,
  ): Promise<Pick<MadeBatch, 'data' | 'isOwn' | 'kept'>> {
    const kept = isDamaged ? Uint32Array.from(all.keys()).filter((i) => all[i] !== DAMAGED) : undefined;
    const samples = isDamaged ? all.filter((one) => one !== DAMAGED) : all;
    const { collate } = this.#functions;
    if (collate === undefined) return { data: samples, isOwn: false, kept };
    try {
      return { data: await collate(samples), isOwn: MAKE_OWN.includes(collate), kept };
    } catch (cause) {
      const message = `collate failed for a batch of epoch ${task.epoch}: ${textOf(cause)}. Fix the function, or its input.`;
      throw new TieredError('TIERED_TRANSFORM_FAILED', message, { cause });
    }
  }

  #makeOne(task: BatchTask, i: number): unknown {
    const { transform } = this.#functions;
    const sample = this.#sampleOf(task, i);
    if (sample instanceof Promise) {
      return sample.then((one: unknown) => (transform === undefined ? one : this.#transformed(task, i, one)));
    }
    return transform === undefined ? sample : this.#transformed(task, i, sample);
  }

  #sampleOf(task: BatchTask, i: number): unknown {
    const decoded = this.#decodedOf(task, i);
    const within = task.within[i] ?? 0;
    return decoded instanceof Promise ? decoded.then((samples) => samples[within]) : decoded[within];
  }

  #decodedOf(task: BatchTask, i: number): Samples | Promise<Samples> {
    const [part = 0, block = 0, offset = 0] = [task.parts[i], task.blocks[i], task.offsets[i]];
    const known = this.#decoded.get(block)?.get(offset);
    if (known !== undefined) return known;
    const format = this.#functions.formats[part] as SampleFormat<unknown>;
    const { [i]: key = '' } = task.keys;
    const { [i]: bytes = new Uint8Array() } = task.records;
    const decoded = format.decode({ key, offset, bytes, header: task.headers[i] });
    if (decoded instanceof Promise || decoded.length > 1) {
      const records = this.#decoded.get(block) ?? new Map<number, Samples | Promise<Samples>>();
      this.#decoded.set(block, records.set(offset, decoded));
    }
    return decoded;
  }

  #transformed(task: BatchTask, i: number, sample: unknown): unknown {
    try {
      const made = this.#functions.transform?.(sample, new Context(task, i));
      return made instanceof Promise ? made.catch((cause: unknown) => failed(task, i, cause)) : made;
    } catch (cause) {
      return failed(task, i, cause);
    }
  }
}

/** Notes damage. Any other error ends the loader. */
function damagedOrThrow(error: unknown, index: number, damage: { index: number; error: unknown }[]): symbol {
  if (!isTieredError(error, 'TIERED_DATA_CORRUPT')) throw error;
  damage.push({ index, error });
  return DAMAGED;
}

function failed(task: BatchTask, i: number, cause: unknown): never {
  const { [i]: key = '' } = task.keys;
  const sample = task.samples[i] ?? 0;
  const message = `The transform failed for sample ${sample}, in ${key}, of epoch ${task.epoch}: ${textOf(cause)}. Fix the transform, or the sample.`;
  throw new TieredError('TIERED_TRANSFORM_FAILED', message, { cause, key });
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/** The context of a sample. Random numbers cost nothing unless they are drawn. */
class Context implements SampleContext {
  readonly epoch: number;
  readonly key: string;
  readonly part: number;
  readonly sample: number;
  readonly #seed: number;
  #random: Random | undefined;

  constructor({ epoch, seed, keys, parts, samples }: BatchTask, i: number) {
    this.epoch = epoch;
    this.#seed = seed;
    this.key = keys[i] ?? '';
    this.part = parts[i] ?? 0;
    this.sample = samples[i] ?? 0;
  }

  get random(): Random {
    // Streams of 2^32 samples per epoch; parts differ by their seeds.
    this.#random ??= new Random(
      (this.#seed + this.part + 1) % 2 ** 53,
      (this.epoch * 2 ** 32 + this.sample) % 2 ** 53,
    );
    return this.#random;
  }
}
