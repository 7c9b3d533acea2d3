// A bucket as the source, with RAM and a directory in front of it: two epochs, and what came from where.
// Run it: node --conditions=tiered-source --import tsx examples/s3.ts
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { S3Driver } from '@tiered/s3-adapter';
import { S3Server } from '@tiered/s3-server';
import { PlacementHandler } from '@tiered/tiering';

// A server in this process. For one of yours, credentials may be left out: they come from the environment.
const server = await S3Server.start();
const { endpoint, region, credentials } = server;
const where = { bucket: 'datasets', prefix: 'digits/', endpoint, region, credentials };
server.createBucket('datasets');
for (let i = 0; i < 10; i++) server.put('datasets', `digits/${i}`, Buffer.alloc(2 ** 20, i));

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-s3-'));
const ram = { driver: new MemoryDriver({ name: 'ram' }), quota: '3MiB' };
const disk = { driver: new FileSystemDriver({ root: directory, writable: true }), quota: '4MiB' };
const source = new S3Driver({ ...where, proxy: 'none' });
const hierarchy = new Hierarchy({ source, tiers: [ram, disk], placement: new PlacementHandler() });
await hierarchy.open();
for (let epoch = 1; epoch <= 2; epoch++) {
  for (let i = 0; i < 10; i++) await hierarchy.read(String(i));
  await hierarchy.idle();
  const { tiers, source: bucket } = hierarchy.stats();
  const served = [...tiers, bucket].map(({ driver, reads }) => `${driver} ${reads}`);
  console.log(`reads served up to epoch ${epoch}: ${served.join(', ')}`);
}
await hierarchy.close();
await server.close();
await fs.rm(directory, { recursive: true });
