import { describe, expect, it } from 'vitest';
import { MemoryDriver } from '@tiered/core';
import { PrefixDriver } from '@tiered/core/decorators';
import { FaultDriver } from '@tiered/core/testing';
import { listed, memoryWith, onlyOnce, pattern, readFrom, withCode } from '../helpers.js';

async function bucket() {
  const inner = await memoryWith({
    'train/': pattern(9),
    'train/a': pattern(10),
    'train/cats/b': pattern(20),
    'training/c': pattern(30),
    'test/a': pattern(40),
  });
  return { inner, train: new PrefixDriver(inner, 'train/') };
}

const keysOf = async (driver: MemoryDriver | PrefixDriver, prefix?: string) =>
  (await listed(driver, prefix)).map(({ key }) => key).sort();

describe('PrefixDriver', () => {
  it('refuses an empty prefix', () => {
    expect(() => new PrefixDriver(new MemoryDriver(), '')).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('names the driver below and the prefix', async () => {
    const { train } = await bucket();
    expect(train.name).toBe('memory/train/');
  });

  it('tells what other workers gave', () => {
    const peerReads = { reads: 2, bytes: 30 };
    const inner = Object.assign(new MemoryDriver(), { peerReads });
    expect(new PrefixDriver(inner, 'train/').peerReads).toEqual(peerReads);
  });

  it('puts the prefix before the key in every operation', async () => {
    const { inner, train } = await bucket();
    const [first, second] = [new Uint8Array(4), new Uint8Array(4)];
    expect(await readFrom(train, 'a', 10)).toEqual(pattern(10));
    expect(await train.readInto('a', first, { offset: 3 })).toBe(4);
    expect(first).toEqual(pattern(4, 3));
    const requests = [
      { key: 'a', offset: 0, target: first },
      { key: 'cats/b', offset: 5, target: second },
      { key: 'test/a', offset: 0, target: new Uint8Array(1) },
    ];
    const outcomes = await train.readMany(requests, {});
    expect(outcomes).toEqual([{ bytes: 4 }, { bytes: 4 }, { error: withCode('TIERED_NOT_FOUND') }]);
    expect([first, second]).toEqual([pattern(4), pattern(4, 5)]);
    await train.write('new', onlyOnce(pattern(3)), { size: 3 });
    expect(await readFrom(inner, 'train/new', 3)).toEqual(pattern(3));
    const writer = await train.create('cats/new', { size: 2 });
    await writer.writeAt(pattern(2), { offset: 0 });
    await writer.publish({});
    expect(await readFrom(inner, 'train/cats/new', 3)).toEqual(pattern(2));
    await train.delete('cats/new', {});
    await train.delete('a', {});
    expect(await keysOf(inner)).toEqual(['test/a', 'train/', 'train/cats/b', 'train/new', 'training/c']);
  });

  it('stat gives the key that was asked for, and size and version of the object below', async () => {
    const { inner, train } = await bucket();
    const { version } = await inner.stat('train/a', {});
    expect(await train.stat('a', {})).toEqual({ key: 'a', size: 10, version });
  });

  it('lists what is below the prefix, without the prefix, and not the object that is named as the prefix', async () => {
    const { inner, train } = await bucket();
    expect(await keysOf(train)).toEqual(['a', 'cats/b']);
    const below = await inner.stat('train/cats/b', {});
    expect(await listed(train, 'cats/')).toEqual([{ ...below, key: 'cats/b' }]);
    expect(await listed(train, 'dogs/')).toEqual([]);
  });

  it('takes the prefix as it is: without a slash it is no directory', async () => {
    const { inner } = await bucket();
    expect(await keysOf(new PrefixDriver(inner, 'train'))).toEqual(['/', '/a', '/cats/b', 'ing/c']);
  });

  it('what it lists can be read by its key', async () => {
    const { train } = await bucket();
    for (const { key, size } of await listed(train)) {
      expect((await readFrom(train, key, 1000)).byteLength, key).toBe(size);
    }
  });

  it('usage counts what is below the prefix, and measures nothing else', async () => {
    const inner = new MemoryDriver({ quota: 100 });
    for (const key of ['x/1', 'x/2', 'y/3']) await inner.write(key, pattern(10), { size: 10 });
    expect(await new PrefixDriver(inner, 'x/').usage({})).toEqual({ bytes: 20, objects: 2 });
    expect(await new PrefixDriver(inner, 'z/').usage({})).toEqual({ bytes: 0, objects: 0 });
  });

  it('nests', async () => {
    const { train } = await bucket();
    const cats = new PrefixDriver(train, 'cats/');
    expect(await keysOf(cats)).toEqual(['b']);
    expect(await readFrom(cats, 'b', 100)).toEqual(pattern(20));
    expect(await cats.usage({})).toMatchObject({ bytes: 20, objects: 1 });
  });

  it('can do what the driver below can, but keep an index, which is about all of the storage', async () => {
    const { inner, train } = await bucket();
    expect(train.capabilities).toEqual({ ...inner.capabilities, index: false });
    await expect(train.openIndex()).rejects.toEqual(withCode('TIERED_UNSUPPORTED'));
    expect(Object.isFrozen(train.capabilities)).toBe(true);
  });

  it('passes the signal on in every operation', async () => {
    const { train } = await bucket();
    const reason = new Error('the caller lost interest');
    const signal = AbortSignal.abort(reason);
    const target = new Uint8Array(1);
    const calls: [string, () => Promise<unknown>][] = [
      ['open', () => train.open({ signal })],
      ['stat', () => train.stat('a', { signal })],
      ['list', () => train.list({ signal }).next()],
      ['read', () => readFrom(train, 'a', 1, { signal })],
      ['readInto', () => train.readInto('a', target, { offset: 0, signal })],
      ['write', () => train.write('b', pattern(1), { size: 1, signal })],
      ['create', () => train.create('b', { size: 1, signal })],
      ['delete', () => train.delete('a', { signal })],
      ['usage', () => train.usage({ signal })],
    ];
    for (const [name, call] of calls) await expect(call(), name).rejects.toBe(reason);
    const requests = [{ key: 'a', offset: 0, target }];
    expect(await train.readMany(requests, { signal })).toEqual([{ error: reason }]);
  });

  it('opens and closes the driver below', async () => {
    const faults = new FaultDriver(new MemoryDriver(), {
      rules: [{ operations: ['open'], fault: { kind: 'fail' } }],
    });
    const driver = new PrefixDriver(faults, 'x/');
    await expect(driver.open({})).rejects.toEqual(withCode('TIERED_FAULT_INJECTED'));
    await driver.close();
  });
});
