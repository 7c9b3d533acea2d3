// The shortest useful program: two epochs over a directory, through RAM and a disk tier.
// Run it: node --conditions=tiered-source --import tsx examples/quickstart.ts
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

// README begins
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Prefetcher, shuffledSequence } from '@tiered/prefetch';
import { PlacementHandler } from '@tiered/tiering';

async function train(dataset: string, cache: string, keys: string[]): Promise<void> {
  const ram = { driver: new MemoryDriver(), quota: '64MiB' };
  const disk = { driver: new FileSystemDriver({ root: cache, writable: true }), quota: '200GiB' };
  const source = new FileSystemDriver({ root: dataset });
  const hierarchy = new Hierarchy({ source, tiers: [ram, disk], placement: new PlacementHandler() });
  await hierarchy.start();
  const order = shuffledSequence(keys, { seed: 42, epochs: 2 });
  for await (const { key, epoch, data } of new Prefetcher(hierarchy, order)) step(key, epoch, data);
  console.log(hierarchy.stats().source); // epoch 2 read nothing from the source
  await hierarchy.close();
}
// README ends

function step(key: string, epoch: number, data: Uint8Array): void {
  console.log(`epoch ${epoch}: ${key}, ${data.byteLength} bytes`);
}

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-quickstart-'));
const dataset = path.join(directory, 'dataset');
await fs.mkdir(dataset);
const keys = Array.from({ length: 5 }, (_, i) => `sample-${i}`);
for (const key of keys) await fs.writeFile(path.join(dataset, key), Buffer.alloc(10_000, key));
await train(dataset, path.join(directory, 'cache'), keys);
await fs.rm(directory, { recursive: true });
