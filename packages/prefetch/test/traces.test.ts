import { FaultDriver, TraceLog } from '@tiered/core/testing';
import { prefetchChannel, readChannel, type PrefetchTrace, type ReadTrace } from '@tiered/core/tracing';
import { listSequence, Prefetcher, shuffledSequence, type PrefetcherOptions } from '@tiered/prefetch';
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { collect, HoldingDriver, keys, objects, over, settled, WatchedDriver } from './helpers.js';

const WENT_WELL = 'start end asyncStart asyncEnd';
const FAILED = 'start end error asyncStart asyncEnd';
const SIZES = Array.from({ length: 10 }, (_, i) => 100 + i);

describe('the channel tiered:prefetch', () => {
  it.each<PrefetcherOptions>([
    { producers: 1 },
    { producers: 4, memory: 300 },
    { producers: 8, memory: 0 },
    {},
  ])('[N2] has one trace for each sample, with its place in the sequence: %j', async (options) => {
    const hierarchy = await over(await objects(SIZES), { name: 'train' });
    const sequence = shuffledSequence(keys(10), { seed: 1, epochs: 2 });
    using log = new TraceLog(prefetchChannel);
    const prefetcher = new Prefetcher(hierarchy, sequence, options);
    const samples = await collect(prefetcher);
    expect(log.traces).toEqual(
      samples.map(({ key, epoch, position, data }) => ({
        hierarchy: 'train',
        key,
        epoch,
        position,
        bytes: data.byteLength,
        repeated: expect.any(Boolean),
      })),
    );
    expect(log.courses).toEqual(samples.map(() => WENT_WELL));
    const repeated = log.traces.filter((trace) => trace.repeated).length;
    expect(prefetcher.stats()).toMatchObject({ samples: 20, repeated });
    await prefetcher.close();
  });

  it('[N2] tells which samples failed, and which were ended by a close', async () => {
    const rules = [{ operations: ['readInto' as const], key: /^4$/, fault: { kind: 'fail' as const } }];
    const source = new HoldingDriver(new FaultDriver(await objects(SIZES), { rules }));
    const hierarchy = await over(source);
    using log = new TraceLog(prefetchChannel);
    const prefetcher = new Prefetcher(hierarchy, listSequence(keys(10)), { producers: 10, onError: 'skip' });
    await settled();
    expect(log.courses).toEqual(SIZES.map(() => 'start end'));
    for (const key of ['0', '4', '2']) await source.release(key);
    const closed = prefetcher.close();
    await source.releaseAll(closed);
    expect(log.courses).toEqual(SIZES.map((_, i) => (i === 0 || i === 2 ? WENT_WELL : FAILED)));
    const codes = log.traces.map(({ error }) => (error as { code?: string } | undefined)?.code);
    expect(codes.slice(0, 6)).toEqual([
      undefined,
      'TIERED_CLOSED',
      undefined,
      'TIERED_CLOSED',
      'TIERED_FAULT_INJECTED',
      'TIERED_CLOSED',
    ]);
  });

  it('[N2] has no trace for a sequence that throws, which is no sample', async () => {
    const hierarchy = await over(await objects(SIZES));
    using log = new TraceLog(prefetchChannel);
    function* broken() {
      yield '0';
      throw new Error('no more');
    }
    await expect(collect(new Prefetcher(hierarchy, broken(), { producers: 1 }))).rejects.toThrow('no more');
    expect(log.traces.map(({ key }) => key)).toEqual(['0']);
    expect(log.courses).toEqual([WENT_WELL]);
  });

  it('makes its read as a part of it', async () => {
    const store = new AsyncLocalStorage<PrefetchTrace>();
    const parents: [string | undefined, string | undefined][] = [];
    const subscriber = { start: ({ key }: ReadTrace) => void parents.push([key, store.getStore()?.key]) };
    const hierarchy = await over(await objects(SIZES), { scan: true });
    prefetchChannel.start.bindStore(store);
    readChannel.subscribe(subscriber);
    const sequence = shuffledSequence(keys(10), { seed: 1, epochs: 2 });
    const prefetcher = new Prefetcher(hierarchy, sequence, { producers: 4, memory: 300 });
    expect(await collect(prefetcher)).toHaveLength(20);
    expect(store.getStore(), 'nothing of it is left here').toBeUndefined();
    prefetchChannel.start.unbindStore(store);
    readChannel.unsubscribe(subscriber);
    expect(parents.length).toBeGreaterThanOrEqual(10);
    for (const [key, parent] of parents) expect(parent).toBe(key);
  });

  it('publishes nothing without subscribers, and what had begun is forgotten when they leave', async () => {
    expect(prefetchChannel.hasSubscribers).toBe(false);
    const source = new HoldingDriver(await objects(SIZES));
    const hierarchy = await over(source);
    const log = new TraceLog(prefetchChannel);
    const prefetcher = new Prefetcher(hierarchy, listSequence(keys(10)), { producers: 2 });
    await settled();
    expect(log.courses).toEqual(['start end', 'start end']);
    log[Symbol.dispose]();
    const samples = await source.releaseAll(collect(prefetcher));
    expect(samples).toHaveLength(10);
    expect(log.courses).toEqual(['start end', 'start end']);
  });
});

it('names no hierarchy where the source has no name', async () => {
  const source = await over(new WatchedDriver(await objects([10])));
  using log = new TraceLog(prefetchChannel);
  const nameless = {
    readInto: source.readInto.bind(source),
    stat: source.stat.bind(source),
  };
  expect(await collect(new Prefetcher(nameless, ['0']))).toHaveLength(1);
  expect(log.traces).toMatchObject([{ key: '0', hierarchy: undefined }]);
});
