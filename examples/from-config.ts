// The hierarchy of the quickstart, described in a file: examples/tiers.yaml says where everything is.
// Run it: node --conditions=tiered-source --import tsx examples/from-config.ts
import { loadHierarchy } from '@tiered/config';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-from-config-'));
const dataset = path.join(directory, 'dataset');
await fs.mkdir(dataset);
for (const key of ['a', 'b', 'c']) await fs.writeFile(path.join(dataset, key), Buffer.alloc(10_000, key));

process.env['TIERED_DATASET'] = dataset;
process.env['TIERED_CACHE'] = path.join(directory, 'cache');

const hierarchy = await loadHierarchy(new URL('tiers.yaml', import.meta.url));
await hierarchy.open();
for (let epoch = 0; epoch < 2; epoch++) {
  for (const key of ['a', 'b', 'c'])
    console.log(`epoch ${epoch}: ${key}, ${(await hierarchy.read(key)).byteLength} bytes`);
  await hierarchy.idle();
}
for (const { driver, reads } of hierarchy.stats().tiers) console.log(`${driver} served ${reads} reads`);
await hierarchy.close();
await fs.rm(directory, { recursive: true });
