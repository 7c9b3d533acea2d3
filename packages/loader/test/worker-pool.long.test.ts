import { systemClock, type Clock } from '@tiered/core';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { BatchTask } from '../src/batches/task.js';
import { WorkerPool } from '../src/workers/worker-pool.js';
import { FROM_SOURCES } from './from-sources.js';

/** A batch of one sample. */
const TASK: BatchTask = {
  epoch: 0,
  seed: 0,
  parts: Uint32Array.of(0),
  samples: Uint32Array.of(0),
  keys: ['0'],
  offsets: Float64Array.of(0),
  records: [new Uint8Array(8)],
  headers: [undefined],
  within: Uint32Array.of(0),
  blocks: Float64Array.of(0),
};

it('[D5] a worker finishes its sample also if nothing that it said has been heard', async () => {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'workers-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  process.env['TIERED_TEST_GO'] = directory;
  onTestFinished(() => {
    delete process.env['TIERED_TEST_GO'];
  });
  // Nothing is late, however busy the machine is.
  const sleep: Clock['sleep'] = (_ms, signal) => systemClock.sleep(2 ** 40, signal);
  const transform = { module: new URL('./workers/until-go.ts', import.meta.url).href };
  const formats = [{ name: 'raw-records', options: { recordBytes: 8 }, madeBy: undefined }];
  const pool = new WorkerPool({
    workers: 1,
    data: { formats, transform },
    replacements: 0,
    execArgv: FROM_SOURCES,
    clock: { ...systemClock, sleep },
  });
  while (!existsSync(path.join(directory, 'loaded'))) await systemClock.turn();
  const made = pool.make(TASK);
  // The event loop stands still, so that no message of the worker arrives.
  while (!existsSync(path.join(directory, 'begun')));
  const closing = pool.close();
  writeFileSync(path.join(directory, 'go'), '');
  // It may have answered before it saw that it is to end.
  await Promise.allSettled([closing, made]);
  expect(readdirSync(directory)).toContain('done');
});
