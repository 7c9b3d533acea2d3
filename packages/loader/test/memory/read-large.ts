import { Hierarchy } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Prefetcher, shuffledSequence, type PrefetcherOptions } from '@tiered/prefetch';
import fs from 'node:fs/promises';
import path from 'node:path';

/*
 * Reads files of zeros, and prints how many bytes it read, and by how many the memory of this process grew at
 * most. Files that take no room on the disk take as much memory as others when they are read.
 */
const [directory = '', way = '', sizes = '[]', memory = '0'] = process.argv.slice(2);

for (const [i, size] of (JSON.parse(sizes) as number[]).entries()) {
  await using file = await fs.open(path.join(directory, `${String(i).padStart(4, '0')}.bin`), 'w');
  await file.truncate(size);
}
await using hierarchy = await new Hierarchy({ source: new FileSystemDriver({ root: directory }) }).open();
const keys: string[] = [];
for await (const page of hierarchy.list()) keys.push(...page.map(({ key }) => key));
keys.sort();
const prefetch = { memory: Number(memory) } satisfies PrefetcherOptions;
let bytes = 0;

async function prefetched(seed: number, batch: number): Promise<void> {
  const accesses = shuffledSequence(keys, { seed, epochs: 1 });
  await using prefetcher = new Prefetcher(hierarchy, accesses, prefetch);
  for await (const samples of prefetcher.batches(batch))
    for (const { data } of samples) bytes += data.byteLength;
}

const ways: Record<string, () => Promise<void>> = {
  'one by one': () => prefetched(1, 1),
  'in batches': () => prefetched(1, 4),
  'many at a time': () => prefetched(1, 400),
  'with new prefetchers': async () => {
    for (let seed = 0; seed < 20; seed++) await prefetched(seed, 1);
  },
  'in windows': async () => {
    const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: 64 * 1024 }) });
    const options = { batchSize: 64, shuffle: { window: 16 * 2 ** 20 }, prefetch };
    await using loader = new DataLoader(samples, options);
    for await (const { data } of loader) for (const record of data) bytes += record.byteLength;
  },
};

/** The most memory that this process had so far, in bytes. */
const peak = () => process.resourceUsage().maxRSS * 1024;

const before = peak();
await ways[way]?.();
console.log(JSON.stringify({ bytes, grown: peak() - before }));
