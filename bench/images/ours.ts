import { Hierarchy } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { imageFolder, type LabelledImage } from '@tiered/formats/image-folder';
import { DataLoader, type StackedEach } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import readline from 'node:readline';
import type { Example } from '../../examples/image-workers/decode.js';
import { FROM_SOURCES } from '../../packages/loader/test/from-sources.js';

/** The class of the photographs. It is named, so that none is looked for. */
const CLASSES = ['photographs'];
/** More than are asked for. */
const EPOCHS = 1000;
const DECODERS: Readonly<Record<string, URL>> = {
  'libjpeg-turbo': new URL('../../examples/image-workers/decode.ts', import.meta.url),
  sharp: new URL('./sharp.ts', import.meta.url),
};

type Batch = StackedEach<Record<keyof Example, Uint8Array>>;

/**
 * Makes batches of photographs by a DataLoader.
 * usage: DECODER WORKERS BATCH BATCHES SOURCE TIER < a line for each round, which is so many batches; answers
 * with the bytes of their pixels. TIER may be empty: none.
 */
const [decoder = '', workers = '', batchSize = '', batches = '', source = '', root = ''] =
  process.argv.slice(2);

await using hierarchy = await new Hierarchy({
  source: new FileSystemDriver({ root: source }),
  tiers:
    root === ''
      ? []
      : [{ driver: new FileSystemDriver({ root, writable: true }), quota: '1GiB', layout: 'packed' }],
  placement: new PlacementHandler(),
}).open();
const samples = await openSamples(hierarchy, { format: imageFolder({ classes: CLASSES }) });
await using loader = new DataLoader<LabelledImage, Example, Batch>(samples, {
  batchSize: Number(batchSize),
  seed: 1,
  epochs: EPOCHS,
  workers: Number(workers),
  workerExecArgv: FROM_SOURCES,
  transform: { module: DECODERS[decoder] ?? decoder, export: 'augment' },
  collate: { module: '@tiered/loader', export: 'stackEach' },
});

const coming = loader[Symbol.asyncIterator]();
const lines = readline.createInterface(process.stdin)[Symbol.asyncIterator]();
while ((await lines.next()).done !== true) {
  let bytes = 0;
  for (let i = 0; i < Number(batches); i++) {
    const { value } = await coming.next();
    bytes += value?.data.image.data.byteLength ?? 0;
  }
  process.stdout.write(`${bytes}\n`);
}
