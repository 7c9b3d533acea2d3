import '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { ThreadLoader, type LoaderState, type Stacked } from '@tiered/loader';
import { toTfDataset } from '@tiered/loader/tfjs';
import { expect, it, onTestFinished } from 'vitest';
import { FROM_SOURCES } from './from-sources.js';
import { makeLoader, type Asked } from './workers/loaders.js';

tf.env().set('IS_TEST', true);

const MODULE = { module: new URL('./workers/loaders.ts', import.meta.url), export: 'makeLoader' };
const COUNTS = [5, 8];

async function datasetOf(argument: Asked) {
  const loader = await ThreadLoader.open<Stacked<Uint8Array>>(MODULE, { argument, execArgv: FROM_SOURCES });
  onTestFinished(() => loader.close());
  return { loader, dataset: toTfDataset(loader) };
}

it('[D11] a loader in another thread gives the same tensors, and goes on from where they were taken', async () => {
  const { numTensors } = tf.memory();
  const expected: number[][] = [];
  const { loader: here, close } = await makeLoader({ counts: COUNTS });
  for await (const { data } of here) expected.push([...(data as Stacked).data]);
  await close?.();
  const { loader, dataset } = await datasetOf({ counts: COUNTS });
  const seen: number[][] = [];
  let state: LoaderState | undefined;
  await dataset.repeat(2).forEachAsync((tensor) => {
    seen.push([...tensor.dataSync()]);
    if (seen.length === 3) state = loader.stateDict();
  });
  expect(seen).toEqual(expected);
  const resumed = await datasetOf({ counts: COUNTS, ...(state && { resume: state }) });
  const rest: number[][] = [];
  await resumed.dataset.repeat(2).forEachAsync((tensor) => void rest.push([...tensor.dataSync()]));
  expect(rest).toEqual(expected.slice(3));
  expect(tf.memory().numTensors).toBe(numTensors);
});

it('[D11] errors of another thread come with code and cause', async () => {
  const { dataset } = await datasetOf({ counts: COUNTS, failsAt: 6 });
  const training = dataset.forEachAsync(() => undefined);
  await expect(training).rejects.toMatchObject({ code: 'TIERED_TRANSFORM_FAILED' });
  await expect(training).rejects.toHaveProperty('cause.message', 'refused');
});
