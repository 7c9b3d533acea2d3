import { TieredError, type ListOptions, type ObjectStat } from '@tiered/core';
import { BaseDriver, notFound, versionChanged, type ReadOptions } from '@tiered/core/driver';
import { assertCounts, configError, notOpenError, raceAbort } from '@tiered/core/internal';
import type { RecordPlace, SampleSet } from '@tiered/formats';
import { ReusedMemory } from '@tiered/prefetch/internal';
import { createHash } from 'node:crypto';
import os from 'node:os';
import pLimit from 'p-limit';
import type { ModuleFunction, Transform } from './batches/functions.js';
import type { BatchTask } from './batches/task.js';
import { checkedOptions, type AnyOptions, type CheckedOptions } from './options.js';
import { Parts } from './order/parts.js';
import { makingOf } from './workers/making.js';

/** Options of `DerivedDriver`. */
export interface DerivedDriverOptions<S> {
  /** The samples to derive from. The caller owns their hierarchy. */
  readonly samples: SampleSet<S>;
  /** Identifies the transform and its version. Results of other ones are dropped. */
  readonly transform: {
    readonly name: string;
    readonly version: string;
    /** Makes the bytes of a derived sample. Must always give the same result for the same sample. */
    readonly make: Transform<S, Uint8Array> | ModuleFunction;
  };
  /**
   * Bytes of every derived sample. They must be known in advance, as for decoded and resized images, or
   * padded or cut tokens.
   */
  readonly bytes: number;
  /** Number of worker threads that transform. Default: 0, which transforms in this thread. */
  readonly workers?: number | undefined;
  /** Samples made at the same time, at least 1. Default: the number of the machine's processors. */
  readonly concurrency?: number | undefined;
  /** Node options for worker threads, as in `DataLoaderOptions`. */
  readonly workerExecArgv?: readonly string[] | undefined;
}

/** Objects per page of a listing. */
const PAGE = 1000;

/**
 * A source whose objects are derived from samples by a transform, so results kept on tiers need not be made
 * again. Use this driver as the source of a hierarchy with tiers. Copies are keyed by the version of the
 * sample's object, and by the name and version of the transform. So they are dropped when either changes.
 *
 * It is for deterministic transforms, such as decoding, resizing or tokenising. Random augmentation belongs
 * in the transform of the loader.
 *
 * A key is the name of its sample, with the number padded: `train-00.tfrecord#0007`. A sample that is not on
 * a tier is read and transformed each time it is requested.
 */
export class DerivedDriver<S = unknown> extends BaseDriver {
  readonly #samples: SampleSet<S>;
  readonly #transform: DerivedDriverOptions<S>['transform'];
  readonly #bytes: number;
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #makerOptions: readonly [AnyOptions, CheckedOptions];
  /** The numbers of samples by their keys, made at first use. */
  #numbers: Map<string, number> | undefined;
  #making: ReturnType<typeof makingOf> | undefined;
  /** Memory of records, which workers see directly. */
  readonly #memory = new ReusedMemory();
  /** Records read so far. Each is a block for the makers. */
  #blocks = 0;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for invalid options. */
  constructor({
    samples,
    transform,
    bytes,
    workers = 0,
    concurrency,
    workerExecArgv,
  }: DerivedDriverOptions<S>) {
    for (const field of ['name', 'version'] as const) {
      if (typeof transform[field] !== 'string' || transform[field] === '')
        throw configError(`transform.${field}`, 'a text that is not empty', transform[field]);
    }
    assertCounts({ bytes });
    const atOnce = concurrency ?? os.availableParallelism();
    assertCounts({ concurrency: atOnce });
    const { driver } = samples.hierarchy.stats().source;
    super({ name: `derived:${transform.name}:${driver}`, capabilities: { list: true } });
    this.#samples = samples;
    this.#transform = transform;
    this.#bytes = bytes;
    this.#limit = pLimit(atOnce);
    const { make } = transform;
    const options = { batchSize: 1, workers, transform: make, workerExecArgv };
    this.#makerOptions = [options, checkedOptions(options)];
  }

  protected override openStorage(): Promise<void> {
    this.#making = makingOf(new Parts<unknown>(this.#samples), ...this.#makerOptions);
    return Promise.resolve();
  }

  protected override async closeStorage(): Promise<void> {
    const making = this.#making;
    this.#making = undefined;
    await making?.close();
  }

