/*
 * A bucket that anybody may read, in memory, behind a link. Its argument is a `SourcePlan` as JSON. It says
 * its endpoint, and from then on answers each line with what it was asked until then.
 */
import { S3Server } from '@tiered/s3-server';
import readline from 'node:readline';
import { keysOf } from './datasets.js';
import { startLink } from './link.js';
import type { SourceCounts, SourcePlan } from './source.js';

const { dataset, latencyMs, bytesPerSecond } = JSON.parse(process.argv[2] ?? '') as SourcePlan;
const server = await S3Server.start({ faults: [{ fault: { kind: 'latency', medianMs: latencyMs } }] });
server.createBucket(dataset.bucket, { public: true });
const content = Buffer.alloc(dataset.bytes, 'tiered');
for (const key of keysOf(dataset)) server.put(dataset.bucket, key, content);
const link = await startLink(Number(new URL(server.endpoint).port), bytesPerSecond);

function counts(): SourceCounts {
  const operations = Object.values(server.requests).reduce((sum, count) => sum + count, 0);
  return { endpoint: link.endpoint, operations, bytes: link.bytes() };
}

readline
  .createInterface(process.stdin)
  .on('line', () => console.log(JSON.stringify(counts())))
  .on('close', () => process.exit());
