import { createHash } from 'node:crypto';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import type { Sample } from '@tiered/prefetch';
import { ThreadPrefetchClient } from '@tiered/sharing';

/** What a consumer in a worker thread is to do. */
export interface Job {
  readonly port: MessagePort;
  readonly way: 'loop' | 'batches' | 'names' | 'keep';
  readonly keys?: readonly string[];
}

/** What it tells about a sample. */
export interface Seen {
  readonly key: string;
  readonly epoch: number;
  readonly position: number;
  readonly sha: string;
  readonly isShared: boolean;
}

const { port, way, keys = [] } = workerData as Job;
const client = new ThreadPrefetchClient(port);

function seen({ key, epoch, position, data }: Pick<Sample, 'key' | 'epoch' | 'position' | 'data'>): Seen {
  const sha = createHash('sha256').update(data).digest('hex');
  return { key, epoch, position, sha, isShared: data.buffer instanceof SharedArrayBuffer };
}

async function work(): Promise<Seen[]> {
  const all: Seen[] = [];
  if (way === 'loop') for await (const sample of client) all.push(seen(sample));
  if (way === 'batches') for await (const batch of client.batches(7)) all.push(...batch.map(seen));
  if (way === 'names') {
    for (const key of keys) {
      const target = new Uint8Array(10_000);
      const count = await client.readInto(key, target);
      all.push(seen({ key, epoch: 0, position: 0, data: target.subarray(0, count) }));
    }
  }
  // Until it is terminated.
  if (way === 'keep') {
    const samples = await client.take(3);
    parentPort?.postMessage(samples.length);
    await new Promise<void>((resolve) => parentPort?.once('message', resolve));
  }
  await client.close();
  return all;
}

parentPort?.postMessage(await work());
