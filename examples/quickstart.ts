// The shortest useful program: two epochs over a directory, through RAM and a disk tier.
// Run it: node --conditions=tiered-source --import tsx examples/quickstart.ts
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-quickstart-'));
process.chdir(directory);
await fs.mkdir('data');
for (const key of ['a', 'b', 'c', 'd', 'e']) await fs.writeFile(`data/${key}`, Buffer.alloc(10_000, key));

// #region README
import { openDataset } from 'tiered';

const data = await openDataset({ source: './data', tiers: ['ram:64MiB', './cache:200GiB'] });
try {
  // The bytes are lent until the loop goes on: copy what you keep.
  for await (const { key, epoch, data: bytes } of data.epochs({ seed: 42, epochs: 2 }))
    console.log(epoch, key, bytes.byteLength);
  console.log(data.report()); // epoch 1 read little or nothing from the source
} finally {
  await data.close();
}
// #endregion README

await fs.rm(directory, { recursive: true });
