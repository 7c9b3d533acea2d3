import { Hierarchy, MemoryDriver } from '@tiered/core';
import { IndexedMemoryDriver, ManualClock, someBytes, ticked } from '@tiered/core/testing';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import { expect, it, onTestFinished } from 'vitest';
import { exchange } from '../src/exchange.js';

const BYTES = 1000;

/** Four objects, of which the first two have copies on a tier with room for two. */
async function full() {
  const source = new MemoryDriver();
  for (const key of ['a', 'b', 'c', 'd']) await source.write(key, someBytes(BYTES, 1), { size: BYTES });
  const placement = new PlacementHandler({ policy: firstFit, chunk: BYTES });
  const driver = new IndexedMemoryDriver();
  const hierarchy = new Hierarchy({ source, tiers: [{ driver, quota: 2 * BYTES }], placement });
  onTestFinished(() => hierarchy.close());
  await hierarchy.open();
  for (const key of ['a', 'b']) await hierarchy.place(key);
  const id = (key: string) => hierarchy.namespace.find(key);
  const kept = () => ['a', 'b', 'c', 'd'].filter((key) => hierarchy.namespace.levelOf(id(key)) === 0);
  const evict = placement.evict.bind(placement);
  const clock = new ManualClock(ticked);
  return { hierarchy, id, kept, evict, clock };
}

it('[U11] copies leave for those that are planned, the ones that are worth least first, and no more of them', async () => {
  const { hierarchy, id, kept, evict, clock } = await full();
  expect(kept()).toEqual(['a', 'b']);
  const missing = Uint32Array.of(id('c'));
  const { signal } = new AbortController();
  await exchange(hierarchy, { missing, leaves: [id('b'), id('a')] }, { evict, clock, signal });
  expect(kept()).toEqual(['a', 'c']);
});

it('[U11] nothing leaves if nothing may, and an abort ends the exchange', async () => {
  const { hierarchy, id, kept, evict, clock } = await full();
  const missing = Uint32Array.of(id('c'));
  const abort = new AbortController();
  await exchange(hierarchy, { missing, leaves: [] }, { evict, clock, signal: abort.signal });
  expect(kept()).toEqual(['a', 'b']);
  const enough = new Error('enough');
  abort.abort(enough);
  const ended = exchange(hierarchy, { missing, leaves: [id('a')] }, { evict, clock, signal: abort.signal });
  await expect(ended).rejects.toBe(enough);
  expect(kept()).not.toContain('c');
});
