import { Hierarchy } from '@tiered/core';
import { IndexedMemoryDriver, ManualClock } from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import Database from 'libsql';
import path from 'node:path';
import { expect, it } from 'vitest';
import { memoryWith, objectsOf, until } from '../helpers.js';

const QUOTA = 1_000_000;
/** More than the log of a tier of this quota may have. */
const MUCH = 200_000;

/** A tier with a copy, whose index another process has read, and been stopped within that. */
async function heldTier(objects: Map<string, Uint8Array>) {
  const tier = new IndexedMemoryDriver();
  const index = path.join(tier.directory, 'index.db');
  const member = async (clock: ManualClock) => {
    const tiers = [{ driver: tier, quota: QUOTA }];
    const placement = new PlacementHandler({ chunk: 100 });
    const hierarchy = new Hierarchy({ source: await memoryWith(objects), tiers, placement, clock });
    const faults: string[] = [];
    hierarchy.on('tierFault', ({ operation }) => faults.push(operation));
    return { hierarchy, faults };
  };
  const { hierarchy: first } = await member(new ManualClock());
  await first.open();
  await first.read('0');
  await first.idle();
  await first.close();
  const reader = new Database(index);
  reader.exec('BEGIN');
  reader.prepare('SELECT * FROM copies').all();
  const writer = new Database(index);
  writer.exec(`CREATE TABLE much (bytes BLOB); INSERT INTO much VALUES (randomblob(${MUCH}))`);
  writer.close();
  const goesOn = () => {
    reader.exec('COMMIT');
    reader.close();
  };
  return { member, goesOn };
}

it('[T3] [R2] a start beside a process that is stopped while it reads the index goes on without the tier, and takes it in once that goes on', async () => {
  const objects = objectsOf([100, 100]);
  const { member, goesOn } = await heldTier(objects);
  const clock = new ManualClock();
  const { hierarchy, faults } = await member(clock);
  const opened = hierarchy.open();
  await clock.run(opened);
  expect({ faults, waited: clock.now() }).toEqual({ faults: ['openIndex'], waited: 2000 });
  expect(await hierarchy.read('0')).toEqual(objects.get('0'));
  goesOn();
  await hierarchy.read('1');
  await hierarchy.idle();
  const { adopted } = hierarchy.stats().placement;
  expect({ adopted, faults }).toEqual({ adopted: 1, faults: ['openIndex'] });
  await hierarchy.close();
});

it('[B1] an abort ends a start that waits for the index at once', async () => {
  const { member, goesOn } = await heldTier(objectsOf([100]));
  const clock = new ManualClock();
  const { hierarchy } = await member(clock);
  const reason = new Error('enough');
  const controller = new AbortController();
  const opened = hierarchy.open({ signal: controller.signal });
  // Between two tries.
  await until(() => clock.sleeping > 0);
  controller.abort(reason);
  await expect(opened).rejects.toBe(reason);
  expect({ now: clock.now(), asleep: clock.sleepingInBackground }).toEqual({ now: 0, asleep: 0 });
  goesOn();
  await hierarchy.close();
});
