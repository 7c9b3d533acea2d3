import type { ReadOptions } from '@tiered/core';
import { expect, it } from 'vitest';
import { noFigures } from './figures.js';
import { runCampaign } from './simulated/campaign.js';
import { SimulatedDisk } from './simulated/disk.js';

it('[R1] [T4] [Q1] schedules of processes that are killed, stopped and fail: bytes are right, quotas hold, every start works', async () => {
  const figures = noFigures();
  const found = await runCampaign({ seed: 2000, ms: 0, onBatch: (batch) => Object.assign(figures, batch) });
  expect(found).toBeUndefined();
  expect(figures.bytesChecked).toBeGreaterThan(10_000);
  expect(figures.kills).toBeGreaterThan(10);
});

it('finds a disk that gives other bytes than it was given, and says how to see it again', async () => {
  const read = async (_: string, { length }: ReadOptions) => new Uint8Array(Math.min(length, 1));
  Object.defineProperty(SimulatedDisk.prototype, 'read', { configurable: true, value: read });
  try {
    const found = await runCampaign({ seed: 2000, ms: 0, shrinkMs: 0 });
    expect(found?.error).toMatch(/^wrong bytes/);
    expect(found?.path).not.toBe('');
  } finally {
    Reflect.deleteProperty(SimulatedDisk.prototype, 'read');
  }
});
