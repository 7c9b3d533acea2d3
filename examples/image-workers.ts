// JPEG images in worker threads: a random part of each in every epoch, or the whole, decoded once and kept
// on a disk. The decoder works in the thread that asks. So a worker for each core is enough.
// Run it: node --conditions=tiered-source --import tsx examples/image-workers.ts
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Hierarchy } from '@tiered/core';
import { openSamples, type SampleSet } from '@tiered/formats';
import { classesOf, imageFolder, type LabelledImage } from '@tiered/formats/image-folder';
import { DataLoader, DerivedDriver, stackEach, type StackedEach } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { SIDE, type Example } from './image-workers/decode.js';
import { writeImages } from './image-workers/images.js';

/** Said by hand, because the compiler does not look into a module that threads load. */
type Batch = StackedEach<{ image: Uint8Array; label: Uint8Array }>;

/** Of each of the two classes. */
const IMAGES = 80;
// So little is read ahead that each epoch is measured by itself. Leave that to the loader.
const job = { batchSize: 8, seed: 42, epochs: 3, prefetch: { memory: '256KiB' } };
const module = new URL('./image-workers/decode.ts', import.meta.url);
// Options of Node for the threads, because these are sources. Compiled programs need none.
const typescript = new URL('./image-workers/typescript.mjs', import.meta.url).href;
const threads = { workers: 2, workerExecArgv: ['--conditions=tiered-source', '--import', typescript] };

async function decodedInEachEpoch(images: SampleSet<LabelledImage>): Promise<void> {
  await using loader = new DataLoader<LabelledImage, Example, Batch>(images, {
    ...job,
    ...threads,
    transform: { module, export: 'augment' },
    // By name, it hands its arrays over. Those of a function of one's own are copied.
    collate: { module: '@tiered/loader', export: 'stackEach' },
  });
  await train('decoded in each epoch', loader);
}

async function decodedOnce(images: SampleSet<LabelledImage>, root: string, classes: string[]): Promise<void> {
  const bytes = SIDE * SIDE * 3;
  const rgb = { name: `rgb-${SIDE}`, version: '1', make: { module, export: 'pixels' } };
  const source = new DerivedDriver({ samples: images, bytes, transform: rgb, ...threads });
  const tiers = [{ driver: new FileSystemDriver({ root, writable: true }), quota: '64MiB' }];
  await using decoded = await new Hierarchy({ source, tiers, placement: new PlacementHandler() }).open();
  // Keys of derived samples are those of the images, so that the format finds the same labels.
  const samples = await openSamples(decoded, { format: imageFolder({ classes }) });
  const transform = ({ bytes, label }: LabelledImage) => ({ image: bytes, label: Uint8Array.of(label) });
  await using loader = new DataLoader(samples, { ...job, transform, collate: stackEach });
  await train('decoded once', loader);
  // Each image was made once. Later epochs, and later runs, read the pixels from the tier.
  assert.equal(decoded.stats().source.reads, 2 * IMAGES);
}

/** Looks at all pixels, in place of a model. */
async function train<S>(what: string, loader: DataLoader<S, Example, Batch>): Promise<void> {
  for await (const { data } of loader) {
    const { data: pixels, shape } = data.image;
    for (const [i, label] of data.label.data.entries()) {
      const [red = 0, , blue = 0] = pixels.subarray(i * shape[1]);
      assert.equal(label, red < blue ? 1 : 0);
    }
  }
  const rates = loader.stats().epochs.map(({ samples, seconds }) => Math.round(samples / seconds));
  console.log(`${what}: ${rates.join(', ')} images/s in epochs 0 (with the start of threads), 1 and 2`);
}

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-images-'));
try {
  const root = path.join(directory, 'dataset');
  await writeImages(root, IMAGES);
  await using hierarchy = await new Hierarchy({ source: new FileSystemDriver({ root }) }).open();
  const keys: string[] = [];
  for await (const page of hierarchy.list()) keys.push(...page.map(({ key }) => key));
  const classes = classesOf(keys);
  const images = await openSamples(hierarchy, { format: imageFolder({ classes }) });
  await decodedInEachEpoch(images);
  await decodedOnce(images, path.join(directory, 'cache'), classes);
} finally {
  await fs.rm(directory, { recursive: true });
}
