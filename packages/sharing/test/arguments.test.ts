import { listSequence, Prefetcher, type SampleReader } from '@tiered/prefetch';
import { ThreadPrefetchClient, threadPort } from '@tiered/sharing';
import { expect, it, onTestFinished } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import { servePrefetcher } from '../src/server/server.js';
import { socketPath, withCode } from './helpers.js';
import { collect, keys, objects, over, samplesOf } from './prefetching.js';

const SIZES = Array.from({ length: 30 }, (_, i) => i);
const sequence = listSequence(keys(30));

const READERS: Record<string, (prefetcher: Prefetcher) => Promise<SampleReader>> = {
  Prefetcher: async (prefetcher) => prefetcher,
  PrefetchClient: async (prefetcher) => {
    const server = await servePrefetcher(prefetcher, { path: socketPath() });
    onTestFinished(() => server.close());
    return PrefetchClient.connect(server);
  },
  ThreadPrefetchClient: async (prefetcher) => new ThreadPrefetchClient(threadPort(prefetcher)),
};

it.each(Object.entries(READERS))(
  '[P1] %s refuses a number of samples that is none, and takes nothing for it',
  async (_, open) => {
    const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence);
    const reader = await open(prefetcher);
    onTestFinished(async () => {
      await reader.close();
      await prefetcher.close();
    });
    for (const most of [0, -0, -1, -7, 0.5, 2.5, Number.NaN, Infinity, -Infinity]) {
      await expect(reader.take(most), `take(${most})`).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
      // At once, and not when the first list is asked for: the loop over it would end the reader.
      expect(() => reader.batches(most), `batches(${most})`).toThrow(withCode('TIERED_CONFIG_INVALID'));
    }
    expect(prefetcher.stats()).toMatchObject({ samples: 0, lentBytes: 0 });
    expect(await collect(reader)).toEqual(samplesOf(sequence, SIZES));
  },
);

it('an error names the argument that was given', async () => {
  const naming = (field: string) => new RegExp(`^${field}: `);
  const prefetcher = new Prefetcher(await over(await objects([1])), listSequence(['0']));
  const path = '/nowhere';
  await expect(PrefetchClient.connect({ path: '' })).rejects.toThrow(naming('path'));
  const connecting = PrefetchClient.connect({ path, maxSampleBytes: '1 XB' });
  await expect(connecting).rejects.toThrow(naming('maxSampleBytes'));
  await expect(servePrefetcher(prefetcher, { path, maxClients: 0 })).rejects.toThrow(naming('maxClients'));
  await expect(servePrefetcher(prefetcher, { path, maxSamples: 0 })).rejects.toThrow(naming('maxSamples'));
  await prefetcher.close();
});
