// An HTTP server with one hierarchy for many jobs. A client asks for a seed and a rank, and is sent the
// batches of a loader. Jobs share tiers and memory, and the source is read once for all of them.
// Run it: node --conditions=tiered-source --import tsx examples/training-service.ts
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { PlacementHandler } from '@tiered/tiering';
import { TrainingService } from './training-service/service.js';

const SAMPLES = 1000;
const BYTES = 1024;

/** Takes samples as they come, and returns the numbers that they begin with. */
async function train({ body }: Response): Promise<number[]> {
  const seen: number[] = [];
  let rest = Buffer.alloc(0);
  for await (const bytes of body ?? []) {
    rest = Buffer.concat([rest, bytes as Uint8Array]);
    for (; rest.byteLength >= BYTES; rest = rest.subarray(BYTES)) seen.push(rest.readUInt32LE());
  }
  return seen;
}

const source = new MemoryDriver({ name: 'dataset' });
const all = Buffer.alloc(SAMPLES * BYTES);
for (let i = 0; i < SAMPLES; i++) all.writeUInt32LE(i, i * BYTES);
await source.write('samples', all, { size: all.byteLength });
const tiers = [{ driver: new MemoryDriver({ name: 'ram' }), quota: '8MiB' }];
await using hierarchy = await new Hierarchy({ source, tiers, placement: new PlacementHandler() }).open();
const service = new TrainingService(
  await openSamples(hierarchy, { format: rawRecords({ recordBytes: BYTES }) }),
);
service.server.listen(0, '127.0.0.1');
await once(service.server, 'listening');
const { port } = service.server.address() as AddressInfo;
const ask = (job: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}/?${job}`, init);

// Two clients that do not come to an end, and a third.
const leaving = new AbortController();
const endless = ['seed=1&epochs=9999', 'seed=2&epochs=9999'].map((job) => ask(job, leaving));
for (const { status } of await Promise.all(endless)) assert.equal(status, 200);
const refused = await ask('seed=3');
console.log(`third client: ${refused.status}, ${await refused.text()}`);
assert.equal(refused.status, 503);
leaving.abort();
await Promise.all(service.jobs);
console.log(`the clients went away, and ${service.jobs.size} jobs are left`);
const wrong = await ask('rank=2&ranks=2');
console.log(`a client that asks for nonsense: ${wrong.status}, ${await wrong.text()}`);
assert.equal(wrong.status, 400);

// The two ranks of one training, at the same time.
const ranks = await Promise.all([0, 1].map((rank) => ask(`seed=42&ranks=2&rank=${rank}`).then(train)));
console.log(`two ranks got ${ranks.map((seen) => seen.length).join(' + ')} samples`);
assert.deepEqual([ranks.flat().length, new Set(ranks.flat()).size], [SAMPLES, SAMPLES]);
const { readBytes } = hierarchy.stats().source;
console.log(`the source gave ${readBytes} bytes to all of them, those of the dataset once`);
assert.equal(readBytes, SAMPLES * BYTES);
service.server.close();
