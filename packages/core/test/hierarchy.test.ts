import { Hierarchy, MemoryDriver, type ObjectStat, type TierOptions } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { versionChanged } from '@tiered/core/driver';
import type { Placement } from '@tiered/core/placement';
import { FaultDriver, HoldingDriver, settled } from '@tiered/core/testing';
import fc from 'fast-check';
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';

async function memoryWith(objects: Record<string, Uint8Array>): Promise<MemoryDriver> {
  const driver = new MemoryDriver();
  for (const [key, bytes] of Object.entries(objects))
    await driver.write(key, bytes, { size: bytes.byteLength });
  return driver;
}

const DIGITS = Uint8Array.from({ length: 100 }, (_, i) => i);
const code = (value: string) => ({ code: value });

it('a hierarchy says how many reads its source makes at a time', () => {
  const source = new MemoryDriver();
  expect(new Hierarchy({ source }).readsAtOnce).toBeUndefined();
  const bounded = Object.assign(source, { capabilities: { ...source.capabilities, readsAtOnce: 4 } });
  expect(new Hierarchy({ source: bounded }).readsAtOnce).toBe(4);
});

describe('Hierarchy options', () => {
  const memory = () => new MemoryDriver();
  it.each([
    ['tiers without a placement', () => ({ source: memory(), tiers: [{ driver: memory(), quota: 1 }] })],
    [
      'one driver on two levels',
      () => {
        const driver = memory();
        return { source: driver, tiers: [{ driver, quota: 1 }], placement: {} as Placement };
      },
    ],
    [
      'a quota that is no size',
      () => ({
        source: memory(),
        tiers: [{ driver: memory(), quota: '5 apples' }],
        placement: {} as Placement,
      }),
    ],
    [
      'a tier that cannot write',
      () => {
        const readOnly = Object.assign(memory(), {
          capabilities: { ...memory().capabilities, write: false },
        });
        return { source: memory(), tiers: [{ driver: readOnly, quota: 1 }], placement: {} as Placement };
      },
    ],
    [
      'a scan of a source that cannot list',
      () => {
        const unlisted = Object.assign(memory(), { capabilities: { ...memory().capabilities, list: false } });
        return { source: unlisted, scan: true };
      },
    ],
    ['a source that is no driver', () => ({ source: '/data' as unknown as MemoryDriver })],
    [
      'a tier that is a bare driver',
      () => ({ source: memory(), tiers: [memory()] as unknown as TierOptions[] }),
    ],
    ['tiers that are no list', () => ({ source: memory(), tiers: {} as unknown as TierOptions[] })],
    [
      'a placement that is a class',
      () => ({ source: memory(), placement: MemoryDriver as unknown as Placement }),
    ],
  ])('refuses %s at once', (_, options) => {
    expect(() => new Hierarchy(options())).toThrow(expect.objectContaining(code('TIERED_CONFIG_INVALID')));
  });
});

