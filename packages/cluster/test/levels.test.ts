import { Hierarchy, MemoryDriver, statsBetween } from '@tiered/core';
import { expect, it } from 'vitest';
import { objectsOf, sourceOf, workers } from './helpers.js';

it('[N1] statistics of a hierarchy tell what peers gave from what the source gave', async () => {
  const objects = objectsOf(12);
  const [one, other] = await workers(2, { source: await sourceOf(objects) });
  for (const [key] of objects) await one?.hierarchy.read(key);
  const before = one?.hierarchy.stats();
  expect(before?.source.readBytes).toBe(one?.sourceBytes());
  expect(before?.peers).toEqual({
    reads: one?.cluster.stats().peers.reads,
    readBytes: one?.cluster.stats().peers.bytes,
  });
  expect(before?.peers?.reads).toBeGreaterThan(0);
  const sum = (one?.sourceBytes() ?? 0) + (before?.peers?.readBytes ?? 0);
  expect(sum).toBe([...objects.values()].reduce((bytes, object) => bytes + object.byteLength, 0));
  expect(other?.hierarchy.stats().peers).toEqual({ reads: 0, readBytes: 0 });

  for (const [key] of objects) await one?.hierarchy.read(key);
  const now = one?.hierarchy.stats();
  if (before === undefined || now === undefined) throw new Error('There is no worker.');
  const again = statsBetween(before, now);
  expect(again.source.readBytes).toBe(0);
  expect(again.peers?.readBytes).toBe(before.peers?.readBytes);
});

it('a hierarchy that is alone has no peers', async () => {
  await using alone = await new Hierarchy({ source: new MemoryDriver() }).open();
  expect(alone.stats().peers).toBeUndefined();
});
