import { Tensor, tensor2d, tidy, type Tensor2D } from '@tensorflow/tfjs-core';
import { Dataset, generator } from '@tensorflow/tfjs-data';
import { TieredError } from '@tiered/core';
import type { Stacked } from '../batches/collate.js';

/** Tensors, in lists and objects, such as `{ xs, ys }` for `fitDataset`. */
export type Tensors = Tensor | Tensors[] | { [name: string]: Tensors };

/** What `stack` made of numbers that TF.js has a type for: floats, else integers of 32 bits. */
type StackedForTf = Stacked<Float32Array | Int32Array | Uint8Array>;

/** Gives batches by epoch: a `DataLoader`, or a `ThreadLoader`. */
export interface EpochLoader<B extends AnyBatch> {
  /** Batches that a whole epoch has. */
  readonly batchesPerEpoch: number;
  /** Iterates over the batches that are left of one epoch: the one of the next batch. */
  epoch(): AsyncGenerator<B, void>;
}

type LazyIterator<D extends Tensors> = Awaited<ReturnType<Dataset<D>['iterator']>>;

/** One epoch of a loader: an iterator of TF.js, which also works in a loop of JavaScript (`for await`). */
export type TfEpoch<D extends Tensors> = LazyIterator<D> & AsyncIterable<D>;

/** A dataset of TF.js whose elements are batches of a loader. */
export interface TfDataset<D extends Tensors> extends Dataset<D> {
  /** Goes through one epoch of the loader: the one of the next batch. */
  iterator(): Promise<TfEpoch<D>>;
}

/**
 * Makes a dataset of TensorFlow.js out of a loader, for `model.fitDataset`, `evaluateDataset`, `forEachAsync`
 * and loops over `await dataset.iterator()`. Its elements are whole batches. Leave out `batch`, `shuffle`
 * and `prefetch` of the dataset: the loader does all three.
 *
 * Each iterator is one epoch of the loader, from where the loader stands. So
 * `fitDataset(dataset, { epochs: n })` goes through n of them. An iterator that is left early leaves the rest
 * of its epoch to the next one. Where one iterator is to go on through several epochs, as for
 * `batchesPerEpoch`, use `dataset.repeat(n)`.
 *
 * Tensors are made when a batch is asked for, and not ahead. So nothing is left over where a training stops,
 * and `loader.stateDict()` in `onBatchEnd` says exactly what was trained on. Tensors belong to whoever asked:
 * `fitDataset`, `evaluateDataset` and `forEachAsync` dispose of them, a loop of yours has to. What
 * `toTensors` made besides is disposed of, also when it throws.
 *
 * `size` is `loader.batchesPerEpoch`. The first epoch of a loader that was resumed has fewer batches. A batch
 * of which all samples are damaged is left out.
 *
 * With a `ThreadLoader`, reads go on while a step of the training blocks this thread, as steps of the
 * backends `cpu` and `wasm` do.
 *
 * The loader stays its caller's, who closes it. What it throws, and an abort of its `signal`, comes out of
 * `fitDataset` as it is. An epoch more than the loader has is `TIERED_CONFIG_INVALID`, and not an epoch of
 * nothing.
 * @param loader What gives the batches. Nobody else takes batches while an iterator waits for one.
 * @param toTensors Makes the tensors of a batch, at once and not in a promise. Its time is the training's, so
 * leave what is dear to `transform` and `collate`, which workers can do. Make tensors of memory that is not
 * used again, as that of `stack`: the backend `cpu` does not copy a `Float32Array`. An error of it is
 * `TIERED_TRANSFORM_FAILED`.
 * @typeParam B A batch.
 * @typeParam D The tensors of a batch. Typed arrays are refused: TF.js looks at each of their elements.
 */
export function toTfDataset<B extends AnyBatch, D extends Tensors>(
  loader: EpochLoader<B>,
  toTensors: (batch: B) => D,
): TfDataset<D>;
/**
 * The same for batches that `stack` made: their elements are tensors of two axes, samples and numbers.
 * @param loader What gives the batches.
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
    // Begins when it is first asked: `fitDataset` makes an iterator that it never uses.
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
    // Not an epoch of nothing, which `repeat()` would ask for without end.
    if (isOver) throw noEpochLeft();
  }

  /**
   * One at a time, so that a batch is lent until its tensors are there, also where an iterator that was left
   * still waits for one.
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
 * The tensors of a batch. Everything else that was made on the way is disposed of.
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

/** TF.js would look at each element of anything else, and find no tensors in a promise. */
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
