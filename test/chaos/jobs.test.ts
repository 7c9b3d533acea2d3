import { Control } from '@tiered/control';
import type { StorageDriver } from '@tiered/core/driver';
import { expect, it } from 'vitest';
import { noFigures } from './figures.js';
import { JOBS } from './jobs/campaign.js';
import { runCampaign } from './simulated/campaign.js';

it('[U2] [U3] [U4] [U5] [U6] [U7] [U8] jobs that are killed, stopped and lie, without a registry: no read fails, and they come back to their shares', async () => {
  const figures = noFigures();
  const found = await runCampaign(JOBS, {
    seed: 2000,
    ms: 0,
    onBatch: (batch) => Object.assign(figures, batch),
  });
  expect(found).toBeUndefined();
  expect(figures.reads).toBeGreaterThan(10_000);
  expect(figures.kills).toBeGreaterThan(10);
  for (const kind of [
    'stopped stage',
    'liar',
    'nonsense',
    'registry lost',
    'registry mute',
    'registry forget',
  ])
    expect(figures.faults[kind] ?? 0, kind).toBeGreaterThan(0);
}, 300_000);

it('finds jobs that keep to no share, and says how to see it again', async () => {
  const own = Object.getOwnPropertyDescriptor(Control.prototype, 'source') ?? {};
  const source = (driver: StorageDriver) => driver;
  Object.defineProperty(Control.prototype, 'source', { ...own, value: source });
  try {
    const found = await runCampaign(JOBS, { seed: 2000, ms: 0, shrinkMs: 0 });
    expect(found?.error).toMatch(/^another share/);
    expect(found?.path).not.toBe('');
  } finally {
    Object.defineProperty(Control.prototype, 'source', own);
  }
});
