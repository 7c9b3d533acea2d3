// Rows of Parquet files as batches: two epochs, shuffled within a window of row groups, over RAM and a disk.
// Run it: node --conditions=tiered-source --import tsx examples/parquet.ts
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';

import { Hierarchy, MemoryDriver } from '@tiered/core';
import { openSamples } from '@tiered/formats';
import { parquet, type ParquetRow } from '@tiered/formats/parquet';
import { DataLoader } from '@tiered/loader';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';

const FILES = 4;
const ROWS = 1000;

/** Columns that a training reads, and one that it does not. */
function table(file: number): ArrayBuffer {
  const ids = Array.from({ length: ROWS }, (_, row) => file * ROWS + row);
  return parquetWriteBuffer({
    columnData: [
      { name: 'id', data: ids, type: 'INT32' },
      { name: 'text', data: ids.map((id) => `This is row ${id}.`), type: 'STRING' },
      { name: 'notes', data: ids.map((id) => 'x'.repeat(id % 500)), type: 'STRING' },
    ],
    rowGroupSize: 100,
  });
}

/** Returns the ids of each epoch, in the order in which they came. */
async function train(dataset: string, cache: string): Promise<number[][]> {
  const ram = { driver: new MemoryDriver(), quota: '1MiB' };
  const disk = { driver: new FileSystemDriver({ root: cache, writable: true }), quota: '1GiB' };
  const source = new FileSystemDriver({ root: dataset });
  const placement = new PlacementHandler();
  await using hierarchy = await new Hierarchy({ source, tiers: [ram, disk], placement }).open();
  const samples = await openSamples(hierarchy, { format: parquet({ columns: ['id', 'text'] }) });
  console.log(`${samples.samples} rows in ${samples.records} row groups of ${samples.keys.length} files`);
  const epochs: number[][] = [[], []];
  await using loader = new DataLoader(samples, {
    batchSize: 64,
    seed: 42,
    epochs: epochs.length,
    shuffle: { window: '256KiB' },
    transform: ({ id, text }: ParquetRow) => ({ id: Number(id), words: String(text).split(' ') }),
  });
  for await (const { data, epoch } of loader) epochs[epoch]?.push(...data.map(({ id }) => id));
  return epochs;
}

const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-parquet-'));
try {
  const dataset = path.join(directory, 'dataset');
  await fs.mkdir(dataset);
  for (let i = 0; i < FILES; i++)
    await fs.writeFile(path.join(dataset, `${i}.parquet`), new Uint8Array(table(i)));
  const [first = [], second = []] = await train(dataset, path.join(directory, 'cache'));
  const all = Array.from({ length: FILES * ROWS }, (_, id) => id);
  for (const ids of [first, second])
    assert.deepEqual(
      [...ids].sort((a, b) => a - b),
      all,
    );
  assert.notDeepEqual(first, second);
  console.log(`epochs of ${first.length} and ${second.length} rows, in orders of their own`);
} finally {
  await fs.rm(directory, { recursive: true });
}
