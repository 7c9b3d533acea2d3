// The shortest useful program: two epochs over a directory, through RAM and a disk tier.
// Run it: node --conditions=tiered-source --import tsx examples/quickstart.ts
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

// #region README
import { openDataset } from 'tiered';

async function train(source: string, cache: string): Promise<void> {
  await using data = await openDataset({ source, tiers: ['ram:64MiB', `${cache}:200GiB`] });
  // The bytes are lent until the loop goes on: step copies what it keeps.
  for await (const { key, epoch, data: bytes } of data.epochs({ seed: 42, epochs: 2 }))
    step(key, epoch, bytes);
  console.log(data.report()); // epoch 2 read little or nothing from the source
}
// #endregion README

function step(key: string, epoch: number, bytes: Uint8Array): void {
  console.log(`epoch ${epoch}: ${key}, ${bytes.byteLength} bytes`);
}

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-quickstart-'));
const dataset = path.join(directory, 'dataset');
await fs.mkdir(dataset);
for (const key of ['a', 'b', 'c', 'd', 'e'])
  await fs.writeFile(path.join(dataset, key), Buffer.alloc(10_000, key));
await train(dataset, path.join(directory, 'cache'));
await fs.rm(directory, { recursive: true });
