import { context, propagation, trace, type TracerProvider } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  AlwaysOffSampler,
  BatchSpanProcessor,
  NodeTracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace-node';
import { FaultDriver } from '@tiered/core/testing';
import { placeChannel, prefetchChannel, readChannel } from '@tiered/core/tracing';
import { instrumentTiered, type TracingOptions } from '@tiered/opentelemetry';
import { listSequence, Prefetcher } from '@tiered/prefetch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Collector, type CollectedSpan } from './collector.js';
import { files, hierarchyOver, trainOver } from './training.js';

const ALL = ['read', 'place', 'prefetch'] as const;
const ERROR = 2;

/** A provider that exports to a collector of the test's own, and spans of tiered until the test ends. */
async function traced(options: TracingOptions = {}, sampler?: Sampler) {
  const collector = await Collector.open();
  const exporter = new OTLPTraceExporter({ url: `${collector.url}/v1/traces` });
  const provider = new NodeTracerProvider({
    ...(sampler && { sampler }),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 100_000 })],
  });
  const stop = instrumentTiered({ tracerProvider: provider, ...options });
  onTestFinished(async () => {
    stop();
    await provider.shutdown();
    await collector[Symbol.asyncDispose]();
  });
  return { collector, provider, stop, exported: () => provider.forceFlush() };
}

/** Makes it the global provider, with a context manager, until the test ends. */
function register(provider: NodeTracerProvider): void {
  provider.register();
  onTestFinished(() => {
    trace.disable();
    context.disable();
    propagation.disable();
  });
}

const sum = (spans: readonly CollectedSpan[], attribute: string) =>
  spans.reduce((total, { attributes }) => total + Number(attributes[attribute] ?? 0), 0);

const subscribed = () =>
  [readChannel, placeChannel, prefetchChannel].map((channel) => channel.hasSubscribers);

