import { Hierarchy, MemoryDriver, systemClock } from '@tiered/core';
import { expect, it } from 'vitest';

const PAGES = 10;

/** How often the event loop turns while something is done. */
async function turnsOf(work: () => Promise<void>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const working = work().finally(() => (isDone = true));
  for (; !isDone; turns++) await systemClock.turn();
  await working;
  return turns;
}

it('lists, opens and rescans without keeping the event loop for more than a page', async () => {
  const source = new MemoryDriver();
  for (let i = 0; i < PAGES * 1000; i++) await source.write(`${i}`, new Uint8Array(1), { size: 1 });
  const hierarchy = new Hierarchy({ source });
  expect(await turnsOf(() => hierarchy.open().then(() => undefined))).toBeGreaterThanOrEqual(PAGES);
  expect(await turnsOf(() => hierarchy.rescan())).toBeGreaterThanOrEqual(PAGES);
  for (const prefix of ['', 'none']) {
    const turns = await turnsOf(async () => {
      for await (const page of hierarchy.list({ prefix })) expect(page.length).toBeGreaterThan(0);
    });
    expect(turns, prefix).toBeGreaterThanOrEqual(PAGES);
  }
  await hierarchy.close();
});