  protected statObject(key: string): Promise<ObjectStat> {
    const sample = this.#find(key);
    if (sample === undefined) return Promise.reject(notFound(this, 'stat', key));
    return Promise.resolve(this.#describe(key, sample));
  }

  protected override async *listObjects({ prefix = '' }: ListOptions): AsyncGenerator<readonly ObjectStat[]> {
    let page: ObjectStat[] = [];
    for (const [key, sample] of this.#known()) {
      if (key.startsWith(prefix)) page.push(this.#describe(key, sample));
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield await Promise.resolve(page);
  }

  protected async readRange(key: string, options: ReadOptions): Promise<Uint8Array> {
    const { offset, length, version, signal } = options;
    const sample = this.#find(key);
    if (sample === undefined) throw notFound(this, 'read', key);
    if (version !== undefined && version !== this.#describe(key, sample).version)
      throw versionChanged(this, 'read', key);
    const made = await raceAbort(
      this.#limit(() => this.#make(key, sample, signal)),
      signal,
    );
    return made.subarray(offset, offset + length);
  }

  #make(key: string, sample: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const { hierarchy } = this.#samples;
    const place = this.#samples.placeOf(this.#samples.recordOf(sample));
    return this.#memory.lend(place.length, async (record) => {
      const count = await hierarchy.readInto(place.key, record, { offset: place.offset, signal });
      const made = await this.#madeOf(key, sample, place, record.subarray(0, count));
      // A transform may return a view of the record.
      return made.buffer === record.buffer ? new Uint8Array(made) : made;
    });
  }

  async #madeOf(key: string, sample: number, place: RecordPlace, record: Uint8Array): Promise<Uint8Array> {
    const making = this.#making;
    if (making === undefined) throw notOpenError(this.name);
    // A separate block, since one sample may be made twice at the same time, from different memory.
    const block = this.#blocks++;
    const task = this.#taskOf(sample, block, place, record);
    const made = await making.make(task).finally(() => making.drop(block));
    const [damage] = made.damage;
    if (damage !== undefined) throw damage.error;
    const [bytes] = made.data as unknown[];
    if (bytes instanceof Uint8Array && bytes.byteLength === this.#bytes) return bytes;
    const what = bytes instanceof Uint8Array ? `${bytes.byteLength} bytes` : typeof bytes;
    throw new TieredError(
      'TIERED_TRANSFORM_FAILED',
      `The transform ${this.#transform.name} made ${what} of ${key}, not ${this.#bytes} bytes. Fix the transform, or the option "bytes".`,
      { key, driver: this.name },
    );
  }

  #taskOf(
    sample: number,
    block: number,
    { key, offset, object }: RecordPlace,
    record: Uint8Array,
  ): BatchTask {
    const set = this.#samples;
    return {
      epoch: 0,
      seed: 0,
      parts: Uint32Array.of(0),
      samples: Uint32Array.of(sample),
      keys: [key],
      offsets: Float64Array.of(offset),
      records: [record],
      headers: [set.headerOf(object)],
      within: Uint32Array.of(sample - set.firstSampleOf(set.recordOf(sample))),
      blocks: Float64Array.of(block),
    };
  }

  #describe(key: string, sample: number): ObjectStat {
    const { hierarchy, keys } = this.#samples;
    const { name, version } = this.#transform;
    const id = hierarchy.namespace.find(keys[this.#samples.objectOf(this.#samples.recordOf(sample))] ?? '');
    const source = id === -1 ? '' : hierarchy.namespace.versionOf(id);
    const made = createHash('sha256')
      .update(JSON.stringify([source, name, version, this.#bytes]))
      .digest('hex');
    return { key, size: this.#bytes, version: made.slice(0, 32) };
  }

  #find(key: string): number | undefined {
    return this.#known().get(key);
  }

  #known(): ReadonlyMap<string, number> {
    if (this.#numbers !== undefined) return this.#numbers;
    const digits = String(this.#samples.samples).length;
    const numbers = new Map<string, number>();
    for (let sample = 0; sample < this.#samples.samples; sample++) {
      const { key, index, of } = this.#samples.withinObject(sample);
      const name = of === 1 ? key : `${key}#${String(index).padStart(digits, '0')}`;
      if (numbers.has(name)) throw sameName(this.name, name);
      numbers.set(name, sample);
    }
    this.#numbers = numbers;
    return numbers;
  }
}

function sameName(driver: string, key: string): TieredError {
  const message = `Two samples are called ${key}, because an object ends like the number of a sample. Rename the object, or leave it out.`;
  return new TieredError('TIERED_KEY_CONFLICT', message, { driver, key });
}
