import { Tensor, tensor2d, tidy, type Tensor2D } from '@tensorflow/tfjs-core';
import { Dataset, generator } from '@tensorflow/tfjs-data';
import { TieredError } from '@tiered/core';
import type { Stacked } from '../batches/collate.js';

/** Tensors, in lists and objects, such as `{ xs, ys }` for `fitDataset`. */
export type Tensors = Tensor | Tensors[] | { [name: string]: Tensors };

/** Results of `stack` for numbers that TF.js has a type for: floats, else 32-bit integers. */
type StackedForTf = Stacked<Float32Array | Int32Array | Uint8Array>;

/** A loader that yields batches by epoch: a `DataLoader` or a `ThreadLoader`. */
export interface EpochLoader<B extends AnyBatch> {
  /** Batches of a whole epoch. */
  readonly batchesPerEpoch: number;
  /** Iterates over the remaining batches of the current epoch, which is the epoch of the next batch. */
  epoch(): AsyncGenerator<B, void>;
}

type LazyIterator<D extends Tensors> = Awaited<ReturnType<Dataset<D>['iterator']>>;

/** One epoch of a loader: a TF.js iterator that also works in a `for await` loop. */
export type TfEpoch<D extends Tensors> = LazyIterator<D> & AsyncIterable<D>;

/** A TF.js dataset whose elements are batches of a loader. */
export interface TfDataset<D extends Tensors> extends Dataset<D> {
  /** Iterates over the current epoch of the loader, which is the epoch of the next batch. */
  iterator(): Promise<TfEpoch<D>>;
}

/**
 * Makes a TensorFlow.js dataset from a loader, for `model.fitDataset`, `evaluateDataset`, `forEachAsync` and
 * loops over `await dataset.iterator()`. Its elements are whole batches. Do not call `batch`, `shuffle` or
 * `prefetch` of the dataset: the loader does all three.
 *
 * Each iterator is one epoch of the loader, from the loader's current position. So
 * `fitDataset(dataset, { epochs: n })` runs n epochs. An iterator that is left early leaves the rest of its
 * epoch to the next one. If one iterator has to span several epochs, as for `batchesPerEpoch`, use
 * `dataset.repeat(n)`.
 *
 * Tensors are made when a batch is requested, not ahead. So no tensors are left over when a training stops,
 * and `loader.stateDict()` in `onBatchEnd` is exactly the position of the training. Tensors belong to the
 * caller: `fitDataset`, `evaluateDataset` and `forEachAsync` dispose of them; your own loop has to.
 * Intermediate tensors of `toTensors` are disposed of, also when it throws.
 *
 * `size` is `loader.batchesPerEpoch`. The first epoch of a loader that was resumed has fewer batches. A batch
 * whose samples are all damaged is left out.
 *
 * With a `ThreadLoader`, reads continue while a training step blocks this thread, as steps of the backends
 * `cpu` and `wasm` do.
 *
 * The caller owns the loader, and closes it. `fitDataset` passes on the loader's errors, and the abort of its
 * `signal`, unchanged. An epoch beyond the loader's last one is rejected with `TIERED_CONFIG_INVALID`,
 * instead of an empty epoch.
 * @param loader The loader of the batches. Take no other batches from it while an iterator waits for one.
 * @param toTensors Makes the tensors of a batch synchronously. It delays the training, so leave expensive
 * work to `transform` and `collate`, which workers can do. Make tensors from memory that is not reused, such
 * as the result of `stack`: the backend `cpu` does not copy a `Float32Array`. Its errors become
 * `TIERED_TRANSFORM_FAILED`.
 * @typeParam B A batch.
 * @typeParam D The tensors of a batch. Typed arrays are rejected: TF.js would inspect each of their elements.
 */
export function toTfDataset<B extends AnyBatch, D extends Tensors>(
  loader: EpochLoader<B>,
  toTensors: (batch: B) => D,
): TfDataset<D>;
/**
 * The same for batches made by `stack`: the elements are 2D tensors of samples and numbers.
 * @param loader The loader of the batches.
 */
