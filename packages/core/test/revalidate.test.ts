import { Hierarchy, MemoryDriver, type VersionPolicy } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { FaultDriver, HoldingDriver, outcomeOf, settled, someBytes } from '@tiered/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memoryWith, withCode } from './helpers.js';

const OLD = someBytes(10, 1);
const LONGER = someBytes(15, 2);

async function opened(objects: Readonly<Record<string, Uint8Array>>, versions?: VersionPolicy) {
  const storage = await memoryWith(objects);
  const source = new MetricsDriver(storage);
  const hierarchy = await new Hierarchy({ source, versions }).open();
  onTestFinished(() => hierarchy.close());
  const write = (key: string, bytes: Uint8Array) => storage.write(key, bytes, { size: bytes.byteLength });
  return { storage, source, hierarchy, write };
}

async function keysOf(hierarchy: Hierarchy): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of hierarchy.list()) keys.push(...page.map(({ key }) => key));
  return keys.toSorted();
}

describe('revalidate', () => {
  it('[V2] takes in what the source says of one object: a change, a new one, and that it is gone', async () => {
    const { storage, source, hierarchy, write } = await opened({ a: OLD, b: OLD });
    const before = await hierarchy.stat('a');
    expect(await hierarchy.revalidate('a')).toEqual(before);
    await write('a', LONGER);
    await write('new', OLD);
    expect(await hierarchy.revalidate('a')).toMatchObject({ key: 'a', size: 15, level: 0 });
    expect(await hierarchy.read('a')).toEqual(LONGER);
    expect(await hierarchy.revalidate('new')).toMatchObject({ size: 10 });
    expect(source.metrics().operations['stat']?.count).toBe(3);
    expect(await keysOf(hierarchy)).toEqual(['a', 'b', 'new']);

    await storage.delete('b', {});
    await expect(hierarchy.revalidate('b')).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
    expect(await keysOf(hierarchy)).toEqual(['a', 'new']);
    await write('b', LONGER);
    expect(await hierarchy.revalidate('b')).toMatchObject({ size: 15 });
    expect(await keysOf(hierarchy)).toEqual(['a', 'b', 'new']);
  });

  it('[V3] describes what is known as it is known with pin, also if it is gone', async () => {
    const { storage, hierarchy, write } = await opened({ a: OLD, b: OLD }, 'pin');
    await write('a', LONGER);
    await storage.delete('b', {});
    expect(await hierarchy.revalidate('a')).toMatchObject({ size: 10 });
    expect(await hierarchy.revalidate('b')).toMatchObject({ size: 10 });
    await expect(hierarchy.revalidate('c')).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
  });

  it('[V2] leaves everything as it is if the source does not say', async () => {
    const rules = [{ operations: ['stat' as const], fault: { kind: 'fail' as const } }];
    const source = new FaultDriver(await memoryWith({ a: OLD }), { rules });
    await using hierarchy = await new Hierarchy({ source }).open();
    await expect(hierarchy.revalidate('a')).rejects.toEqual(withCode('TIERED_FAULT_INJECTED'));
    expect(await keysOf(hierarchy)).toEqual(['a']);
  });

  it('refuses keys that no object has, and what was not opened', async () => {
    const { hierarchy } = await opened({ a: OLD });
    await expect(hierarchy.revalidate('')).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    const other = new Hierarchy({ source: new MemoryDriver() });
    await expect(other.revalidate('a')).rejects.toEqual(withCode('TIERED_NOT_OPEN'));
  });

  it('ends with an abort, and with close', async () => {
    const source = new HoldingDriver(await memoryWith({ a: OLD }), { operations: ['stat'] });
    const hierarchy = await new Hierarchy({ source }).open();
    const leaving = new AbortController();
    const left = outcomeOf(hierarchy.revalidate('a', { signal: leaving.signal }));
    await settled();
    leaving.abort(new Error('enough'));
    await source.releaseAll();
    expect(left.error).toEqual(new Error('enough'));
    const ended = outcomeOf(hierarchy.revalidate('a'));
    await settled();
    const closed = hierarchy.close();
    await source.releaseAll();
    await closed;
    expect(ended.error).toEqual(withCode('TIERED_CLOSED'));
  });
});

describe('rescan of a prefix', () => {
  const OBJECTS = { 'data/1': OLD, 'log/1': OLD, 'log/2': OLD };

  it('[V2] takes in what came, changed and went below it, and nothing else', async () => {
    const { storage, hierarchy, write } = await opened(OBJECTS);
    for (const key of ['data/1', 'log/1']) await storage.delete(key, {});
    for (const key of ['data/2', 'log/2', 'log/3']) await write(key, LONGER);
    await hierarchy.rescan({ prefix: 'log/' });
    expect(await keysOf(hierarchy)).toEqual(['data/1', 'log/2', 'log/3']);
    expect(await hierarchy.stat('log/2')).toMatchObject({ size: 15 });
  });

  it('[V2] believes that nothing is below it only if the source shows something elsewhere', async () => {
    const { storage, hierarchy } = await opened(OBJECTS);
    for (const key of ['log/1', 'log/2']) await storage.delete(key, {});
    await hierarchy.rescan({ prefix: 'log/' });
    expect(await keysOf(hierarchy)).toEqual(['data/1']);
    await storage.delete('data/1', {});
    await hierarchy.rescan({ prefix: 'data/' });
    expect(await keysOf(hierarchy)).toEqual(['data/1']);
  });

  it('[V3] takes nothing away with pin', async () => {
    const { storage, hierarchy } = await opened(OBJECTS, 'pin');
    await storage.delete('log/1', {});
    await hierarchy.rescan({ prefix: 'log/' });
    expect(await keysOf(hierarchy)).toEqual(['data/1', 'log/1', 'log/2']);
  });
});
