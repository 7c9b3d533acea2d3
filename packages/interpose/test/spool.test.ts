import { Hierarchy, MemoryDriver } from '@tiered/core';
import { HoldingDriver, settled } from '@tiered/core/testing';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Spool } from '../src/daemon/spool.js';
import { temporaryDirectory } from './helpers.js';

it('gives up what is being fetched when it is closed, and makes nothing in its directory afterwards', async () => {
  const inner = new MemoryDriver({ quota: '1MiB' });
  for (let i = 0; i < 40; i++) await inner.write(`${i}`, Buffer.alloc(100, i), { size: 100 });
  const source = new HoldingDriver(inner, { operations: ['read', 'readInto'] });
  const hierarchy = await new Hierarchy({ source }).open();
  onTestFinished(() => hierarchy.close());
  const directory = path.join(temporaryDirectory(), 'spool');
  const spool = new Spool(hierarchy, directory, 0);
  const first = spool.hold(0);
  while (source.held.length < 1) await settled();
  await source.releaseAll();
  const copy = await first;
  // Some are being fetched, and others wait for their turn.
  const outcomes = Array.from({ length: 39 }, (_, i) =>
    spool.hold(i + 1).catch((error: unknown) => (error as { code?: unknown }).code),
  );
  while (source.held.length < 16) await settled();
  const closed = spool.close();
  await source.releaseAll();
  await closed;
  fs.rmSync(directory, { recursive: true });
  copy.letGo();
  expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['TIERED_CLOSED']));
  await expect(spool.hold(0)).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
  await source.releaseAll();
  await spool.idle();
  expect(fs.existsSync(directory)).toBe(false);
});
