import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import type { Dataset } from '@tensorflow/tfjs-data';
import { layers, sequential, type LayersModel } from '@tensorflow/tfjs-layers';
import { damaged, openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { stack, type Batch, type DataLoader } from '@tiered/loader';
import { toTfDataset } from '@tiered/loader/tfjs';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { RECORD } from './formats.js';
import { allNames, hierarchyOf, loaderOf, nameOf, namesOf, singles } from './helpers.js';

const COUNTS = [7, 6];
const ALL = allNames(COUNTS);

// Without it, TF.js greets.
tf.env().set('IS_TEST', true);

/** What `fitDataset` itself leaves when it fails after a batch: a loss that it has not reported yet. */
const ITS_LOSS = 1;
let ofTfjs = 0;
beforeEach(({ onTestFinished }) => {
  const { numTensors } = tf.memory();
  ofTfjs = 0;
  // Hooks run in reverse order: the models of the test are gone by then.
  onTestFinished(() => expect(tf.memory().numTensors).toBe(numTensors + ofTfjs));
});

/** A model of one neuron, of this test. */
function neuron(): LayersModel {
  const model = sequential({ layers: [layers.dense({ inputShape: [RECORD], units: 1 })] });
  model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
  onTestFinished(() => void model.dispose());
  return model;
}

/** Trains without output. */
function fit(
  model: Trainable,
  dataset: Dataset<Inputs>,
  options: { epochs: number; [name: string]: unknown },
): Promise<{ history: Record<string, unknown[]> }> {
  return model.fitDataset(dataset, { ...options, verbose: 0 });
}

/** TF.js declares the class of datasets twice. */
interface Trainable {
  fitDataset(dataset: Dataset<Inputs>, options: object): Promise<{ history: Record<string, unknown[]> }>;
}

type Inputs = { xs: tf.Tensor; ys: tf.Tensor };

/** Makes what `fitDataset` takes; `seen` gets the names of the samples. */
function inputs({ data, size }: Batch<readonly Uint8Array[]>, seen: string[] = []): Inputs {
  seen.push(...data.map(nameOf));
  return { xs: tf.tensor2d(stack(data).data, [size, RECORD]), ys: tf.zeros([size, 1]) };
}

/** The names of the samples in a tensor. */
function namesIn(tensor: tf.Tensor): string[] {
  return (tensor.arraySync() as number[][]).map((row) => nameOf(Uint8Array.from(row)));
}

describe('[D11] fitDataset', () => {
  it('goes through the epochs of the loader, in its order, and says nothing', async () => {
    const warn = vi.spyOn(console, 'warn');
    onTestFinished(() => warn.mockRestore());
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 3 }),
        fc.constantFrom(true, false, { window: 64 }),
        async (batchSize, epochs, shuffle) => {
          const samples = await singles(COUNTS);
          const options = { batchSize, epochs, shuffle, seed: 5 };
          const loader = loaderOf(samples, options);
          const seen: string[] = [];
          const dataset = toTfDataset(loader, (batch) => inputs(batch, seen));
          expect(dataset.size).toBe(Math.ceil(ALL.length / batchSize));
          await fit(neuron(), dataset, { epochs });
          expect(seen).toEqual((await namesOf(loaderOf(samples, options))).flat());
          expect(loader.stateDict()).toMatchObject({ epoch: epochs, done: 0 });
        },
      ),
      { numRuns: 10 },
    );
    expect(warn).not.toHaveBeenCalled();
  });

  it('goes on with the rest of an epoch after an early stop, also in another process', async () => {
    const samples = await singles(COUNTS);
    const options = { batchSize: 2, epochs: 2, seed: 3 };
    const loader = loaderOf(samples, options);
    const [first, rest, resumed]: [string[], string[], string[]] = [[], [], []];
    let state: ReturnType<typeof loader.stateDict> | undefined;
    const model = neuron();
    const onBatchEnd = (batch: number) => {
      if (batch !== 3) return;
      model.stopTraining = true;
      state = loader.stateDict();
    };
    const into = (seen: string[]) => (batch: Batch<readonly Uint8Array[]>) => inputs(batch, seen);
    await fit(model, toTfDataset(loader, into(first)), { epochs: 2, callbacks: { onBatchEnd } });
    expect(first).toHaveLength(8);
    expect(state).toEqual(loader.stateDict());
    await fit(model, toTfDataset(loader, into(rest)), { epochs: 2 });
    expect([...first, ...rest]).toEqual((await namesOf(loaderOf(samples, options))).flat());
    const other = loaderOf(samples, { ...options, resume: state });
    await fit(model, toTfDataset(other, into(resumed)), { epochs: 2 });
    expect(resumed).toEqual(rest);
  });

  it('[D12] trains no epoch of one batch where a resume leaves nothing of the first', async () => {
    const samples = await singles([40]);
    const before = loaderOf(samples, { batchSize: 10, epochs: 3 });
    await namesOf(before, 3);
    const options = { batchSize: 16, epochs: 3, dropLast: true, resume: before.stateDict() };
    const seen: string[] = [];
    const dataset = toTfDataset(loaderOf(samples, options), (batch) => inputs(batch, seen));
    await fit(neuron(), dataset, { epochs: 2 });
    expect(seen).toHaveLength(4 * 16);
  });

  it('goes on through epochs with batchesPerEpoch and repeat', async () => {
    const loader = loaderOf(await singles(COUNTS), { batchSize: 4, epochs: 2 });
    const seen: string[] = [];
    const dataset = toTfDataset(loader, (batch) => inputs(batch, seen)).repeat(2);
    await fit(neuron(), dataset, { epochs: 4, batchesPerEpoch: 2 });
    expect(seen).toHaveLength(26);
  });

  it('is told of an epoch that the loader does not have, as is whoever repeats without end', async () => {
    const error = {
      code: 'TIERED_CONFIG_INVALID',
      message: expect.stringContaining('no epoch left') as unknown,
    };
    const dataset = toTfDataset(loaderOf(await singles(COUNTS), { batchSize: 4 }), inputs);
    ofTfjs = ITS_LOSS;
    await expect(fit(neuron(), dataset, { epochs: 2 })).rejects.toMatchObject(error);
    const again = toTfDataset(loaderOf(await singles(COUNTS), { batchSize: 4 }), inputs);
    let batches = 0;
    await expect(
      again.repeat().forEachAsync(() => {
        batches += 1;
      }),
    ).rejects.toMatchObject(error);
    expect(batches).toBe(4);
  });

  it('leaves out a batch of which all samples are damaged', async () => {
    const whole = rawRecords({ recordBytes: RECORD });
    const decode: typeof whole.decode = (record) => {
      if (record.offset < 4 * RECORD) throw damaged(record, 'it is damaged', 'Write it again.');
      return whole.decode(record);
    };
    const samples = await openSamples(await hierarchyOf([10]), { format: { ...whole, decode } });
    const damage = { onDamage: 'skip', mostDamaged: 0.5 } as const;
    const loader = loaderOf(samples, { batchSize: 2, shuffle: false, epochs: 2, ...damage });
    const seen: string[] = [];
    await fit(
      neuron(),
      toTfDataset(loader, (batch) => inputs(batch, seen)),
      { epochs: 2 },
    );
    const left = allNames([10]).slice(4);
    expect(seen).toEqual([...left, ...left]);
  });

  it('validates, with another loader', async () => {
    const [train, validation] = [await singles(COUNTS), await singles([5])].map((samples) =>
      loaderOf(samples, { batchSize: 4, epochs: 2 }),
    ) as [DataLoader<Uint8Array>, DataLoader<Uint8Array>];
    const { history } = await fit(neuron(), toTfDataset(train, inputs), {
      epochs: 2,
      validationData: toTfDataset(validation, inputs),
    });
    expect(history['val_loss']).toHaveLength(2);
  });
});

