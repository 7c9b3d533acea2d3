// TFRecord shards in a bucket, read by four ranks that have a disk each. From the seed a rank knows what it
// will read until the end, and keeps that. The training is stopped, and goes on with two ranks.
// Run it: node --conditions=tiered-source --import tsx examples/s3-loader.ts
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Hierarchy } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { encodeRecords, tfrecord } from '@tiered/formats/tfrecord';
import { DataLoader, type LoaderState } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { S3Driver } from '@tiered/s3-adapter';
import { S3Server } from '@tiered/s3-server';
import { PlacementHandler, planFollower } from '@tiered/tiering';

const SAMPLES = 800;
const SHARDS = 20;
const EPOCHS = 2;

/** What one rank does; in a real training it has a process of its own. `most` batches, then it is stopped. */
async function train(rank: number, ranks: number, most: number, resume?: LoaderState) {
  const { endpoint, region, credentials } = server;
  const where = { bucket: 'datasets', prefix: 'digits/', endpoint, region, credentials };
  const cache = new FileSystemDriver({ root: path.join(directory, `cache-${rank}`), writable: true });
  const policy = planFollower();
  await using hierarchy = await new Hierarchy({
    source: new S3Driver({ ...where, proxy: 'none' }),
    tiers: [{ driver: cache, quota: '2MiB' }],
    placement: new PlacementHandler({ policy }),
  }).open();
  // One rank finds the samples, and the next ones take its indexes.
  const indexes = path.join(directory, 'indexes');
  const samples = await openSamples(hierarchy, { format: tfrecord(), indexes });

  const job = { batchSize: 8, seed: 42, epochs: EPOCHS, rank, ranks, resume };
  // Real datasets are much larger than what is read ahead.
  const prefetch = { memory: '128KiB' };
  await using loader = new DataLoader(samples, { ...job, prefetch, clairvoyant: { policy } });
  const seen: string[] = [];
  for await (const { epoch, index, data } of loader) {
    for (const record of data) seen.push(`${epoch}/${Buffer.from(record).readUInt32LE()}`);
    // Leaving the loop closes the loader.
    if (index === most - 1) break;
  }
  await hierarchy.idle();
  const { source, tiers } = hierarchy.stats();
  const [disk] = tiers;
  const served = `${source.reads} reads of the bucket and ${disk?.reads} of its disk, which has ${disk?.usedBytes} bytes`;
  console.log(`rank ${rank} of ${ranks}: ${seen.length} samples; ${served}`);
  return { seen, state: loader.stateDict() };
}

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-s3-loader-'));
// A server in this process. For one of yours, credentials may be left out: they come from the environment.
const server = await S3Server.start();
try {
  server.createBucket('datasets');
  for (let shard = 0; shard < SHARDS; shard++) {
    const records = Array.from({ length: SAMPLES / SHARDS }, () => Buffer.alloc(4000));
    for (const [i, record] of records.entries()) record.writeUInt32LE(shard * records.length + i);
    server.put('datasets', `digits/${shard}.tfrecord`, encodeRecords(records));
  }
  const before = await Promise.all([0, 1, 2, 3].map((rank) => train(rank, 4, 7)));
  // All ranks have the same state. It is kept with a checkpoint, as JSON.
  const [checkpoint = '', ...others] = before.map(({ state }) => JSON.stringify(state));
  for (const other of others) assert.equal(other, checkpoint);
  console.log(`stopped at ${checkpoint}`);

  const state = JSON.parse(checkpoint) as LoaderState;
  const after = await Promise.all([0, 1].map((rank) => train(rank, 2, Infinity, state)));
  const seen = [...before, ...after].flatMap((run) => run.seen);
  assert.equal(seen.length, EPOCHS * SAMPLES);
  assert.equal(new Set(seen).size, EPOCHS * SAMPLES);
  console.log(`all ranks together: ${SAMPLES} samples in each of ${EPOCHS} epochs, none lost, none twice`);
} finally {
  await server.close();
  await fs.rm(directory, { recursive: true });
}
