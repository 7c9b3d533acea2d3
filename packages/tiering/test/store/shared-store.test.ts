import { Hierarchy, MemoryDriver, type OperationOptions } from '@tiered/core';
import type { IndexHome } from '@tiered/core/driver';
import { FaultDriver, IndexedMemoryDriver, ManualClock, settled } from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import { expect, it } from 'vitest';

/** A tier whose members are looked for as long as a test likes. */
class SlowToSay extends IndexedMemoryDriver {
  readonly asked: (() => void)[] = [];
  underWay = 0;
  underWayAtClose: number | undefined;

  override async openIndex(options: OperationOptions): Promise<IndexHome> {
    const home = await super.openIndex(options);
    const isRunning = async (member: string) => {
      this.underWay += 1;
      await new Promise<void>((resolve) => this.asked.push(resolve));
      this.underWay -= 1;
      return home.isRunning(member);
    };
    const close = () => {
      this.underWayAtClose = this.underWay;
      return home.close();
    };
    return { ...home, isRunning, close };
  }
}

const placement = () => new PlacementHandler({ chunk: 10 });

it('[C1] a tier that could not be opened to its end leaves nobody behind who looks as if they used it', async () => {
  const tier = new IndexedMemoryDriver();
  // What is on a tier with a new index is listed.
  const rules = [{ operations: ['list'] as const, nth: 1, fault: { kind: 'fail' } as const }];
  const driver = new FaultDriver(tier, { rules });
  const tiers = [{ driver, quota: 1000 }];
  const hierarchy = new Hierarchy({ source: new MemoryDriver(), tiers, placement: placement() });
  const faults: string[] = [];
  hierarchy.on('tierFault', ({ operation }) => faults.push(operation));
  await hierarchy.open();
  expect(faults).toEqual(['openIndex']);
  const home = await tier.openIndex({});
  expect(await home.others()).toEqual([]);
  await hierarchy.close();
});

it('[C1] close waits until a look at who uses the tier has ended', async () => {
  const driver = new SlowToSay();
  const clock = new ManualClock();
  const source = new MemoryDriver();
  const hierarchy = new Hierarchy({
    source,
    tiers: [{ driver, quota: 1000 }],
    placement: placement(),
    clock,
  });
  await hierarchy.open();
  while (driver.asked.length === 0) await clock.advance(250);
  const closed = hierarchy.close();
  for (let turns = 0; turns < 100; turns++) await settled();
  driver.asked[0]?.();
  await closed;
  expect(driver.underWayAtClose).toBe(0);
});
