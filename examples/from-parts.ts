// What openDataset puts together, by hand: two epochs over a directory, through RAM and a disk tier.
// Run it: node --conditions=tiered-source --import tsx examples/from-parts.ts
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { Hierarchy, MemoryDriver } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Prefetcher, shuffledSequence } from '@tiered/prefetch';
import { PlacementHandler } from '@tiered/tiering';

async function train(dataset: string, cache: string): Promise<void> {
  const ram = { driver: new MemoryDriver(), quota: '64MiB' };
  const disk = { driver: new FileSystemDriver({ root: cache, writable: true }), quota: '200GiB' };
  const source = new FileSystemDriver({ root: dataset });
  const placement = new PlacementHandler();
  await using hierarchy = await new Hierarchy({ source, tiers: [ram, disk], placement }).open();
  const keys: string[] = [];
  for await (const page of hierarchy.list()) keys.push(...page.map(({ key }) => key));
  const order = shuffledSequence(keys.sort(), { seed: 42, epochs: 2 });
  // data is lent until the loop goes on: step copies what it keeps.
  for await (const { key, epoch, data } of new Prefetcher(hierarchy, order)) step(key, epoch, data);
  console.log(hierarchy.stats()); // epoch 1 read little or nothing from the source
}

function step(key: string, epoch: number, data: Uint8Array): void {
  console.log(`epoch ${epoch}: ${key}, ${data.byteLength} bytes`);
}

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-from-parts-'));
const dataset = path.join(directory, 'dataset');
await fs.mkdir(dataset);
for (const key of ['a', 'b', 'c', 'd', 'e'])
  await fs.writeFile(path.join(dataset, key), Buffer.alloc(10_000, key));
await train(dataset, path.join(directory, 'cache'));
await fs.rm(directory, { recursive: true });
