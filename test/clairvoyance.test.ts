import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Prefetcher } from '@tiered/prefetch';
import { accessTables, globalBatchSampler, samplerSequence } from '@tiered/prefetch/sampling';
import { frequency, placeInOrder, PlacementHandler } from '@tiered/tiering';
import { clusterPlan, fillOrder, frequencyPlan, UNPLANNED } from '@tiered/tiering/plans';
import { describe, expect, it } from 'vitest';

/** Counts the reads of each object. */
class CountingReads extends InterceptingDriver {
  readonly reads = new Map<string, number>();
  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.operation === 'readInto') this.reads.set(call.key, (this.reads.get(call.key) ?? 0) + 1);
    return call.proceed();
  }
}

const all = (workers: number) => [...Array(workers).keys()];

describe('from the seed of a training to what is on each tier', () => {
  it('reads each object from the source once for what is planned, filled while a training goes on', async () => {
    const scratch = await mkdtemp(path.join(os.tmpdir(), 'tiered-clairvoyance-'));
    try {
      const [samples, epochs, workers] = [400, 4, 4];
      const sizes = Array.from({ length: samples }, (_, sample) => 100 + ((sample * 61) % 300));
      const keys = sizes.map((_, sample) => `s${sample}`);
      const dataset = new MemoryDriver();
      for (const [sample, key] of keys.entries()) {
        const bytes = someBytes(sizes[sample] ?? 0, sample);
        await dataset.write(key, bytes, { size: bytes.byteLength });
      }
      const source = new CountingReads(dataset);
      const sampler = globalBatchSampler({ samples, epochs, seed: 5, workers, batchSize: 32 });
      const [table] = await accessTables(sampler, [1]);
      if (table === undefined) throw new Error('no table');
      const quotas = [10_000, 20_000];
      const plan = frequencyPlan({ ...table, sizes, quotas, savedMs: (bytes) => 5 + bytes / 100 });
      const sampleOf = (key: string) => Number(key.slice(1));
      await using hierarchy = await new Hierarchy({
        source,
        tiers: [
          { driver: new MemoryDriver(), quota: 10_000 },
          // On a disk samples take whole blocks, and the index takes some.
          { driver: new FileSystemDriver({ root: scratch, writable: true }), quota: '4MiB' },
        ],
        placement: new PlacementHandler({ policy: frequency({ plan, sampleOf }), chunk: 1000 }),
      }).open();
      const order = [...fillOrder({ plan, first: table.first })].map((sample) => `s${sample}`);
      const filling = placeInOrder(hierarchy, order);
      const prefetcher = new Prefetcher(hierarchy, samplerSequence(sampler, 1, keys), { producers: 4 });
      for await (const { key, data } of prefetcher)
        expect(Buffer.from(data).equals(someBytes(sizes[sampleOf(key)] ?? 0, sampleOf(key)))).toBe(true);
      const on = (level: number) => plan.filter((one) => one === level).length;
      expect(await filling).toEqual({ placed: [on(0), on(1)], left: 0, failed: 0 });
      expect(Math.min(on(0), on(1))).toBeGreaterThan(20);
      for (const [sample, count] of table.frequency.entries()) {
        const reads = source.reads.get(`s${sample}`) ?? 0;
        if (plan[sample] !== UNPLANNED) expect(reads).toBe(1);
        else expect(reads).toBeLessThanOrEqual(count);
      }
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });

  it('holds more of the dataset among workers than if each chose by chance, as each keeps what others read less', async () => {
    const samples = 4000;
    for (const workers of [2, 4, 8]) {
      const sampler = globalBatchSampler({ samples, epochs: 40, seed: 3, workers, batchSize: 64 });
      const accesses = await accessTables(sampler, all(workers));
      const sizes = new Uint8Array(samples).fill(1);
      const cluster = clusterPlan({ accesses, sizes, quotas: [Math.ceil(samples / workers)] });
      let held = 0;
      for (let sample = 0; sample < samples; sample++) held += cluster.holders(sample).length > 0 ? 1 : 0;
      const byChance = 1 - (1 - 1 / workers) ** workers;
      expect(held / samples).toBeGreaterThan(byChance + 0.02);
    }
  });

  it('leaves out of a worker only what others read at least as often as it (Lemma 1)', async () => {
    const [samples, epochs, workers] = [2000, 24, 4];
    const sampler = globalBatchSampler({ samples, epochs, seed: 9, workers, batchSize: 20 });
    const accesses = await accessTables(sampler, all(workers));
    const cluster = clusterPlan({
      accesses,
      sizes: new Uint8Array(samples).fill(1),
      quotas: [samples / workers],
    });
    const reads = (worker: number, sample: number) => accesses[worker]?.frequency[sample] ?? 0;
    let seldom = 0;
    for (const worker of all(workers)) {
      for (let sample = 0; sample < samples; sample++) {
        const own = reads(worker, sample);
        if (cluster.levelOn(worker, sample) !== UNPLANNED || own > epochs / workers) continue;
        seldom += 1;
        const others = all(workers).filter((other) => other !== worker);
        expect(Math.max(...others.map((other) => reads(other, sample)))).toBeGreaterThanOrEqual(
          (epochs - own) / (workers - 1),
        );
      }
    }
    expect(seldom).toBeGreaterThan(samples);
  });
});
