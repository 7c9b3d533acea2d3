import { listSequence, Prefetcher, type PrefetcherOptions } from '@tiered/prefetch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectIdle, keys, next, objects, over, samplesOf, started, withCode } from './helpers.js';

const SIZES = Array.from({ length: 40 }, (_, i) => 10 * i);
const sequence = listSequence(keys(40), { epochs: 2 });
const expected = samplesOf(sequence, SIZES).map(({ data }) => data);

/** What a consumer that keeps `data` has in the end. */
async function keptFrom(prefetcher: Prefetcher, batch: number): Promise<Uint8Array[]> {
  const kept: Uint8Array[] = [];
  if (batch === 0) for await (const { data } of prefetcher) kept.push(data);
  else for await (const list of prefetcher.batches(batch)) kept.push(...list.map(({ data }) => data));
  return kept;
}

describe('[P4] copies', () => {
  it('are what they were for as long as anybody keeps them, and hold no memory of the budget', async () => {
    const options = fc.record({
      memory: fc.constantFrom(0, 640, 1e6),
      producers: fc.integer({ min: 1, max: 4 }),
      batch: fc.nat(7),
    });
    await fc.assert(
      fc.asyncProperty(options, async ({ batch, ...rest }) => {
        const hierarchy = await started(await objects(SIZES));
        const prefetcher = new Prefetcher(hierarchy, sequence, { ...rest, copy: true });
        const kept = await keptFrom(prefetcher, batch);
        expectIdle(prefetcher);
        await prefetcher.close();
        expect(kept).toEqual(expected);
        await hierarchy.close();
      }),
      { numRuns: 30 },
    );
  });

  it('stay after the release, and nothing is lent', async () => {
    const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence, { copy: true });
    const [first, second] = [...(await prefetcher.take(1)), ...(await prefetcher.take(1))];
    expect(prefetcher.stats().lentBytes).toBe(0);
    first?.release();
    first?.release();
    await prefetcher.close();
    expect([first?.data, second?.data]).toEqual(expected.slice(0, 2));
    expect(first?.data.buffer).toBeInstanceOf(ArrayBuffer);
  });
});

describe('[P4] data that is detached', () => {
  const make = async (options: PrefetcherOptions = {}) =>
    new Prefetcher(await over(await objects(SIZES)), sequence, { detach: true, ...options });

  it('has no bytes in views that somebody kept', async () => {
    const prefetcher = await make({ memory: 0 });
    const seen: Uint8Array[] = [];
    const kept: Uint8Array[] = [];
    for await (const { data } of prefetcher) {
      seen.push(data.slice());
      kept.push(data);
    }
    expect(seen).toEqual(expected);
    expect(kept.map(({ byteLength }) => byteLength)).toEqual(expected.map(() => 0));
    expectIdle(prefetcher);
  });

  it('is whole until the release, and an error after it', async () => {
    const prefetcher = await make();
    await next(prefetcher);
    const [sample] = await prefetcher.take(1);
    expect(sample?.data).toEqual(expected[1]);
    await prefetcher.close();
    expect(() => sample?.data).toThrow(withCode('TIERED_CLOSED'));
  });

  it('is refused together with copies', async () => {
    await expect(make({ copy: true })).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });
});

it('[P4] data that is detached may have been transferred by its consumer before', async () => {
  const prefetcher = new Prefetcher(await over(await objects(SIZES)), sequence, { detach: true });
  let samples = 0;
  for await (const { data } of prefetcher) {
    const { buffer } = data;
    if (buffer instanceof ArrayBuffer) structuredClone(buffer, { transfer: [buffer] });
    samples += 1;
  }
  expect(samples).toBe(expected.length);
  expectIdle(prefetcher);
  await prefetcher.close();
});