describe('[D11] errors come out of fitDataset as they are, and leave no tensors', () => {
  async function failing(
    options: object,
    toTensors: (batch: Batch<readonly Uint8Array[]>) => Inputs = inputs,
    callbacks: object = {},
  ): Promise<{ model: LayersModel; training: Promise<unknown> }> {
    const loader = loaderOf(await singles(COUNTS), { batchSize: 4, shuffle: false, ...options });
    const model = neuron();
    const training = fit(model, toTfDataset(loader, toTensors), { epochs: 1, callbacks });
    return { model, training };
  }

  it('of a transform', async () => {
    const cause = new Error('this one is odd');
    const transform = (bytes: Uint8Array) => {
      if (nameOf(bytes) === '1/0') throw cause;
      return bytes;
    };
    const { model, training } = await failing({ transform });
    ofTfjs = ITS_LOSS;
    await expect(training).rejects.toMatchObject({ code: 'TIERED_TRANSFORM_FAILED', cause, key: '0001' });
    expect(model).toMatchObject({ isTraining: false });
  });

  it('of an abort', async () => {
    const stop = new AbortController();
    const reason = new Error('enough');
    const { training } = await failing({ signal: stop.signal }, inputs, {
      onBatchEnd: () => stop.abort(reason),
    });
    ofTfjs = ITS_LOSS;
    await expect(training).rejects.toBe(reason);
  });

  it('of toTensors, which had made some', async () => {
    const cause = new Error('no labels');
    const { training } = await failing({}, ({ size, index }) => {
      const xs = tf.zeros([size, RECORD]);
      if (index === 1) throw cause;
      return { xs, ys: tf.zeros([size, 1]) };
    });
    ofTfjs = ITS_LOSS;
    await expect(training).rejects.toMatchObject({ code: 'TIERED_TRANSFORM_FAILED', cause });
    await expect(training).rejects.toThrow(/batch 1 of epoch 0: no labels/);
  });

  it.each([
    ['Uint8Array', () => ({ xs: tf.zeros([1, RECORD]), ys: new Uint8Array(4) })],
    ['Promise', () => Promise.resolve({ xs: tf.zeros([1]), ys: tf.zeros([1]) })],
    ['undefined', () => ({ xs: tf.zeros([1]), ys: [undefined] })],
  ])('of toTensors that makes no tensor: %s', async (name, toTensors) => {
    vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => void vi.restoreAllMocks());
    const { training } = await failing({}, toTensors as never);
    await expect(training).rejects.toMatchObject({ code: 'TIERED_TRANSFORM_FAILED' });
    await expect(training).rejects.toThrow(`it made ${name} where a tensor is needed`);
  });
});

