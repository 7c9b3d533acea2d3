import type { ReadRequest } from '@tiered/core/driver';
import { expect, it } from 'vitest';
import { noFigures } from './figures.js';
import { NODES } from './nodes/campaign.js';
import { PeerLink } from './nodes/peer-link.js';
import { runCampaign } from './simulated/campaign.js';

it('[Z1] [Z2] [Z6] [Z7] nodes on a bad network that die, stop and come back: bytes are right, reads end in time', async () => {
  const figures = noFigures();
  const found = await runCampaign(NODES, {
    seed: 2000,
    ms: 0,
    onBatch: (batch) => Object.assign(figures, batch),
  });
  expect(found).toBeUndefined();
  expect(figures.bytesChecked).toBeGreaterThan(10_000);
  for (const kind of ['lose', 'break', 'flip', 'cut'])
    expect(figures.faults[`network ${kind}`] ?? 0, kind).toBeGreaterThan(0);
});

it('finds a node that takes other bytes than the source has, and says how to see it again', async () => {
  const readMany = async (requests: readonly ReadRequest[]) =>
    requests.map(({ target }) => ({ bytes: target.fill(1).byteLength }));
  const own = Object.getOwnPropertyDescriptor(PeerLink.prototype, 'readMany') ?? {};
  Object.defineProperty(PeerLink.prototype, 'readMany', { ...own, value: readMany });
  try {
    const found = await runCampaign(NODES, { seed: 2000, ms: 0, shrinkMs: 0 });
    expect(found?.error).toMatch(/^wrong bytes/);
    expect(found?.path).not.toBe('');
  } finally {
    Object.defineProperty(PeerLink.prototype, 'readMany', own);
  }
});
