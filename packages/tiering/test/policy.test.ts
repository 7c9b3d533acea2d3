import { firstFit } from '@tiered/tiering';
import { describe, expect, it } from 'vitest';

const room = (...free: number[]) => free.map((freeBytes, level) => ({ level, quotaBytes: 100, freeBytes }));

describe('firstFit', () => {
  it('takes the fastest level with room', () => {
    expect(firstFit({ key: 'a', size: 10 }, room(10, 100))).toBe(0);
    expect(firstFit({ key: 'a', size: 11 }, room(10, 100))).toBe(1);
  });

  it('leaves what fits nowhere in the source, and still takes what is smaller', () => {
    expect(firstFit({ key: 'a', size: 101 }, room(10, 100))).toBeUndefined();
    expect(firstFit({ key: 'b', size: 5 }, room(10, 100))).toBe(0);
    expect(firstFit({ key: 'c', size: 0 }, [])).toBeUndefined();
  });

  it('knows levels by their number, not by their place among those that are left', () => {
    expect(firstFit({ key: 'a', size: 10 }, room(10, 100).slice(1))).toBe(1);
  });
});
