import { Hierarchy, MemoryDriver } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { settled, someBytes } from '@tiered/core/testing';
import { PlacementHandler } from '@tiered/tiering';
import { expect, it } from 'vitest';

const [OLD, NEW] = [someBytes(100, 1), someBytes(80, 2)];

/** Answers when it is let, and then with half of what it read. */
class Late extends InterceptingDriver {
  answer: () => void = () => undefined;

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const result = await call.proceed();
    if (call.operation !== 'read' && call.operation !== 'readInto') return result;
    await new Promise<void>((resolve) => {
      this.answer = resolve;
    });
    return (result instanceof Uint8Array ? result.subarray(0, 50) : 50) as T;
  }
}

it.each(['read', 'readInto'] as const)(
  '[R2] a copy that is withdrawn while %s is at it is no fault of the tier, however the read ends',
  async (way) => {
    const source = new MemoryDriver();
    await source.write('a', OLD, { size: 100 });
    const driver = new Late(new MemoryDriver());
    const placement = new PlacementHandler({ chunk: 100 });
    await using hierarchy = new Hierarchy({ source, tiers: [{ driver, quota: 100 }], placement });
    await hierarchy.open();
    await hierarchy.place('a');
    const target = new Uint8Array(100);
    const reading =
      way === 'read'
        ? hierarchy.read('a')
        : hierarchy.readInto('a', target).then((count) => target.subarray(0, count));
    await settled();
    await source.write('a', NEW, { size: 80 });
    await hierarchy.rescan();
    driver.answer();
    expect(await reading).toEqual(NEW);
    expect(hierarchy.stats().tiers[0]?.faults).toBe(0);
  },
);