describe('Hierarchy over a source alone', () => {
  it('[R1] gives exactly the bytes of the source for any range, as a view or into memory', async () => {
    await using hierarchy = await new Hierarchy({ source: await memoryWith({ a: DIGITS }) }).open();
    const handle = await hierarchy.handle('a');
    await fc.assert(
      fc.asyncProperty(fc.nat(120), fc.nat(120), async (offset, length) => {
        const expected = DIGITS.subarray(offset, offset + length);
        expect(await hierarchy.read('a', { offset, length })).toEqual(expected);
        expect(await handle.read({ offset, length })).toEqual(expected);
        const target = new Uint8Array(length).fill(0xff);
        expect(await hierarchy.readInto('a', target, { offset })).toBe(expected.byteLength);
        expect(target.subarray(0, expected.byteLength)).toEqual(expected);
        expect(target.subarray(expected.byteLength).every((byte) => byte === 0xff)).toBe(true);
      }),
    );
    expect(await hierarchy.read('a')).toEqual(DIGITS);
    expect(handle).toMatchObject({ key: 'a', size: 100 });
  });

  it.each([
    [-1, 1],
    [0.5, 1],
    [0, -1],
    [0, Number.NaN],
    [Infinity, 1],
  ])('refuses the range %d, %d', async (offset, length) => {
    await using hierarchy = await new Hierarchy({ source: await memoryWith({ a: DIGITS }) }).open();
    await expect(hierarchy.read('a', { offset, length })).rejects.toMatchObject(code('TIERED_RANGE_INVALID'));
  });

  it.each(['', 'a\0b', '\ud800', 7 as unknown as string])('refuses the key %j', async (key) => {
    await using hierarchy = await new Hierarchy({ source: new MemoryDriver() }).open();
    await expect(hierarchy.read(key)).rejects.toMatchObject(code('TIERED_KEY_INVALID'));
  });

  it('[E1] says which object is missing', async () => {
    await using hierarchy = await new Hierarchy({ source: new MemoryDriver() }).open();
    for (const call of [
      hierarchy.read('x'),
      hierarchy.handle('x'),
      hierarchy.stat('x'),
      hierarchy.place('x'),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND', key: 'x', retryable: false });
    }
  });

  it('lists the source at start, tells how far it is, and asks it nothing more', async () => {
    const source = new MetricsDriver(await memoryWith({ 'a/1': DIGITS, 'a/2': DIGITS, b: DIGITS }));
    const hierarchy = new Hierarchy({ source });
    const progress: unknown[] = [];
    hierarchy.on('scan', (event) => progress.push(event));
    await hierarchy.open();
    expect(progress).toEqual([{ objects: 3, bytes: 300 }]);
    expect(await hierarchy.stat('b')).toMatchObject({ key: 'b', size: 100, level: 0 });
    const keys: string[] = [];
    for await (const page of hierarchy.list({ prefix: 'a/' })) keys.push(...page.map(({ key }) => key));
    expect(keys).toEqual(['a/1', 'a/2']);
    expect(source.metrics().operations.stat).toBeUndefined();
    await hierarchy.close();
  });

  it('without a scan asks once for an object, however many want it, and lists the source itself', async () => {
    const holding = new HoldingDriver(await memoryWith({ a: DIGITS, b: DIGITS }), { operations: ['stat'] });
    const source = new MetricsDriver(holding);
    await using hierarchy = await new Hierarchy({ source, scan: false }).open();
    const impatient = new AbortController();
    const reads = [hierarchy.read('a'), hierarchy.read('a', { length: 5 }), hierarchy.handle('a')];
    const aborted = hierarchy.read('a', { signal: impatient.signal });
    impatient.abort(new Error('too slow'));
    await expect(aborted).rejects.toThrow('too slow');
    await holding.releaseAll();
    await Promise.all(reads);
    expect(source.metrics().operations.stat?.count).toBe(1);
    expect(hierarchy.stats().namespace.objects).toBe(1);
    const keys: string[] = [];
    for await (const page of hierarchy.list()) keys.push(...page.map(({ key }) => key));
    expect(keys).toEqual(['a', 'b']);
  });

  it('an object that became shorter is read as it is now', async () => {
    const source = await memoryWith({ a: DIGITS });
    await using hierarchy = await new Hierarchy({ source }).open();
    await source.write('a', DIGITS.subarray(0, 40), { size: 40 });
    expect(await hierarchy.read('a')).toEqual(DIGITS.subarray(0, 40));
  });

  it('[V2] behind the end that is known of an object nothing is asked for, until a listing shows another', async () => {
    const source = await memoryWith({ empty: new Uint8Array(), short: DIGITS.subarray(0, 10) });
    const counted = new MetricsDriver(source);
    await using hierarchy = await new Hierarchy({ source: counted }).open();
    for (const key of ['empty', 'short']) await source.write(key, DIGITS, { size: 100 });
    expect(await hierarchy.read('empty')).toEqual(new Uint8Array());
    expect(await hierarchy.read('short', { offset: 10 })).toEqual(new Uint8Array());
    expect(await hierarchy.readInto('short', new Uint8Array(10), { offset: 50 })).toBe(0);
    expect(counted.metrics().operations).not.toHaveProperty('stat');
    await hierarchy.rescan();
    expect(await hierarchy.read('empty')).toEqual(DIGITS);
    expect(await hierarchy.read('short', { offset: 10 })).toEqual(DIGITS.subarray(10));
  });

  it('an object that is another one at each look is an error, and not read forever', async () => {
    class Restless extends MemoryDriver {
      override async readInto(): Promise<number> {
        throw versionChanged(this, 'readInto', 'a');
      }
      override async read(): Promise<Uint8Array> {
        throw versionChanged(this, 'read', 'a');
      }
    }
    const source = new Restless();
    await source.write('a', DIGITS, { size: 100 });
    await using hierarchy = await new Hierarchy({ source }).open();
    await expect(hierarchy.read('a')).rejects.toMatchObject(code('TIERED_SOURCE_CHANGED'));
    await expect(hierarchy.readInto('a', new Uint8Array(10))).rejects.toMatchObject(
      code('TIERED_SOURCE_CHANGED'),
    );
    expect(hierarchy.stats().activeReads).toBe(0);
  });

  it('counts what the source gave', async () => {
    await using hierarchy = await new Hierarchy({ source: await memoryWith({ a: DIGITS }) }).open();
    await hierarchy.read('a', { length: 30 });
    await hierarchy.readInto('a', new Uint8Array(20));
    expect(hierarchy.stats()).toMatchObject({
      source: { reads: 2, readBytes: 50 },
      activeReads: 0,
      tiers: [],
    });
  });
});

it('a driver that describes an object without a version is told so at start', async () => {
  class Careless extends MemoryDriver {
    override async *list() {
      yield [{ key: 'a', size: 5 } as ObjectStat];
    }
  }
  await expect(new Hierarchy({ source: new Careless() }).open()).rejects.toThrow(/version/);
});

describe('Hierarchy lifecycle', () => {
  it('[C1] close ends reads that wait for the source, and waits until the source has let go', async () => {
    const source = new HoldingDriver(await memoryWith({ a: DIGITS }), { operations: ['read'] });
    const hierarchy = await new Hierarchy({ source }).open();
    const read = expect(hierarchy.read('a')).rejects.toMatchObject(code('TIERED_CLOSED'));
    await settled();
    let closed = false;
    const closing = hierarchy.close().then(() => (closed = true));
    await settled();
    expect(closed).toBe(false);
    await source.release();
    await read;
    await closing;
    expect(hierarchy.stats()).toMatchObject({ activeReads: 0, placement: { fetching: 0 } });
    await hierarchy.close();
  });

  it('[C1] a read that finds its object changed while the hierarchy closes is TIERED_CLOSED', async () => {
    const inner = await memoryWith({ a: DIGITS, b: DIGITS });
    const source = new HoldingDriver(inner, { operations: ['stat', 'read'] });
    const hierarchy = await new Hierarchy({ source, scan: false }).open();
    const reads = ['a', 'b'].map((key) =>
      expect(hierarchy.read(key)).rejects.toMatchObject(code('TIERED_CLOSED')),
    );
    await settled();
    await source.release();
    // The read of `a` waits for its bytes; the question about `b` keeps the close from ending that.
    expect(source.held.map(({ operation, key }) => `${operation} ${key}`)).toEqual(['stat b', 'read a']);
    await inner.write('a', DIGITS.subarray(1), { size: 99 });
    const closing = hierarchy.close();
    for (let tries = 0; tries < 3; tries++) if (source.held.length > 1) await source.release({ index: 1 });
    await source.releaseAll();
    await Promise.all([...reads, closing]);
  });

  it('[C1] close ends a listing of the source, whether it rests or waits for a page', async () => {
    for (const rests of [true, false]) {
      const source = new HoldingDriver(await memoryWith({ a: DIGITS }), { operations: ['list'] });
      const hierarchy = await new Hierarchy({ source, scan: false }).open();
      const listing = hierarchy.list();
      const first = listing.next();
      if (rests) {
        await source.releaseAll();
        expect((await first).value).toMatchObject([{ key: 'a' }]);
        await hierarchy.close();
        await expect(listing.next()).rejects.toMatchObject(code('TIERED_CLOSED'));
      } else {
        const refused = expect(first).rejects.toMatchObject(code('TIERED_CLOSED'));
        await settled();
        const closing = hierarchy.close();
        await source.releaseAll();
        await Promise.all([refused, closing]);
      }
    }
  });

  it('[B1] abort ends one read at once, and leaves no listener on its signal', async () => {
    const source = new HoldingDriver(await memoryWith({ a: DIGITS }), { operations: ['read'] });
    const hierarchy = await new Hierarchy({ source }).open();
    const controller = new AbortController();
    const read = hierarchy.read('a', { signal: controller.signal });
    await settled();
    controller.abort(new Error('enough'));
    await expect(read).rejects.toThrow('enough');
    await expect(hierarchy.read('a', { signal: controller.signal })).rejects.toThrow('enough');
    await source.releaseAll();
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    await hierarchy.close();
  });

  it('[B1] one signal serves any number of calls, without a warning of Node', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    const source = new HoldingDriver(await memoryWith({ a: DIGITS }), { operations: ['read'] });
    const hierarchy = await new Hierarchy({ source }).open();
    const { signal } = new AbortController();
    const reads = Array.from({ length: 30 }, () => hierarchy.read('a', { signal }));
    await source.releaseAll();
    await Promise.all(reads);
    await settled();
    process.off('warning', note);
    expect(warnings).toEqual([]);
    await hierarchy.close();
  });

  it('a start that fails closes what it opened, and the hierarchy stays closed', async () => {
    const failing = new FaultDriver(new MemoryDriver(), {
      rules: [{ operations: ['list'], fault: { kind: 'fail' } }],
    });
    const hierarchy = new Hierarchy({ source: failing });
    await expect(hierarchy.open()).rejects.toMatchObject(code('TIERED_FAULT_INJECTED'));
    await expect(hierarchy.read('a')).rejects.toMatchObject(code('TIERED_CLOSED'));
    await expect(hierarchy.open()).rejects.toMatchObject(code('TIERED_CLOSED'));
  });

  it('close during start ends the start', async () => {
    const source = new HoldingDriver(new MemoryDriver(), { operations: ['list'] });
    const hierarchy = new Hierarchy({ source });
    const starting = expect(hierarchy.open()).rejects.toMatchObject(code('TIERED_CLOSED'));
    await settled();
    const closing = hierarchy.close();
    await source.releaseAll();
    await starting;
    await closing;
  });

  it('start twice is refused, close before start is fine, stats work in every state', async () => {
    const hierarchy = new Hierarchy({ source: new MemoryDriver() });
    expect(hierarchy.stats().activeReads).toBe(0);
    await hierarchy.open();
    await expect(hierarchy.open()).rejects.toMatchObject(code('TIERED_ALREADY_OPEN'));
    let closed = 0;
    hierarchy.on('closed', () => closed++);
    await Promise.all([hierarchy.close(), hierarchy.close()]);
    expect(closed).toBe(1);
    await new Hierarchy({ source: new MemoryDriver() }).close();
  });
});

it("[R1] the memory of what was read is the caller's to give away, also where no byte was", async () => {
  const source = await memoryWith({ empty: new Uint8Array() });
  await using hierarchy = await new Hierarchy({ source }).open();
  const { buffer } = await hierarchy.read('empty');
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  const another = await hierarchy.read('empty');
  expect(() => another.fill(0)).not.toThrow();
});
