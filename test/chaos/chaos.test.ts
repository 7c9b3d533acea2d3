import type { ReadOptions } from '@tiered/core/driver';
import { loadChecksum } from '@tiered/core/internal';
import { expect, it } from 'vitest';
import { noFigures } from './figures.js';
import { runCampaign, SHARED_DISKS } from './simulated/campaign.js';
import { KEYS } from './simulated/dataset.js';
import { SimulatedDisk } from './simulated/disk.js';
import { runIndexesInProcess } from './simulated/index-in-process.js';
import { World } from './simulated/world.js';
import type { Start } from './steps.js';

it('[R1] [T4] [Q1] schedules of processes that are killed, stopped and fail: bytes are right, quotas hold, every start works', async () => {
  const figures = noFigures();
  const found = await runCampaign(SHARED_DISKS, {
    seed: 2000,
    ms: 0,
    onBatch: (batch) => Object.assign(figures, batch),
  });
  expect(found).toBeUndefined();
  expect(figures.bytesChecked).toBeGreaterThan(10_000);
  expect(figures.kills).toBeGreaterThan(10);
});

it('[R2] [Q1] a start with a smaller quota goes on though the index fails', async () => {
  runIndexesInProcess();
  await loadChecksum();
  const first: Start = {
    do: 'start',
    who: 0,
    ram: 0,
    quota: 1000,
    policy: 'firstFit',
    layout: 'files',
    versions: 'refresh',
    scan: true,
    whenBehind: 'wait',
    faults: { tier: 0, source: 0, index: 0 },
    seed: 1,
  };
  const reads = KEYS.map((key) => ({ key, offset: 0, length: 100 }));
  for (let seed = 0; seed < 30; seed++) {
    const steps = [
      first,
      { do: 'settle' },
      { do: 'read', who: 0, how: 'read', reads, transfer: false },
      { do: 'settle' },
      { do: 'close', who: 0 },
      { do: 'settle' },
      { ...first, quota: 20, faults: { ...first.faults, index: 20 }, seed },
      { do: 'settle' },
    ] as const;
    await World.run({ seed, disks: 1, sizes: KEYS.map(() => 30), steps }, noFigures());
  }
});

it('finds a disk that gives other bytes than it was given, and says how to see it again', async () => {
  const read = async (_: string, { length }: ReadOptions) => new Uint8Array(Math.min(length, 1));
  Object.defineProperty(SimulatedDisk.prototype, 'read', { configurable: true, value: read });
  try {
    const found = await runCampaign(SHARED_DISKS, { seed: 2000, ms: 0, shrinkMs: 0 });
    expect(found?.error).toMatch(/^wrong bytes/);
    expect(found?.path).not.toBe('');
  } finally {
    Reflect.deleteProperty(SimulatedDisk.prototype, 'read');
  }
});
