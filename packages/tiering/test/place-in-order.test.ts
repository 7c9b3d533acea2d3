import { MemoryDriver } from '@tiered/core';
import { FaultDriver, HoldingDriver, listenersOn, outcomeOf, settled } from '@tiered/core/testing';
import { placeInOrder, type FillCounts } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';
import { memoryWith, objectsOf, startHierarchy } from './helpers.js';

const keysOf = (count: number) => Array.from({ length: count }, (_, i) => String(i));

/** A source whose reads wait, and a tier with room for everything. */
async function held(count: number) {
  const source = new HoldingDriver(await memoryWith(objectsOf(keysOf(count).map(() => 10))), {
    operations: ['readInto'],
  });
  const h = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 10 * count }]);
  const waiting = () => source.held.map(({ key }) => key);
  return { source, h, waiting };
}

describe('placeInOrder', () => {
  it('begins objects in order, six at a time by default, and takes a key when there is a place for it', async () => {
    const { source, h, waiting } = await held(10);
    const taken: string[] = [];
    function* keys() {
      for (const key of keysOf(10)) {
        taken.push(key);
        yield key;
      }
    }
    const filled = placeInOrder(h, keys());
    await settled();
    expect(waiting()).toEqual(keysOf(6));
    expect(taken).toEqual(keysOf(6));
    await source.release({ index: 3 });
    expect(waiting()).toEqual(['0', '1', '2', '4', '5', '6']);
    expect(taken).toEqual(keysOf(7));
    await source.releaseAll();
    expect(await filled).toEqual({ placed: [10], left: 0, failed: 0 });
    await h.close();
  });

  it('works from keys that come one after the other, and tells how far it is', async () => {
    const h = await startHierarchy(await memoryWith(objectsOf([10, 10, 10])), [
      { driver: new MemoryDriver(), quota: 20 },
    ]);
    async function* keys() {
      for (const key of keysOf(3)) yield key;
    }
    const seen: FillCounts[] = [];
    await placeInOrder(h, keys(), { concurrency: 1, onProgress: (counts) => seen.push(counts) });
    expect(seen).toEqual([
      { placed: [1], left: 0, failed: 0 },
      { placed: [2], left: 0, failed: 0 },
      { placed: [2], left: 1, failed: 0 },
    ]);
    await h.close();
  });

  it('goes on after an object that cannot be fetched, and after one that is not there', async () => {
    const source = new FaultDriver(await memoryWith(objectsOf([10, 10, 10])), {
      rules: [{ operations: ['readInto'], key: /^1$/, nth: 1, fault: { kind: 'fail' } }],
    });
    const h = await startHierarchy(source, [{ driver: new MemoryDriver(), quota: 100 }]);
    const failed: unknown[] = [];
    const onFailed = (key: string, error: unknown) => failed.push(key, error);
    const counts = await placeInOrder(h, ['0', '1', 'none', '2'], { onFailed });
    expect(counts).toEqual({ placed: [2], left: 1, failed: 1 });
    expect(failed).toEqual(['none', expect.objectContaining({ code: 'TIERED_NOT_FOUND' })]);
    // The next read of what could not be fetched tries again.
    await h.read('1');
    await h.idle();
    expect(await placeInOrder(h, ['1'])).toEqual({ placed: [1], left: 0, failed: 0 });
    await h.close();
  });

  it('ends at once with the reason of an abort, though the source hangs, and takes no further key', async () => {
    const { source, h, waiting } = await held(10);
    const abort = new AbortController();
    const filled = outcomeOf(placeInOrder(h, keysOf(10), { concurrency: 2, signal: abort.signal }));
    await settled();
    const reason = new Error('enough');
    abort.abort(reason);
    await settled();
    expect(filled.error).toBe(reason);
    expect(waiting()).toEqual(['0', '1']);
    await source.releaseAll();
    await h.idle();
    expect(h.stats().placement.placed).toBe(2);
    expect(waiting()).toEqual([]);
    expect(listenersOn(abort.signal)).toBe(0);
    await h.close();
  });

  it('does not wait for a key that never comes when it is aborted', async () => {
    const { h } = await held(1);
    const abort = new AbortController();
    const never: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
    };
    const filled = outcomeOf(placeInOrder(h, never, { signal: abort.signal }));
    await settled();
    const reason = new Error('enough');
    abort.abort(reason);
    await settled();
    expect(filled.error).toBe(reason);
    await h.close();
  });

  it('ends with what the keys or a listener throw, and with the hierarchy', async () => {
    const { source, h } = await held(10);
    const broken = new Error('broken');
    function* keys() {
      yield '0';
      throw broken;
    }
    const byKeys = outcomeOf(placeInOrder(h, keys()));
    await source.releaseAll();
    expect(byKeys.error).toBe(broken);
    const onProgress = () => {
      throw broken;
    };
    expect(await placeInOrder(h, ['0'], { onProgress }).catch((error: unknown) => error)).toBe(broken);
    const closed = outcomeOf(placeInOrder(h, keysOf(10)));
    await settled();
    const closing = h.close();
    await source.releaseAll();
    await closing;
    expect(closed.error).toMatchObject({ code: 'TIERED_CLOSED' });
  });

  it('refuses a concurrency that is none', async () => {
    const { h } = await held(1);
    for (const concurrency of [0, 1.5, Number.NaN])
      await expect(placeInOrder(h, [], { concurrency })).rejects.toMatchObject({
        code: 'TIERED_CONFIG_INVALID',
      });
    await h.close();
  });
});
