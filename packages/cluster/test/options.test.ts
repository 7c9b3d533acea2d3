import { MemoryRecords } from '../src/registry/memory-registry.js';
import { systemClock } from '@tiered/core';
import { describe, expect, it } from 'vitest';
import { checkedOptions, type ClusterOptions } from '../src/options.js';
import { MemoryRegistry } from '../src/registry/memory-registry.js';

const registry = new MemoryRegistry(new MemoryRecords(systemClock));
const TOKEN = 'a secret of sixteen or more';

describe('options of a cluster', () => {
  it.each<[Partial<ClusterOptions>, RegExp]>([
    [{ rank: -1 }, /^rank: /],
    [{ rank: 1.5 }, /^rank: /],
    [{ rank: 2, size: 2 }, /^rank: expected a number from 0 to 1, as size is 2/],
    [{ size: 0 }, /^size: /],
    [{ ttlMs: 999 }, /^ttlMs: /],
    [{ deadlineMs: 0 }, /^deadlineMs: expected milliseconds of more than 0/],
    [{ deadlineMs: Infinity }, /^deadlineMs: /],
    [{ goneAfterMs: NaN }, /^goneAfterMs: /],
    [{ lateAfterMs: -1 }, /^lateAfterMs: /],
    [{ token: 'a short secret' }, /^token: /],
    [{ host: '0.0.0.0' }, /^token: .* as others reach 0\.0\.0\.0/],
    [{ host: '10.0.0.1' }, /^token: /],
  ])('[Z9] are refused where they cannot work: %j', (options, message) => {
    expect(() => checkedOptions({ registry, ...options })).toThrow(message);
  });

  it('[Z9] are named without the token', () => {
    expect(() => checkedOptions({ registry, token: 'short one' })).toThrow(/^(?!.*short one)/);
  });

  it('have defaults that fit each other', () => {
    expect(checkedOptions({ registry })).toMatchObject({
      ...{ share: true, host: '127.0.0.1', port: 0, ttlMs: 10_000, goneAfterMs: 60_000 },
      ...{ deadlineMs: 5_000, lateAfterMs: 1_000 },
    });
    expect(checkedOptions({ registry, deadlineMs: 500 }).lateAfterMs).toBe(100);
    expect(checkedOptions({ registry, host: '0.0.0.0', token: TOKEN }).host).toBe('0.0.0.0');
  });
});
