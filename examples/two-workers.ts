/**
 * Two workers as one cache: each has room for half of the data, and reads the other half from the other one.
 * Run it in two terminals: node --conditions=tiered-source --import tsx examples/two-workers.ts
 * Alone it waits for the other one for five seconds, and then reads from the source.
 */
import { Cluster } from '@tiered/cluster';
import { SqliteRegistry } from '@tiered/cluster/registry';
import { Hierarchy, MemoryDriver, Random } from '@tiered/core';
import { ThrottleDriver } from '@tiered/core/decorators';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const OBJECTS = 200;
const BYTES = 100_000;

// The dataset of both: whoever is first writes it.
const root = path.join(os.tmpdir(), `tiered-two-workers-${process.getuid?.() ?? 'run'}`, 'data');
await mkdir(root, { recursive: true });
for (let i = 0; i < OBJECTS; i++)
  await writeFile(path.join(root, `${1000 + i}`), Buffer.alloc(BYTES, i), { flag: 'wx' }).catch(
    () => undefined,
  );

await using cluster = await Cluster.join({ registry: SqliteRegistry.named('two-workers'), size: 2 });
const source = new ThrottleDriver(new FileSystemDriver({ root }), { latencyMs: 5, bytesPerSecond: '50MB' });
await using hierarchy = new Hierarchy({
  source: cluster.source(source),
  tiers: [{ driver: new MemoryDriver(), quota: (1.2 * OBJECTS * BYTES) / 2 }],
  placement: new PlacementHandler({ policy: cluster.policy(firstFit) }),
});
await hierarchy.open();
await cluster.serve(hierarchy);

console.log(`worker ${cluster.rank} waits for the other one`);
const isTogether = await cluster.gathered({ timeoutMs: 5000 });
console.log(isTogether ? 'both are there' : 'nobody came: all that has no room here is read from the source');

let before = { tier: 0, peers: 0, source: 0 };
for (let epoch = 0; epoch < 3; epoch++) {
  for (const i of new Random(cluster.rank, epoch).permutation(OBJECTS)) await hierarchy.read(`${1000 + i}`);
  const { peers, source: asked } = cluster.stats();
  const [tier] = hierarchy.stats().tiers;
  const now = { tier: tier?.readBytes ?? 0, peers: peers.bytes, source: asked.bytes };
  const mb = (field: keyof typeof now) => `${((now[field] - before[field]) / 1e6).toFixed(1)} MB`;
  console.log(
    `epoch ${epoch}: own tier, for both ${mb('tier')}, other worker ${mb('peers')}, source ${mb('source')}`,
  );
  before = now;
}
console.log('done: from now on the other one, if it still reads, reads from the source');
