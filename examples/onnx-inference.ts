// Inference by ONNX Runtime over a dataset in shards: the loader reads and makes batches ahead of the model.
// With onnxruntime-node it is the same program: import that package instead.
// Run it: node --conditions=tiered-source --import tsx examples/onnx-inference.ts
import { Hierarchy, MemoryDriver } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { DataLoader, stack } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-web';
import { PIXELS, readMnist } from './mnist/mnist.js';
import { nearestMean } from './onnx/nearest-mean.js';

const SHARDS = 10;
const { signal } = new AbortController();

/** Puts label and pixels apart. */
function collate(records: readonly Uint8Array[]) {
  return {
    labels: records.map((record) => record[0]),
    images: stack(records.map((record) => record.subarray(1))),
  };
}

async function classify(root: string, model: Uint8Array): Promise<void> {
  await using hierarchy = await new Hierarchy({
    source: new FileSystemDriver({ root }),
    tiers: [{ driver: new MemoryDriver({ name: 'ram' }), quota: '64MiB' }],
    placement: new PlacementHandler(),
  }).open();
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: 1 + PIXELS }) });
  await using loader = new DataLoader(samples, { batchSize: 100, shuffle: false, collate });
  const session = await InferenceSession.create(model);
  let right = 0;
  for await (const { data } of loader) {
    const { labels, images } = data;
    const { digits } = await session.run({ images: new Tensor('uint8', images.data, images.shape) });
    const found = digits?.data as BigInt64Array;
    right += labels.filter((label, i) => label === Number(found[i])).length;
  }
  await session.release();
  const share = right / samples.samples;
  console.log(`${samples.samples} digits, ${(100 * share).toFixed(1)} % of them recognized`);
  console.log(loader.report());
  if (share < 0.7) throw new Error('a mean image recognizes more than that');
}

const model = nearestMean(await readMnist('train', signal), 5000);
const digits = await readMnist('t10k', signal);
const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-onnx-'));
for (let shard = 0; shard < SHARDS; shard++) {
  const numbers = Array.from({ length: digits.count / SHARDS }, (_, i) => i * SHARDS + shard);
  const records = numbers.flatMap((i) => [Buffer.of(digits.label(i)), digits.image(i)]);
  await fs.writeFile(path.join(directory, `${shard}`), Buffer.concat(records));
}
await classify(directory, model);
await fs.rm(directory, { recursive: true });
