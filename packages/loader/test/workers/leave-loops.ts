import { DataLoader, DerivedDriver } from '@tiered/loader';
import { openSamples } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { FROM_SOURCES } from '../from-sources.js';
import { hierarchyWith } from '../sources.js';

/*
 * Ends what worker threads do for a loop or a driver, in the midst of it, again and again. Prints a line each
 * time: what comes behind it must run, though nothing but the threads keeps this process.
 */
const [way = '', rounds = '1'] = process.argv.slice(2);

const FUNCTIONS = new URL('./functions.ts', import.meta.url);
const hierarchy = await hierarchyWith([200]);
const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes: 8 }) });

/** A step of a training, which keeps the event loop. Meanwhile workers answer. */
function step(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
}

/** Small batches, so that answers are under way when the loop is left. */
function loaderWith(transform: string): DataLoader {
  const make = { module: FUNCTIONS, export: transform };
  const options = { batchSize: 1, shuffle: false, workers: 2, workerExecArgv: FROM_SOURCES };
  return new DataLoader(samples, { ...options, transform: make });
}

/** Loops up to a batch. */
async function loop(transform: string, atTheLast: () => void): Promise<string> {
  let batches = 0;
  for await (const { index } of loaderWith(transform)) {
    batches = index + 1;
    step();
    if (batches < 3) continue;
    atTheLast();
    break;
  }
  return `left after ${batches}`;
}

async function closeDriver(): Promise<string> {
  const driver = new DerivedDriver({
    samples,
    transform: { name: 'same', version: '1', make: { module: FUNCTIONS, export: 'failsAt7' } },
    bytes: 8,
    workers: 2,
    concurrency: 64,
    workerExecArgv: FROM_SOURCES,
  });
  await driver.open({});
  const keys = Array.from({ length: 64 }, (_, i) => `0000#${String(i + 8).padStart(3, '0')}`);
  const reads = keys.map((key) => driver.read(key, { offset: 0, length: 8 }));
  const settled = Promise.allSettled(reads);
  await reads[0];
  step();
  await driver.close();
  await settled;
  return 'closed';
}

const WAYS: Readonly<Record<string, () => Promise<string>>> = {
  break: () => loop('numbers', () => undefined),
  throw: () =>
    loop('numbers', () => {
      throw new Error('refused by the loop');
    }),
  sample: () => everything('failsAt7'),
  exit: () => everything('exitsAt7'),
  driver: closeDriver,
};

async function everything(transform: string): Promise<string> {
  let batches = 0;
  for await (const { index } of loaderWith(transform)) {
    batches = index + 1;
    step();
  }
  return `all ${batches}`;
}

for (let round = 0; round < Number(rounds); round++) {
  const line = await WAYS[way]?.().catch((error: unknown) => String(error));
  process.stdout.write(`${line}\n`);
}
await hierarchy.close();
