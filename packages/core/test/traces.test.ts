import { Hierarchy, MemoryDriver } from '@tiered/core';
import { FaultDriver, HoldingDriver, settled, someBytes, TraceLog } from '@tiered/core/testing';
import { readChannel, type ReadTrace } from '@tiered/core/tracing';
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { memoryWith, withCode } from './helpers.js';

const WENT_WELL = 'start end asyncStart asyncEnd';
const FAILED = 'start end error asyncStart asyncEnd';

const sourceOf = () => memoryWith({ a: someBytes(100, 1), b: someBytes(50, 2), empty: new Uint8Array() });

/** What the traces say was served, summed. */
function sumOf(traces: readonly ReadTrace[]) {
  const sum = { total: 0, fromTiers: 0, fromSource: 0, joined: 0, empty: 0 };
  for (const { served } of traces)
    for (const by of ['fromTiers', 'fromSource', 'joined', 'empty'] as const) {
      sum[by] += served[by];
      sum.total += served[by];
    }
  return sum;
}

describe('the channel tiered:read', () => {
  it('[N2] has one trace for each call: of a hierarchy, of a handle, and of a batch', async () => {
    await using hierarchy = await new Hierarchy({ source: await sourceOf(), name: 'train' }).open();
    using log = new TraceLog(readChannel);
    await hierarchy.read('a', { offset: 90, length: 20 });
    await hierarchy.readInto('b', new Uint8Array(50));
    const handle = await hierarchy.handle('a');
    await handle.read();
    await handle.readInto(new Uint8Array(10), { offset: 5 });
    await hierarchy.read('empty');
    await hierarchy.readMany(['a', 'b', 'none', 'empty'].map((key) => ({ key, target: new Uint8Array(60) })));
    const common = { hierarchy: 'train', reads: 1, failed: 0, level: 0, driver: 'memory' };
    const source = { fromTiers: 0, fromSource: 1, joined: 0, empty: 0 };
    const nothing = { fromTiers: 0, fromSource: 0, joined: 0, empty: 1 };
    const nowhere = { level: undefined, driver: undefined };
    expect(log.traces).toMatchObject([
      { ...common, operation: 'read', key: 'a', offset: 90, bytes: 10, served: source },
      { ...common, operation: 'readInto', key: 'b', offset: 0, bytes: 50, served: source },
      { ...common, operation: 'read', key: 'a', offset: 0, bytes: 100, served: source },
      { ...common, operation: 'readInto', key: 'a', offset: 5, bytes: 10, served: source },
      { ...common, operation: 'read', key: 'empty', bytes: 0, served: nothing, ...nowhere },
      {
        ...common,
        operation: 'readMany',
        key: undefined,
        reads: 4,
        bytes: 110,
        failed: 1,
        served: { ...source, fromSource: 2, empty: 1 },
      },
    ]);
    expect(log.courses).toEqual(Array.from({ length: 6 }, () => WENT_WELL));
    expect(sumOf(log.traces)).toEqual(hierarchy.stats().reads);
  });

  it('[N2] tells how a read failed, also one that could not begin', async () => {
    const rules = [{ operations: ['read' as const], key: /b/, fault: { kind: 'fail' as const } }];
    const hierarchy = new Hierarchy({ source: new FaultDriver(await sourceOf(), { rules }) });
    using log = new TraceLog(readChannel);
    await expect(hierarchy.read('a')).rejects.toEqual(withCode('TIERED_NOT_OPEN'));
    await hierarchy.open();
    await expect(hierarchy.read('b')).rejects.toEqual(withCode('TIERED_FAULT_INJECTED'));
    await expect(hierarchy.readInto('a', new Uint8Array(1), { offset: -1 })).rejects.toEqual(
      withCode('TIERED_RANGE_INVALID'),
    );
    await hierarchy.close();
    await expect(hierarchy.readMany([])).rejects.toEqual(withCode('TIERED_CLOSED'));
    expect(log.courses).toEqual([FAILED, FAILED, FAILED, FAILED]);
    expect(log.traces.map(({ error }) => (error as { code: string }).code)).toEqual([
      'TIERED_NOT_OPEN',
      'TIERED_FAULT_INJECTED',
      'TIERED_RANGE_INVALID',
      'TIERED_CLOSED',
    ]);
    expect(sumOf(log.traces).total).toBe(0);
  });

  it('[N2] ends with its read: at an abort, and not before the bytes are there', async () => {
    const source = new HoldingDriver(await sourceOf(), { operations: ['read'] });
    await using hierarchy = await new Hierarchy({ source }).open();
    using log = new TraceLog(readChannel);
    const controller = new AbortController();
    const left = hierarchy.read('a', { signal: controller.signal });
    const stayed = hierarchy.read('b');
    await settled();
    expect(log.courses).toEqual(['start end', 'start end']);
    controller.abort(new Error('enough'));
    await expect(left).rejects.toThrow('enough');
    expect(log.courses).toEqual([FAILED, 'start end']);
    while (source.held.length > 0) await source.release();
    await stayed;
    expect(log.courses).toEqual([FAILED, WENT_WELL]);
    expect(log.traces[0]?.error).toEqual(controller.signal.reason);
  });

  it('runs a read in what subscribers bind to its start', async () => {
    const store = new AsyncLocalStorage<ReadTrace>();
    const seen: (string | undefined)[] = [];
    class Looking extends MemoryDriver {
      override async read(...args: Parameters<MemoryDriver['read']>) {
        await Promise.resolve();
        seen.push(store.getStore()?.key);
        return super.read(...args);
      }
    }
    const source = new Looking();
    await source.write('a', new Uint8Array(1), { size: 1 });
    await using hierarchy = await new Hierarchy({ source }).open();
    await hierarchy.read('a');
    readChannel.start.bindStore(store);
    await Promise.all([hierarchy.read('a'), hierarchy.read('a')]);
    readChannel.start.unbindStore(store);
    await hierarchy.read('a');
    expect(seen).toEqual([undefined, 'a', 'a', undefined]);
  });

  it('has no subscribers of its own, and publishes nothing once all have left', async () => {
    expect(readChannel.hasSubscribers).toBe(false);
    await using hierarchy = await new Hierarchy({ source: await sourceOf() }).open();
    expect(hierarchy.name, 'the default').toBe('memory');
    const log = new TraceLog(readChannel);
    await hierarchy.read('a');
    log[Symbol.dispose]();
    await hierarchy.read('a');
    expect(readChannel.hasSubscribers).toBe(false);
    expect(log.courses).toEqual([WENT_WELL]);
  });

  it('refuses a name that is none', async () => {
    const source = await sourceOf();
    for (const name of ['', 7 as unknown as string])
      expect(() => new Hierarchy({ source, name })).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });
});
