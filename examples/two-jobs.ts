/**
 * Two jobs share a slow source. The one of weight 2 gets twice as much of it, although the other one makes
 * four times as many requests. When it has left, the other one has all:
 * node --conditions=tiered-source --import tsx examples/two-jobs.ts
 * They are in one process here. In two it is the same, since they meet in the registry only: docs/control.md.
 */
import { SqliteRegistry } from '@tiered/cluster/registry';
import { Control } from '@tiered/control';
import { Hierarchy, MemoryDriver, systemClock } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { Prefetcher, StagingBuffer } from '@tiered/prefetch';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const BYTES = 100_000;
const KEYS = Array.from({ length: 50 }, (_, i) => `object-${i}`);

const memory = new MemoryDriver();
await memory.open({});
for (const key of KEYS) await memory.write(key, new Uint8Array(BYTES), { size: BYTES });
const slow = new ThrottleDriver(memory, { latencyMs: 2, bytesPerSecond: '30MB' });

const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-two-jobs-'));

/** A job that reads without end, and what it has read. */
async function start(job: string, weight: number, producers: number) {
  // Each has a registry of its own, on the same file.
  const registry = new SqliteRegistry({ path: path.join(directory, 'jobs.db') });
  const control = await Control.join({ registry, job, weight });
  const source = control.source(slow, { name: 'slow', budget: { bytesPerSecond: '30MB' } });
  const hierarchy = await new Hierarchy({ source }).open();
  const staging = new StagingBuffer({ memory: '4MiB', producers });
  control.followBuffer(staging);
  const prefetcher = new Prefetcher(hierarchy, endless(), { staging });
  let bytes = 0;
  const reading = (async () => {
    for await (const sample of prefetcher) bytes += sample.data.byteLength;
  })();
  const leave = async () => {
    await prefetcher.close();
    await reading.catch(() => undefined);
    await hierarchy.close();
    await control.close();
  };
  return { job, bytes: () => bytes, leave };
}

function* endless() {
  for (;;) yield* KEYS;
}

const jobs = [await start('one', 1, 16), await start('two', 2, 4)];
const [one, two] = jobs;

/** Prints what each job gets by the second. */
async function watch(seconds: number) {
  for (let second = 0; second < seconds; second++) {
    const before = jobs.map(({ bytes }) => bytes());
    await systemClock.sleep(1000);
    const rates = jobs.map(
      ({ job, bytes }, at) => `${job} ${((bytes() - (before[at] ?? 0)) / 1e6).toFixed(1)} MB/s`,
    );
    console.log(rates.join(', '));
  }
}

console.log('weight 1, 16 requests at a time; weight 2, 4 requests at a time:');
await watch(4);
await two?.leave();
console.log('two has left:');
await watch(3);
await one?.leave();
await rm(directory, { recursive: true });
