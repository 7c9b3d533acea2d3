import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { loaderOf, namesOf, singles } from './helpers.js';

it('[D3] a loader of which dropLast leaves out everything is refused', async () => {
  const samples = await singles([21]);
  expect(() => loaderOf(samples, { batchSize: 50, dropLast: true })).toThrow(
    expect.objectContaining({
      code: 'TIERED_CONFIG_INVALID',
      message: expect.stringMatching(/^batchSize: .*at most 21 with dropLast.* got 50$/),
    }) as Error,
  );
  expect(() => loaderOf(samples, { batchSize: 22, ranks: 3, dropLast: true })).toThrow(/^batchSize: /);
  expect((await namesOf(loaderOf(samples, { batchSize: 21, dropLast: true }))).flat()).toHaveLength(21);
  expect((await namesOf(loaderOf(samples, { batchSize: 50 }))).flat()).toHaveLength(21);
});

it('[D3] a loader of which only the split over ranks leaves out everything warns', async () => {
  const samples = await singles([21]);
  const warned = once(process, 'warning');
  const loader = loaderOf(samples, { batchSize: 8, ranks: 3, rank: 1, dropLast: true });
  expect(await warned).toEqual([
    expect.objectContaining({
      name: 'TieredWarning',
      message: expect.stringMatching(/no batches: 3 ranks take 8 samples .* an epoch has 21\..*dropLast/),
    }),
  ]);
  expect(loader.batchesPerEpoch).toBe(0);
  expect(await namesOf(loader)).toEqual([]);

  const warnings: unknown[] = [];
  const note = (warning: unknown) => warnings.push(warning);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  expect(await namesOf(loaderOf(samples, { batchSize: 7, ranks: 3, dropLast: true }))).toHaveLength(1);
  expect(warnings).toEqual([]);
});
