import type { HierarchyStats } from '@tiered/core';
import { TraceLog } from '@tiered/core/testing';
import { prefetchChannel } from '@tiered/core/tracing';
import { Prefetcher, type RequestOrigin, type SampleRequest } from '@tiered/prefetch';
import { describe, expect, it } from 'vitest';
import { collect, objects, over, withCode } from './helpers.js';

/** Reads its number into each of its bytes. */
class Numbered implements SampleRequest {
  readonly key: string;
  readonly epoch = 0;
  readonly position: number;
  readonly size: number | undefined;
  reads = 0;

  constructor(position: number, size: number | undefined, key = `${position}`) {
    this.key = key;
    this.position = position;
    this.size = size;
  }

  async readInto(target: Uint8Array): Promise<number> {
    this.reads += 1;
    target.fill(this.position);
    return target.byteLength;
  }
}

const bytesOf = (samples: readonly { readonly data: Uint8Array }[]) => samples.map(({ data }) => [...data]);

describe('a prefetcher of requests', () => {
  it('[P1] gives what each of them reads, in their order', async () => {
    const requests = [3, 1, 2].map((size, i) => new Numbered(i, size));
    const samples = await collect(new Prefetcher({}, requests));
    expect(bytesOf(samples)).toEqual([[0, 0, 0], [1], [2, 2]]);
  });

  it('[P1] takes them from a stream', async () => {
    const stream = async function* () {
      for (let i = 0; i < 3; i++) yield new Numbered(i, 1);
    };
    expect(bytesOf(await collect(new Prefetcher({}, stream())))).toEqual([[0], [1], [2]]);
  });

  it('tells those with the same key apart, and reads one that comes twice once', async () => {
    const [one, other] = [new Numbered(0, 2, 'same'), new Numbered(1, 2, 'same')];
    const prefetcher = new Prefetcher({}, [one, other, one], { producers: 3 });
    expect(bytesOf(await collect(prefetcher))).toEqual([
      [0, 0],
      [1, 1],
      [0, 0],
    ]);
    expect([one.reads, other.reads]).toEqual([1, 1]);
    expect(prefetcher.stats().repeated).toBe(1);
  });

  it('asks for a size that is not known', async () => {
    const request = Object.assign(new Numbered(7, undefined), { stat: async () => ({ size: 2 }) });
    expect(bytesOf(await collect(new Prefetcher({}, [request])))).toEqual([[7, 7]]);
  });

  it('[P3] fails at the place of one that has no size', async () => {
    const prefetcher = new Prefetcher({}, [new Numbered(0, 1), new Numbered(1, undefined)]);
    expect(await prefetcher.take(1)).toHaveLength(1);
    await expect(prefetcher.take(1)).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });

  it('[N2] has traces with their keys, and the name of their origin', async () => {
    using log = new TraceLog(prefetchChannel);
    await collect(new Prefetcher({ name: 'train' }, [new Numbered(0, 4, 'shard')]));
    expect(log.traces).toMatchObject([{ hierarchy: 'train', key: 'shard', position: 0, bytes: 4 }]);
  });

  it('counts them for the levels that they tell', async () => {
    const hierarchy = await over(await objects([1]));
    const { tiers, ...rest } = hierarchy.stats();
    // With one tier: only the number of them counts.
    const stats = () => ({ ...rest, tiers: [...tiers, rest.source] }) as unknown as HierarchyStats;
    const origin: RequestOrigin = { stats };
    const levels = [0, 1, undefined];
    const requests = levels.map((level, i) => Object.assign(new Numbered(i, 1), { where: () => level }));
    const prefetcher = new Prefetcher(origin, requests, { producers: 1, autotuner: false });
    await collect(prefetcher);
    const read = prefetcher.profile().places.map(({ level, samples }) => [level, samples]);
    expect(read).toEqual([
      [undefined, 2],
      [0, 1],
    ]);
  });

  it('[P5] has nothing that could be read by name', async () => {
    const prefetcher = new Prefetcher({}, [new Numbered(0, 1)]);
    await expect(prefetcher.readInto('0', new Uint8Array(1))).rejects.toEqual(
      withCode('TIERED_CONFIG_INVALID'),
    );
    expect(bytesOf(await collect(prefetcher))).toEqual([[0]]);
  });

  it('refuses keys, as a prefetcher of keys refuses requests', async () => {
    const given = ['a'] as unknown as readonly SampleRequest[];
    await expect(new Prefetcher({}, given).take(1)).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
    const hierarchy = await over(await objects([1]));
    const prefetcher = new Prefetcher(hierarchy, [new Numbered(0, 1)]);
    await expect(prefetcher.take(1)).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });
});
