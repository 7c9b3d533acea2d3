import { describe, expect, it } from 'vitest';
import { MemoryDriver } from '@tiered/core';
import { LimitDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall, type Operation } from '@tiered/core/driver';
import { FaultDriver } from '@tiered/core/testing';
import { NotingDriver, listed, memoryWith, onlyOnce, pattern, readFrom } from '../helpers.js';

/** What a decorator is told of a call, and the bytes that were moved. */
class Describing extends InterceptingDriver {
  readonly calls: unknown[] = [];

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    const { operation, key, signal, target, repeatable } = call;
    const result = await call.proceed();
    this.calls.push({ operation, key, signal, target, repeatable, moved: call.moved(result) });
    return result;
  }
}

/** Makes every call under a signal of its own. */
class Replacing extends InterceptingDriver {
  readonly reason = new Error('replaced');
  /** Default: all. */
  operations: readonly Operation[] | undefined;

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    if (this.operations?.includes(call.operation) === false) return call.proceed();
    return call.proceed(AbortSignal.abort(this.reason));
  }
}

describe('InterceptingDriver', () => {
  it('has the name and the capabilities of the driver below', () => {
    const inner = new MemoryDriver({ name: 'ram' });
    const driver = new Describing(inner);
    expect([driver.name, driver.capabilities]).toEqual(['ram', inner.capabilities]);
  });

  it('tells its decorator all there is to know about every call', async () => {
    const driver = new Describing(await memoryWith({ a: pattern(10) }));
    const { signal } = new AbortController();
    const target = new Uint8Array(20);
    const call = { key: 'a', signal, target: undefined, repeatable: true, moved: 0 };
    await driver.open({ signal });
    await driver.stat('a', { signal });
    await driver.list({ signal }).next();
    await driver.read('a', { offset: 8, length: 5, signal });
    await driver.readInto('a', target, { offset: 3, signal });
    await driver.readMany([{ key: 'a', offset: 4, target }], { signal });
    await driver.write('a', pattern(3), { size: 3, signal });
    await driver.write('a', onlyOnce(pattern(3)), { size: 3, signal });
    const writer = await driver.create('a', { size: 9, signal });
    await writer.writeAt(pattern(9), { offset: 0, signal });
    await writer.readInto(target, { offset: 5, signal });
    await writer.publish({ signal });
    await writer.discard();
    await driver.delete('a', { signal });
    await driver.usage({ signal });
    await (await driver.openIndex({ signal })).close();
    expect(driver.calls).toEqual([
      { ...call, operation: 'open', key: '' },
      { ...call, operation: 'stat' },
      { ...call, operation: 'list', key: '' },
      { ...call, operation: 'read', moved: 2 },
      { ...call, operation: 'readInto', target, moved: 7 },
      { ...call, operation: 'readInto', target, moved: 6 },
      { ...call, operation: 'write', moved: 3 },
      { ...call, operation: 'write', moved: 3, repeatable: false },
      { ...call, operation: 'create' },
      { ...call, operation: 'writeAt', moved: 9 },
      { ...call, operation: 'readInto', target, moved: 4 },
      { ...call, operation: 'publish', repeatable: false },
      { ...call, operation: 'delete' },
      { ...call, operation: 'usage', key: '' },
      { ...call, operation: 'openIndex', key: '' },
    ]);
  });

  it('makes a call under another signal if the decorator gives one', async () => {
    const driver = new Replacing(await memoryWith({ a: pattern(10) }));
    const { signal } = new AbortController();
    const target = new Uint8Array(1);
    const calls: [string, () => Promise<unknown>][] = [
      ['open', () => driver.open({ signal })],
      ['stat', () => driver.stat('a', { signal })],
      ['read', () => readFrom(driver, 'a', 1, { signal })],
      ['readInto', () => driver.readInto('a', target, { offset: 0, signal })],
      ['write', () => driver.write('b', pattern(1), { size: 1, signal })],
      ['delete', () => driver.delete('a', { signal })],
      ['create', () => driver.create('b', { size: 1, signal })],
      ['usage', () => driver.usage({ signal })],
      ['openIndex', () => driver.openIndex({ signal })],
    ];
    for (const [name, call] of calls) await expect(call(), name).rejects.toBe(driver.reason);
  });

  it('ends the listing below when its consumer leaves early, and when a page fails', async () => {
    const noting = new NotingDriver(await memoryWith({ a: pattern(1) }));
    for await (const page of new LimitDriver(noting, { concurrency: 1 }).list({})) {
      expect(page).toHaveLength(1);
      break;
    }
    expect([noting.listsBegun, noting.listsEnded]).toEqual([1, 1]);
    const rules = [{ operations: ['list' as const], nth: 2, fault: { kind: 'fail' as const } }];
    await expect(listed(new FaultDriver(noting, { rules }))).rejects.toThrow();
    expect([noting.listsBegun, noting.listsEnded]).toEqual([2, 2]);
  });

  it('makes the calls of a writer under another signal too', async () => {
    const driver = new Replacing(new MemoryDriver());
    driver.operations = ['writeAt', 'readInto', 'publish'];
    const writer = await driver.create('a', { size: 1 });
    await expect(writer.writeAt(pattern(1), { offset: 0 })).rejects.toBe(driver.reason);
    await expect(writer.readInto(pattern(1), { offset: 0 })).rejects.toBe(driver.reason);
    await expect(writer.publish({})).rejects.toBe(driver.reason);
    await writer.discard();
  });

  it('close and discard do not pass the decorator: letting go always works', async () => {
    const rules = [
      { operations: ['writeAt' as const, 'publish' as const], fault: { kind: 'fail' as const } },
    ];
    const driver = new FaultDriver(new MemoryDriver(), { rules });
    const writer = await driver.create('a', { size: 1 });
    await writer.discard();
    await driver.close();
    expect(driver.injected).toEqual([]);
  });
});
