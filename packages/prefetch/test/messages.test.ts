import { listSequence, Prefetcher, StagingBuffer } from '@tiered/prefetch';
import { expect, it } from 'vitest';
import { objects, over } from './helpers.js';

const sequence = listSequence(['0']);

/** Options that cannot work, by the name that the error has to begin with. */
const prefetchers: Record<string, object> = {
  memory: { memory: '10 XB' },
  'memory ': { memory: 2 ** 52 },
  'memory  ': { memory: '1 MiB', staging: new StagingBuffer() },
  producers: { producers: 0 },
  concurrency: { concurrency: 0.5 },
  priority: { priority: 0 },
};
const buffers: Record<string, object> = {
  memory: { memory: '10 XB' },
  'memory ': { memory: 2 ** 52 },
  'fixed.memory': { fixed: { memory: -1 } },
  'fixed.memory ': { fixed: { memory: '0 B' } },
  'fixed.memory  ': { memory: 100, fixed: { memory: '101 B' } },
  'fixed.samples': { fixed: { samples: 0 } },
};

const naming = (field: string) => new RegExp(`^${field.trim()}: `);

it.each(Object.entries(prefetchers))(
  'an error names the option that was given: %s',
  async (field, options) => {
    const hierarchy = await over(await objects([1]));
    expect(() => new Prefetcher(hierarchy, sequence, options)).toThrow(naming(field));
  },
);

it.each(Object.entries(buffers))(
  'an error names the option of a buffer that was given: %s',
  (field, options) => {
    expect(() => new StagingBuffer(options)).toThrow(naming(field));
  },
);

it('an error names the argument that was given', async () => {
  const hierarchy = await over(await objects([1]));
  const prefetcher = new Prefetcher(hierarchy, sequence);
  expect(() => prefetcher.batches(0)).toThrow(naming('size'));
  expect(() => prefetcher.epochBatches(0.5)).toThrow(naming('size'));
  await expect(prefetcher.take(0)).rejects.toThrow(naming('most'));
});