export function toTfDataset(loader: EpochLoader<AnyBatch<StackedForTf>>): TfDataset<Tensor2D>;
export function toTfDataset(
  loader: EpochLoader<AnyBatch>,
  toTensors: (batch: never) => Tensors = stackedTensor,
): TfDataset<Tensors> {
  return new LoaderDataset(loader, toTensors as (batch: AnyBatch) => Tensors);
}

function stackedTensor({ data: { data, shape } }: AnyBatch<StackedForTf>): Tensor2D {
  return tensor2d(data, [...shape]);
}

class LoaderDataset<B extends AnyBatch, D extends Tensors> extends Dataset<D> implements TfDataset<D> {
  override readonly size: number;
  readonly #loader: EpochLoader<B>;
  readonly #toTensors: (batch: B) => D;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(loader: EpochLoader<B>, toTensors: (batch: B) => D) {
    super();
    this.size = loader.batchesPerEpoch;
    this.#loader = loader;
    this.#toTensors = toTensors;
  }

  override async iterator(): Promise<TfEpoch<D>> {
    // Begins at the first request: `fitDataset` makes an iterator that it never uses.
    const epoch = this.#epoch();
    const iterator = await generator<D>(() => epoch).iterator();
    return Object.assign(iterator, { [Symbol.asyncIterator]: () => epoch });
  }

  async *#epoch(): AsyncGenerator<D, void> {
    const batches = this.#loader.epoch();
    let isOver = true;
    try {
      for (;;) {
        const { batch, tensors } = await this.#inTurn(batches);
        if (batch === undefined) break;
        isOver = false;
        if (tensors !== undefined) yield tensors;
      }
    } finally {
      await batches.return();
    }
    // Throw: `repeat()` would request empty epochs without end.
    if (isOver) throw noEpochLeft();
  }

  /**
   * Makes batches one at a time, so that a batch stays valid until its tensors are made, even if an abandoned
   * iterator still waits for one.
   */
  #inTurn(batches: AsyncGenerator<B, void>): Promise<{ batch?: B; tensors?: D }> {
    const next = this.#turn.then(async () => {
      const { value: batch } = await batches.next();
      if (batch === undefined) return {};
      return batch.samples.length === 0 ? { batch } : { batch, tensors: madeTensors(batch, this.#toTensors) };
    });
    this.#turn = next.catch(() => undefined);
    return next;
  }
}

function noEpochLeft(): TieredError {
  return new TieredError(
    'TIERED_CONFIG_INVALID',
    'The loader has no epoch left. Make it with as many `epochs` as are trained, or evaluated, in all.',
  );
}

/** A batch, of a loader in this thread or another one. */
export interface AnyBatch<C = unknown> {
  readonly epoch: number;
  readonly index: number;
  readonly samples: Uint32Array;
  readonly data: C;
}

/**
 * The tensors of a batch. Intermediate tensors are disposed of.
 * @throws TieredError `TIERED_TRANSFORM_FAILED`
 */
function madeTensors<B extends AnyBatch, D>(batch: B, toTensors: (batch: B) => D): D {
  try {
    return tidy(() => {
      const made = toTensors(batch);
      assertTensors(made);
      return made as never;
    });
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    const message = `toTensors failed for batch ${batch.index} of epoch ${batch.epoch}: ${text}. Fix the function, or its input.`;
    throw new TieredError('TIERED_TRANSFORM_FAILED', message, { cause });
  }
}

/** Rejects other results: TF.js would inspect each of their elements, and find no tensors in a promise. */
function assertTensors(made: unknown): void {
  if (made instanceof Tensor) return;
  if (!isPlain(made)) throw new TypeError(`it made ${nameOf(made)} where a tensor is needed`);
  for (const one of Object.values(made)) assertTensors(one);
}

function isPlain(made: unknown): made is object {
  if (typeof made !== 'object' || made === null) return false;
  const prototype: unknown = Object.getPrototypeOf(made);
  return Array.isArray(made) || prototype === Object.prototype || prototype === null;
}

function nameOf(made: unknown): string {
  return typeof made === 'object' && made !== null ? made.constructor.name : String(made);
}
