import { MemoryDriver } from '@tiered/core';
import { listSequence, Prefetcher, shuffledSequence } from '@tiered/prefetch';
import { expect, it, onTestFinished } from 'vitest';
import { servePrefetcher, type PrefetchServer } from '../src/server/server.js';
import { expectIdle, over, settled, WatchedDriver } from './prefetching.js';
import { range, socketPath } from './helpers.js';
import { bytesOf, keyOf } from './list-reader.js';
import { Taker } from './taker.js';

const COUNT = 300;
const BATCH = 4;
const KEYS = range(COUNT).map(keyOf);

async function dataset(): Promise<WatchedDriver> {
  const driver = new MemoryDriver();
  for (const i of range(COUNT)) {
    const size = (i * 7919) % 20_000;
    await driver.write(keyOf(i), bytesOf(i, size), { size });
  }
  return new WatchedDriver(driver);
}

async function serve(prefetcher: Prefetcher): Promise<PrefetchServer> {
  const server = await servePrefetcher(prefetcher, { path: socketPath() });
  onTestFinished(async () => {
    await server.close();
    await prefetcher.close();
    expectIdle(prefetcher);
  });
  return server;
}

const sorted = (lists: readonly (readonly number[])[]) => lists.flat().sort((a, b) => a - b);

it('[P7] processes share a prefetcher: each sample goes to one of them, in order, with its bytes, and none is kept alive by a client that it left open', async () => {
  const order = shuffledSequence(KEYS, { seed: 5, epochs: 2 });
  const prefetcher = new Prefetcher(await over(await dataset()), order, { memory: '64KiB' });
  const { path } = await serve(prefetcher);
  const takers = range(3).map((i) => new Taker({ path, batch: BATCH, leavesOpen: i > 0 }));
  for (const { exited } of takers) expect(await exited).toEqual([0, null]);
  expect(sorted(takers.map(({ took }) => took))).toEqual(sorted([range(COUNT), range(COUNT)]));
  const places = [...order].map(({ key }) => KEYS.indexOf(key));
  for (const { took } of takers) expectInOrder(took, places);
});

it('[P7] a process that is killed while it holds samples and waits for more takes nothing from the others', async () => {
  const driver = await dataset();
  let open = () => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const first = KEYS.slice(0, 3 * BATCH);
  driver.before = ({ operation, key }) => operation === 'readInto' && !first.includes(key) && gate;
  const prefetcher = new Prefetcher(await over(driver), listSequence(KEYS), { producers: 16 });
  const server = await serve(prefetcher);
  while (prefetcher.stats().ready < first.length) await settled();
  const victim = new Taker({ path: server.path, batch: BATCH, holdAfter: 3 });
  await victim.holds;
  victim.kill();
  expect(await victim.exited).toEqual([null, 'SIGKILL']);
  while (server.clients > 0) await settled();
  open();
  const others = range(2).map(() => new Taker({ path: server.path, batch: BATCH }));
  for (const { exited } of others) expect(await exited).toEqual([0, null]);
  expect(victim.took).toEqual(range(3 * BATCH));
  expect(sorted(others.map(({ took }) => took))).toEqual(range(COUNT).slice(3 * BATCH));
  expectIdle(prefetcher);
});

/** Each of them comes in `places` behind the one before it. */
function expectInOrder(took: readonly number[], places: readonly number[]): void {
  let at = -1;
  for (const sample of took) {
    at = places.indexOf(sample, at + 1);
    expect(at, `sample ${sample} comes in its order`).toBeGreaterThanOrEqual(0);
  }
}
