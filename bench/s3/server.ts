import { Random } from '@tiered/core';
import { S3Server } from '@tiered/s3-server';
import { keyOf, type ServerPlan } from './data.js';

/**
 * A process of its own with the S3 server and its objects in memory; ends with the process that forked it.
 */
const plan = JSON.parse(process.argv[2] ?? '{}') as ServerPlan;
const { latencyMs = 0 } = plan;
const server = await S3Server.start({ faults: [{ fault: { kind: 'latency', medianMs: latencyMs } }] });
const random = new Random(1);
for (const { bucket, keys, bytes } of plan.buckets) {
  server.createBucket(bucket);
  const content = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i += 997) content[i] = random.below(256);
  for (let i = 0; i < keys; i++) server.put(bucket, keyOf(i), content);
}
process.once('disconnect', () => process.exit());
process.send?.({ endpoint: server.endpoint, region: server.region, credentials: server.credentials });
