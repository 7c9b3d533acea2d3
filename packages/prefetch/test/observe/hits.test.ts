import type { HierarchyStats } from '@tiered/core';
import { hitRatioOf } from '@tiered/prefetch';
import { describe, expect, it } from 'vitest';
import { verdictOf } from '../../src/observe/verdict.js';

const MIB = 2 ** 20;

describe('the hit ratio', () => {
  it('is the part of the bytes that tiers gave, the source being the last level', () => {
    const levels = (...bytes: number[]) => bytes.map((given) => ({ bytes: given }));
    expect(hitRatioOf(levels(30, 20, 50))).toBe(0.5);
    expect(hitRatioOf(levels(100, 0))).toBe(1);
    expect(hitRatioOf(levels(100))).toBe(0);
    expect(hitRatioOf(levels(0, 0))).toBeUndefined();
    expect(hitRatioOf([])).toBeUndefined();
  });
});

describe('[P10] tiers that are full', () => {
  const place = { level: undefined, samples: 100, bytes: 1e6, producerMs: 900, readMs: 9, underWay: 4 };
  const measured = {
    ...{ seconds: 1, samples: 100, bytes: 1e6, starved: 0.9, cpu: 0.1, producerWaitMs: 0, busyProducers: 4 },
    tuning: { producers: 4, memoryBytes: MIB },
    limits: { producers: 8, readsAtOnce: 8, memoryBytes: 256 * MIB },
    places: [place],
  } as unknown as Parameters<typeof verdictOf>[0];
  const told = (reservedBytes: number) => {
    const stats = {
      tiers: [{ quotaBytes: 57 * MIB, usedBytes: 28 * MIB, reservedBytes }],
      source: { reads: 1000 },
      placement: { declined: 900, behind: 0, waited: 0 },
    };
    return verdictOf(measured, stats as unknown as HierarchyStats).text;
  };

  it('have promised to copies on their way what they seem to have room for, and that is said', () => {
    expect(told(29 * MIB)).toContain('(the source had 1,000 requests in all): of 57 MiB they hold 28 MiB,');
    expect(told(29 * MIB)).toContain(', and 29 MiB are promised to copies on their way. Larger tiers');
    expect(told(0)).toContain('requests in all). Larger tiers');
  });
});
