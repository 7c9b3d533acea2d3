// A training that goes epoch by epoch, with a validation between. Both read through the same tiers.
// Run it: node --conditions=tiered-source --import tsx examples/validation.ts
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openDataset } from 'tiered';

const EPOCHS = 3;

async function train(source: string): Promise<void> {
  await using data = await openDataset({ source, tiers: ['ram:64MiB'] });
  const isForTraining = (key: string) => key.startsWith('train/');
  const training = data.epochs({ seed: 42, epochs: EPOCHS, filter: isForTraining });
  for (let epoch = 1; epoch <= EPOCHS; epoch++) {
    let loss = 0;
    // While this validates, the prefetcher reads ahead for the next epoch.
    for await (const { data: bytes } of training.epoch()) loss += lossOf(bytes);
    let error = 0;
    const validation = data.epochs({ shuffle: false, filter: (key) => !isForTraining(key) });
    for await (const { data: bytes } of validation) error += lossOf(bytes);
    console.log(`epoch ${epoch}: loss ${loss}, error of the validation ${error}`);
  }
  const { source: from } = data.hierarchy.stats();
  console.log(`the source gave ${from.readBytes} bytes, those of every object once`);
}

/** In place of a model. */
function lossOf(bytes: Uint8Array): number {
  return bytes[0] ?? 0;
}

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-validation-'));
for (const part of ['train', 'val']) {
  await fs.mkdir(path.join(directory, part));
  for (let i = 0; i < 10; i++)
    await fs.writeFile(path.join(directory, part, `${i}`), Buffer.alloc(10_000, i));
}
await train(directory);
await fs.rm(directory, { recursive: true });