describe('[D11] loops', () => {
  const small = async (epochs = 1) =>
    loaderOf(await singles(COUNTS), { batchSize: 2, shuffle: false, epochs, collate: stack<Uint8Array> });

  it('of forEachAsync get each batch, and it is disposed of', async () => {
    const seen: string[] = [];
    await toTfDataset(await small()).forEachAsync((tensor) => void seen.push(...namesIn(tensor)));
    expect(seen).toEqual(ALL);
  });

  it('over an iterator own what they get; what they leave comes to the next', async () => {
    const loader = await small(2);
    const dataset = toTfDataset(loader);
    const seen: string[] = [];
    for await (const tensor of await dataset.iterator()) {
      seen.push(...namesIn(tensor));
      tensor.dispose();
      if (seen.length === 6) break;
    }
    // Never asked.
    await dataset.iterator();
    for await (const tensor of await dataset.iterator()) {
      seen.push(...namesIn(tensor));
      tensor.dispose();
    }
    expect(seen).toEqual(ALL);
    expect(loader.stateDict()).toMatchObject({ epoch: 1, done: 0 });
  });

  it('that ask for several batches at once, by several iterators, get each once and as it is', async () => {
    // A view that is kept beyond its batch is empty.
    const prefetch = { memory: 16, detach: true };
    const loader = loaderOf(await singles([60]), { batchSize: 1, prefetch });
    const dataset = toTfDataset(loader, ({ data: [bytes = new Uint8Array()] }) => tf.tensor2d(bytes, [1, 8]));
    const two = [await dataset.iterator(), await dataset.iterator()];
    const next = async (i: number) => (await two[i % 2]?.next())?.value as tf.Tensor2D;
    const got = await Promise.all(Array.from({ length: 60 }, (_, i) => next(i)));
    expect(got.flatMap(namesIn).sort()).toEqual(allNames([60]).sort());
    tf.dispose(got);
  });

  it('[D12] over datasets that share an epoch get nothing of the next one', async () => {
    const loader = loaderOf(await singles([40]), { batchSize: 4, epochs: 2 });
    const datasets = [1, 2, 3].map(() => toTfDataset(loader, ({ epoch }) => tf.scalar(epoch)));
    for (const epoch of [0, 1]) {
      const given: unknown[] = [];
      const note = (tensor: tf.Tensor) => void given.push(tensor.arraySync());
      await Promise.all(datasets.map((dataset) => dataset.forEachAsync(note)));
      expect(given).toEqual(Array.from({ length: 10 }, () => epoch));
    }
  });

  it('leave no tensors where the loader is closed while they wait', async () => {
    const loader = await small();
    const iterator = await toTfDataset(loader).iterator();
    const waiting = iterator.next();
    await loader.close();
    await expect(waiting).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });
});
