// WebDataset shards, read through RAM and a disk. Looking for the samples reads the shards once, and that
// fills the tiers: the training itself reads nothing from the source.
// Run it: node --conditions=tiered-source --import tsx examples/webdataset.ts
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { encodeTar, webdataset, type WebdatasetSample } from '@tiered/formats/webdataset';
import { DataLoader } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';

const SHARDS = 8;
const SAMPLES = 100;

/** A shard with the files 0000.jpg, 0000.cls, 0001.jpg and so on. */
function shardOf(shard: number): Uint8Array {
  const samples = Array.from({ length: SAMPLES }, (_, i): WebdatasetSample => {
    const number = shard * SAMPLES + i;
    const jpg = new Uint8Array(4000 + (i % 7) * 1000).fill(number);
    const cls = Buffer.from(String(number % 10));
    return { name: String(number).padStart(4, '0'), parts: new Map(Object.entries({ jpg, cls })) };
  });
  return encodeTar(samples);
}

/** What the training gets. A real one decodes the image here, see image-workers.ts. */
function example({ name, parts }: WebdatasetSample) {
  const { jpg: image = new Uint8Array(), cls = new Uint8Array() } = Object.fromEntries(parts);
  return { name, image, label: Number(Buffer.from(cls).toString()) };
}

async function train(dataset: string, cache: string): Promise<void> {
  const ram = { driver: new MemoryDriver({ name: 'ram' }), quota: '2MiB' };
  const disk = { driver: new FileSystemDriver({ root: cache, writable: true }), quota: '16MiB' };
  const source = new FileSystemDriver({ root: dataset });
  const placement = new PlacementHandler();
  await using hierarchy = await new Hierarchy({ source, tiers: [ram, disk], placement }).open();
  // With `indexes: directory`, the next start need not look for them again.
  const samples = await openSamples(hierarchy, { format: webdataset() });
  await hierarchy.idle();
  console.log(`${samples.keys.length} shards have ${samples.samples} samples`);

  // Neighbours are read at once, and those of a window are mixed: for sources where random access is dear.
  const order = { seed: 42, epochs: 3, shuffle: { window: '4MiB' } };
  await using loader = new DataLoader(samples, { ...order, batchSize: 32, transform: example });
  const orders: string[][] = [[], [], []];
  for await (const { data, epoch } of loader) {
    for (const { name, image, label } of data) {
      orders[epoch]?.push(name);
      assert(label === Number(name) % 10 && image[0] === Number(name) % 256);
    }
  }
  console.log(loader.report());
  for (const order of orders) assert.equal(new Set(order).size, SHARDS * SAMPLES);
  console.log(`epochs begin with ${orders.map((order) => order.slice(0, 4).join(' ')).join(', then ')}`);
  assert.notDeepEqual(orders[0], orders[1]);

  const { readBytes } = hierarchy.stats().source;
  console.log(`the source gave ${readBytes} bytes, those of every shard once`);
  assert.equal(readBytes, SHARDS * shardOf(0).byteLength);
}

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-webdataset-'));
try {
  const dataset = path.join(directory, 'dataset');
  await fs.mkdir(dataset);
  for (let i = 0; i < SHARDS; i++) await fs.writeFile(path.join(dataset, `${i}.tar`), shardOf(i));
  await train(dataset, path.join(directory, 'cache'));
} finally {
  await fs.rm(directory, { recursive: true });
}
