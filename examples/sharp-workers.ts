// JPEG images, decoded by sharp in worker threads: in every epoch, and once, with the pixels kept on a disk.
// Sharp works in Node's pool (UV_THREADPOOL_SIZE), and the workers do what is left to JavaScript.
// Run it: node --conditions=tiered-source --import tsx examples/sharp-workers.ts
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Hierarchy } from '@tiered/core';
import { openSamples, type SampleSet } from '@tiered/formats';
import { classesOf, imageFolder, type LabelledImage } from '@tiered/formats/image-folder';
import { DataLoader, DerivedDriver } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { collate, SIDE } from './sharp-workers/decode.js';
import { writeImages } from './sharp-workers/images.js';

/** Said by hand, because the compiler does not look into a module that threads load. */
type Collated = ReturnType<typeof collate>;

/** Of each of the two classes. */
const IMAGES = 80;
// So little is read ahead that each epoch is measured by itself. Leave that to the loader.
const job = { batchSize: 8, seed: 42, epochs: 3, prefetch: { memory: '256KiB' } };
const module = new URL('./sharp-workers/decode.ts', import.meta.url);
// Options of Node for the threads, because these are sources. Compiled programs need none.
const typescript = new URL('./sharp-workers/typescript.mjs', import.meta.url).href;
const threads = { workers: 2, workerExecArgv: ['--conditions=tiered-source', '--import', typescript] };

async function decodedInEachEpoch(images: SampleSet<LabelledImage>): Promise<void> {
  await using loader = new DataLoader<LabelledImage, LabelledImage, Collated>(images, {
    ...job,
    ...threads,
    transform: { module, export: 'decode' },
    collate: { module, export: 'collate' },
  });
  await train('decoded in each epoch', loader);
}

async function decodedOnce(images: SampleSet<LabelledImage>, root: string, classes: string[]): Promise<void> {
  const bytes = SIDE * SIDE * 3;
  const transform = { name: `rgb-${SIDE}`, version: '1', make: { module, export: 'pixels' } };
  const source = new DerivedDriver({ samples: images, bytes, transform, ...threads });
  const tiers = [{ driver: new FileSystemDriver({ root, writable: true }), quota: '8MiB' }];
  await using decoded = await new Hierarchy({ source, tiers, placement: new PlacementHandler() }).open();
  // Keys of derived samples are those of the images, so that the format finds the same labels.
  const samples = await openSamples(decoded, { format: imageFolder({ classes }) });
  await using loader = new DataLoader(samples, { ...job, collate });
  await train('decoded once', loader);
  // Each image was made once. Later epochs, and later runs, read the pixels from the tier.
  assert.equal(decoded.stats().source.reads, 2 * IMAGES);
}

/** Looks at all pixels, in place of a model. */
async function train<S>(what: string, loader: DataLoader<S, S, Collated>): Promise<void> {
  for await (const { data } of loader) {
    const { data: pixels, shape } = data.images;
    for (const [i, label] of data.labels.entries()) {
      const [red = 0, , blue = 0] = pixels.subarray(i * shape[1]);
      assert.equal(label, red < blue ? 1 : 0);
    }
  }
  const rates = loader.stats().epochs.map(({ samples, seconds }) => Math.round(samples / seconds));
  console.log(`${what}: ${rates.join(', ')} images/s in epochs 0 (with the start of threads), 1 and 2`);
}

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-sharp-'));
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