describe('instrumentTiered', () => {
  it('[N2] gives a collector as many spans as the statistics count', async () => {
    const { collector, exported } = await traced({ operations: ALL });
    const { root, keys } = await files();
    const hierarchy = await hierarchyOver(root, { name: 'train' });
    const prefetcher = await trainOver(hierarchy, keys);
    await hierarchy.readMany(keys.slice(0, 5).map((key) => ({ key, target: new Uint8Array(100) })));
    const levels = await Promise.all(keys.map(async (key) => (await hierarchy.stat(key)).level));
    for (const level of [0, 1]) await hierarchy.read(keys[levels.lastIndexOf(level)] ?? '');
    await exported();

    const { reads, placement, source } = hierarchy.stats();
    const spans = collector.named('tiered.read');
    expect(sum(spans, 'tiered.read.count')).toBe(reads.total);
    expect({
      fromTiers: sum(spans, 'tiered.read.from_tiers'),
      fromSource: sum(spans, 'tiered.read.from_source'),
      joined: sum(spans, 'tiered.read.joined'),
      empty: sum(spans, 'tiered.read.empty'),
      total: reads.total,
    }).toEqual(reads);
    expect(reads.fromTiers).toBeGreaterThan(0);
    expect(reads.fromSource).toBeGreaterThan(0);

    const places = collector.named('tiered.place');
    const outcome = (wanted: string) =>
      places.filter(({ attributes }) => attributes['tiered.place.outcome'] === wanted).length;
    expect(outcome('placed')).toBe(placement.placed);
    expect(placement.placed).toBeGreaterThan(0);
    expect(sum(places, 'tiered.bytes')).toBe(hierarchy.stats().tiers[0]?.usedBytes);

    const samples = collector.named('tiered.prefetch');
    expect(samples).toHaveLength(120);
    expect(sum(samples, 'tiered.bytes')).toBe(prefetcher.stats().bytes);
    const repeated = samples.filter(({ attributes }) => attributes['tiered.prefetch.repeated'] === true);
    expect(repeated).toHaveLength(prefetcher.stats().repeated);
    expect(new Set(samples.map(({ attributes }) => String(attributes['tiered.prefetch.epoch'])))).toEqual(
      new Set(['0', '1']),
    );

    for (const { attributes, status } of collector.spans) {
      expect(attributes['tiered.hierarchy.name']).toBe('train');
      expect(status.code).not.toBe(ERROR);
    }
    const single = spans.filter(({ attributes }) => attributes['tiered.read.operation'] === 'read');
    expect(single.map(({ attributes }) => [attributes['tiered.level'], attributes['tiered.driver']])).toEqual(
      [
        [0, 'ram'],
        [1, source.driver],
      ],
    );
  });

  it.each([
    { isRegistered: false, why: 'as where a program passes its provider on' },
    { isRegistered: true, why: 'as where it is the global one' },
  ])('nests reads in samples, and placements in what caused them: $why', async ({ isRegistered }) => {
    const { collector, exported, provider } = await traced({ operations: ALL });
    if (isRegistered) register(provider);
    const { root, keys } = await files();
    const hierarchy = await hierarchyOver(root);
    const some = keys.slice(1, 20);
    const step = provider.getTracer('test').startSpan('step');
    await context.with(trace.setSpan(context.active(), step), async () => {
      const options = { producers: 3, concurrency: 3, memory: 0 };
      for await (const { data } of new Prefetcher(hierarchy, listSequence(some), options))
        expect(data).toBeDefined();
      await hierarchy.place(keys[30] ?? '');
    });
    step.end();
    await hierarchy.idle();
    await exported();
    const byId = new Map(collector.spans.map((span) => [span.spanId, span]));
    const parentOf = ({ parentSpanId }: CollectedSpan) => byId.get(parentSpanId ?? '');
    const samples = collector.named('tiered.prefetch');
    expect(samples).toHaveLength(some.length);
    expect(new Set(samples.map(({ traceId }) => traceId)).size, 'each is a trace').toBe(some.length);
    for (const { parentSpanId } of samples) expect(parentSpanId).toBeUndefined();
    const reads = collector.named('tiered.read');
    expect(reads.length).toBeGreaterThan(0);
    for (const read of reads) {
      const parent = parentOf(read);
      expect(parent).toMatchObject({ name: 'tiered.prefetch', traceId: read.traceId });
      if (read.attributes['tiered.read.count'] === 1)
        expect(parent?.attributes['tiered.object.key']).toBe(read.attributes['tiered.object.key']);
    }
    const places = collector.named('tiered.place');
    expect(places).toHaveLength(some.length + 1);
    for (const place of places) {
      const isCalled = place.attributes['tiered.place.cause'] === 'place';
      const caller = isRegistered ? 'step' : undefined;
      expect(parentOf(place)?.name).toBe(isCalled ? caller : 'tiered.read');
    }
  });

  it('takes the span that the program has activated as the parent of a read', async () => {
    const { collector, exported, provider } = await traced({ operations: ['read', 'place'] });
    register(provider);
    const { root, keys } = await files();
    const hierarchy = await hierarchyOver(root);
    await provider.getTracer('test').startActiveSpan('step', async (step) => {
      await hierarchy.read(keys[3] ?? '');
      step.end();
    });
    await hierarchy.idle();
    await exported();
    const [step] = collector.named('step');
    const [read, ...others] = collector.named('tiered.read');
    expect(others).toEqual([]);
    expect(read).toMatchObject({ parentSpanId: step?.spanId, traceId: step?.traceId });
    expect(collector.named('tiered.place')).toMatchObject([{ parentSpanId: read?.spanId }]);
  });

  it('records errors with their code', async () => {
    const { collector, exported } = await traced({ operations: ALL });
    const { root, keys } = await files();
    const rules = [{ operations: ['readInto' as const], key: /sample-7$/, fault: { kind: 'fail' as const } }];
    const hierarchy = await hierarchyOver(root, { wrap: (driver) => new FaultDriver(driver, { rules }) });
    await expect(hierarchy.read('sample-7')).rejects.toThrow();
    await expect(hierarchy.read('nowhere')).rejects.toThrow();
    const skipping = new Prefetcher(hierarchy, listSequence(keys.slice(5, 10)), { onError: 'skip' });
    let samples = 0;
    for await (const { data } of skipping) samples += data.byteLength > 0 ? 1 : 0;
    expect(samples).toBe(4);
    await hierarchy.idle();
    await exported();
    const failed = collector.spans.filter(({ status }) => status.code === ERROR);
    const types = (name: string) =>
      failed.filter((span) => span.name === name).map(({ attributes }) => attributes['error.type']);
    expect(types('tiered.read').filter((type) => type === 'TIERED_NOT_FOUND')).toHaveLength(1);
    expect(types('tiered.read')).toContain('TIERED_FAULT_INJECTED');
    expect(types('tiered.prefetch')).toEqual(['TIERED_FAULT_INJECTED']);
    expect(types('tiered.place')).toHaveLength(hierarchy.stats().placement.failed);
    for (const { status, events } of failed) {
      expect(status.message).toMatch(/sample-7|nowhere/);
      expect(events).toMatchObject([{ name: 'exception' }]);
    }
  });

  it('leaves out keys, also those in messages of errors, if it is told to', async () => {
    const { collector, exported } = await traced({ operations: ALL, keys: false });
    const { root, keys } = await files();
    const hierarchy = await hierarchyOver(root);
    await trainOver(hierarchy, keys);
    await expect(hierarchy.read('sample-none')).rejects.toThrow(/sample-none/);
    await exported();
    expect(collector.spans.length).toBeGreaterThan(120);
    expect(JSON.stringify(collector.spans)).not.toContain('sample-');
    const failed = collector.spans.filter(({ status }) => status.code === ERROR);
    expect(failed.map(({ attributes }) => attributes['error.type'])).toEqual(['TIERED_NOT_FOUND']);
  });

  it('makes spans of placements and samples by default, and of reads only if asked', async () => {
    const { collector, exported } = await traced();
    expect(subscribed()).toEqual([false, true, true]);
    const { root, keys } = await files();
    await trainOver(await hierarchyOver(root), keys);
    await exported();
    expect(new Set(collector.spans.map(({ name }) => name))).toEqual(
      new Set(['tiered.place', 'tiered.prefetch']),
    );
    // Here the sample itself is what caused the placement.
    const byId = new Map(collector.spans.map((span) => [span.spanId, span]));
    for (const { parentSpanId } of collector.named('tiered.place'))
      expect(byId.get(parentSpanId ?? '')?.name).toBe('tiered.prefetch');
  });

  it('exports nothing that the sampler does not take', async () => {
    const { collector, exported } = await traced({ operations: ALL }, new AlwaysOffSampler());
    const { root, keys } = await files();
    await trainOver(await hierarchyOver(root), keys);
    await exported();
    expect(collector.spans).toEqual([]);
  });

  it('leaves no subscriber when it is stopped, also if something is under way', async () => {
    expect(subscribed()).toEqual([false, false, false]);
    const { collector, exported, stop } = await traced({ operations: ALL });
    const stopOther = instrumentTiered({ operations: ['read', 'read'] });
    expect(subscribed()).toEqual([true, true, true]);
    const { root, keys } = await files();
    const hierarchy = await hierarchyOver(root);
    const reading = hierarchy.read(keys[9] ?? '');
    stop();
    expect(subscribed()).toEqual([true, false, false]);
    stopOther();
    stop();
    expect(subscribed()).toEqual([false, false, false]);
    await reading;
    await trainOver(hierarchy, keys);
    await exported();
    expect(collector.spans).toEqual([]);
  });

  it('refuses operations that there are none of', () => {
    const operations = ['write' as 'read'];
    expect(() => instrumentTiered({ operations })).toThrow(/operations: expected read, place, prefetch/);
    expect(subscribed()).toEqual([false, false, false]);
  });

  it('needs no provider to work: without one its spans go nowhere', async () => {
    const global: TracerProvider = trace.getTracerProvider();
    expect(global.getTracer('x').startSpan('y').isRecording()).toBe(false);
    const stop = instrumentTiered({ operations: ALL });
    const { root, keys } = await files();
    await trainOver(await hierarchyOver(root), keys);
    stop();
  });
});
