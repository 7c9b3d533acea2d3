import { expect, it } from 'vitest';
import { range, serve } from './helpers.js';
import { ListReader } from './list-reader.js';
import { Taker } from './taker.js';

const sorted = (lists: readonly (readonly number[])[]) => lists.flat().sort((a, b) => a - b);
const SIZES = range(600).map((i) => (i * 7919) % 40_000);
const BATCH = 4;

it('each of several processes takes its share of one sequence: every sample once, with its bytes', async () => {
  const reader = new ListReader(SIZES, { epochLength: 250, allowed: 0 });
  const server = await serve(reader);
  const takers = range(3).map(() => new Taker({ path: server.path, batch: BATCH }));
  await reader.until(() => reader.waiting === 3);
  expect(server.clients).toBe(3);
  reader.allow(Infinity);
  for (const { exited } of takers) expect(await exited).toEqual([0, null]);
  for (const { took } of takers) expect(took.length).toBeGreaterThan(0);
  expect(sorted(takers.map(({ took }) => took))).toEqual(range(600));
  expect(server.failures).toBe(0);
});

it('a process that is killed while it holds samples and waits for more: others get all that it was not given', async () => {
  const reader = new ListReader(SIZES, { allowed: 3 * BATCH });
  const server = await serve(reader);
  const victim = new Taker({ path: server.path, batch: BATCH, holdAfter: 3 });
  await victim.holds;
  const others = range(2).map(() => new Taker({ path: server.path, batch: BATCH }));
  await reader.until(() => reader.waiting === 3);
  victim.kill();
  expect(await victim.exited).toEqual([null, 'SIGKILL']);
  await reader.until(() => reader.waiting === 2);
  reader.allow(Infinity);
  for (const { exited } of others) expect(await exited).toEqual([0, null]);
  expect(victim.took).toEqual(range(3 * BATCH));
  expect(sorted(others.map(({ took }) => took))).toEqual(range(600).slice(3 * BATCH));
});

it('a process that is killed at any moment takes at most what it had asked for from the others', async () => {
  const reader = new ListReader(SIZES, { allowed: 0 });
  const server = await serve(reader);
  const victim = new Taker({ path: server.path, batch: BATCH });
  const others = range(2).map(() => new Taker({ path: server.path, batch: BATCH }));
  victim.onTook = () => {
    if (victim.took.length > 20) victim.kill();
  };
  await reader.until(() => reader.waiting === 3);
  reader.allow(Infinity);
  expect(await victim.exited).toEqual([null, 'SIGKILL']);
  for (const { exited } of others) expect(await exited).toEqual([0, null]);
  const all = sorted([victim, ...others].map(({ took }) => took));
  expect(new Set(all).size).toBe(all.length);
  expect(all.length).toBeGreaterThanOrEqual(600 - BATCH);
  await reader.until(() => reader.held === 0);
});
