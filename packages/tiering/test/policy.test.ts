import { Hierarchy, MemoryDriver } from '@tiered/core';
import { firstFit, pinned, PlacementHandler, promoting, sizeAware } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';

const room = (level: number, freeBytes: number) => ({ level, quotaBytes: 1000, freeBytes });
const object = (size: number, key = 'a', chunkBytes = 10) => ({
  key,
  size,
  chunkBytes: Math.min(size, chunkBytes),
});

describe('firstFit', () => {
  it('takes the fastest level with room', () => {
    expect(firstFit.place(object(10), [room(0, 10), room(1, 100)])).toBe(0);
    expect(firstFit.place(object(11), [room(0, 10), room(1, 100)])).toBe(1);
  });

  it('leaves what fits nowhere in the source, and still takes what is smaller', () => {
    const tiers = [room(0, 5), room(1, 9)];
    expect(firstFit.place(object(50), tiers)).toBeUndefined();
    expect(firstFit.place(object(9), tiers)).toBe(1);
    expect(firstFit.place(object(1), [])).toBeUndefined();
  });

  it('takes the beginning of an object where no level has room for all of it', () => {
    expect(firstFit.place(object(50), [room(0, 12), room(1, 49)])).toBe(0);
    expect(firstFit.place(object(50), [room(0, 12), room(1, 50)])).toBe(1);
    expect(firstFit.place(object(50), [room(0, 9), room(1, 10)])).toBe(1);
  });

  it('knows levels by their number, not by their place among those that are left', () => {
    expect(firstFit.place(object(1), [room(2, 5)])).toBe(2);
  });
});

describe('pinned', () => {
  const policy = pinned({
    pins: [
      { pattern: 'val/**', level: 0 },
      { pattern: '*.idx', level: 1 },
      { pattern: 'raw/**', level: 'source' },
    ],
  });
  const tiers = [room(0, 100), room(1, 100)];

  it('puts what a pattern matches on its level and nowhere else', () => {
    expect(policy.place(object(10, 'val/deep/x'), tiers)).toBe(0);
    expect(policy.place(object(10, 'val/x'), [room(0, 9), room(1, 100)])).toBeUndefined();
    expect(policy.place(object(10, 'a.idx'), tiers)).toBe(1);
    expect(policy.place(object(10, 'raw/x'), tiers)).toBeUndefined();
  });

  it('leaves the rest to the other policy', () => {
    expect(policy.place(object(10, 'train/x'), tiers)).toBe(0);
    expect(policy.place(object(10, 'train/deep.idx'), [room(1, 10)])).toBe(1);
  });

  it('refuses to pin to a tier that is not there, also with another policy around or within', () => {
    const refused = expect.objectContaining({
      code: 'TIERED_CONFIG_INVALID',
      message: expect.stringContaining('pins[1].level') as string,
    }) as Error;
    const within = pinned({ pins: [{ pattern: 'raw/**', level: 'source' }], otherwise: policy });
    for (const one of [policy, promoting(policy), within]) {
      expect(() => one.assertLevels?.(1)).toThrow(refused);
      expect(() => one.assertLevels?.(2)).not.toThrow();
      const tiers = [{ driver: new MemoryDriver(), quota: '64MiB' as const }];
      const placement = new PlacementHandler({ policy: one });
      expect(() => new Hierarchy({ source: new MemoryDriver(), tiers, placement })).toThrow(refused);
    }
  });

  it.each([
    { pattern: '', level: 0 },
    { pattern: 'a', level: -1 },
    { pattern: 'a', level: 0.5 },
  ])('refuses the pin %o', (pin) => {
    expect(() => pinned({ pins: [pin] })).toThrow(expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }));
  });
});

describe('sizeAware', () => {
  it('keeps fast levels for small objects', () => {
    const policy = sizeAware({ largest: ['1KiB', 4096] });
    const tiers = [room(0, 1e6), room(1, 1e6), room(2, 1e6)];
    expect([1024, 1025, 4097].map((size) => policy.place(object(size), tiers))).toEqual([0, 1, 2]);
    expect(policy.place(object(1025), [room(0, 1e6)])).toBeUndefined();
  });

  it('refuses what is no list of sizes', () => {
    expect(() => sizeAware({ largest: ['much'] })).toThrow(
      expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
    );
  });
});

describe('promoting', () => {
  it('moves an object to the first faster level with room for all of it', () => {
    const policy = promoting(firstFit);
    expect(firstFit.promote).toBeUndefined();
    expect(policy.promote?.({ ...object(50), level: 2 }, [room(0, 40), room(1, 60)])).toBe(1);
    expect(policy.promote?.({ ...object(50), level: 2 }, [room(0, 40)])).toBeUndefined();
    expect(policy.place(object(10), [room(0, 10)])).toBe(0);
  });
});
