import { TraceLog } from '@tiered/core/testing';
import { prefetchChannel } from '@tiered/core/tracing';
import { expect, it } from 'vitest';
import { loaderOf, namesOf, singles } from './helpers.js';

it('[N2] names a block in traces by its first object, and tells its bytes and place', async () => {
  const samples = await singles([4, 4]);
  using log = new TraceLog(prefetchChannel);
  const loader = loaderOf(samples, { batchSize: 4, seed: 1, epochs: 2, shuffle: false });
  await namesOf(loader);
  const [first, second] = samples.keys;
  const bytes = samples.bytes / 2;
  const block = { bytes, hierarchy: samples.hierarchy.name, repeated: false };
  expect(log.traces).toEqual([
    { ...block, key: first, epoch: 0, position: 0 },
    { ...block, key: second, epoch: 0, position: 1 },
    { ...block, key: first, epoch: 1, position: 0 },
    { ...block, key: second, epoch: 1, position: 1 },
  ]);
});
