import { Random } from '@tiered/core';
import { frequencyPlan, UNPLANNED } from '@tiered/tiering/plans';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

/** A source that answers after so long, and gives so many bytes a millisecond. */
interface Source {
  readonly latencyMs: number;
  readonly bytesPerMs: number;
}

const source = fc.record({
  latencyMs: fc.double({ min: 0, max: 100, noNaN: true }),
  bytesPerMs: fc.double({ min: 0.1, max: 1000, noNaN: true }),
});
const samples = fc.array(fc.record({ size: fc.nat(60), count: fc.nat(6) }), { minLength: 1, maxLength: 50 });
const quotas = fc.array(fc.nat(300), { minLength: 1, maxLength: 3 });

const saving = (from: Source) => (bytes: number) => from.latencyMs + bytes / from.bytesPerMs;

/** What a worker knows of samples that are read so often, each for the first time after those before it. */
function tablesOf(all: readonly { readonly size: number; readonly count: number }[]) {
  let accesses = 0;
  const first = all.map(({ count }) => (accesses += count) - count);
  return { frequency: all.map(({ count }) => count), first, sizes: all.map(({ size }) => size) };
}

type Tables = ReturnType<typeof tablesOf>;

/** Milliseconds that the copies of a plan spare altogether. */
function spared({ frequency, sizes }: Tables, plan: Uint8Array, savedMs: (bytes: number) => number): number {
  return frequency.reduce(
    (sum, count, sample) => sum + (plan[sample] === UNPLANNED ? 0 : count * savedMs(sizes[sample] ?? 0)),
    0,
  );
}

/**
 * What no placement can exceed: the most valuable bytes, of samples cut at will, in all the room there is.
 */
function mostSpared(
  { frequency, sizes }: Tables,
  levels: readonly number[],
  savedMs: (bytes: number) => number,
): number {
  let free = levels.reduce((sum, quota) => sum + quota, 0);
  let sum = 0;
  const worth = sizes.map((size, sample) => ({ size, ms: (frequency[sample] ?? 0) * savedMs(size) }));
  for (const { size, ms } of worth.sort((a, b) => b.ms * a.size - a.ms * b.size)) {
    const taken = Math.min(size, free);
    free -= taken;
    sum += size === 0 ? ms : (ms * taken) / size;
  }
  return sum;
}

describe('frequencyPlan by value per byte', () => {
  it('spares what any placement can, less at most one sample for each level', () => {
    fc.assert(
      fc.property(samples, quotas, source, (all, levels, from) => {
        const [tables, savedMs] = [tablesOf(all), saving(from)];
        const plan = frequencyPlan({ ...tables, quotas: levels, savedMs });
        const largest = Math.max(...all.map(({ size, count }) => count * savedMs(size)));
        const bound = mostSpared(tables, levels, savedMs);
        // Worth is compared to 1 in 10 million.
        expect(spared(tables, plan, savedMs)).toBeGreaterThanOrEqual(
          bound * (1 - 1e-6) - levels.length * largest,
        );
      }),
    );
  });

  it('never fills a level above its quota, and places everything that is read where all of it fits', () => {
    fc.assert(
      fc.property(samples, quotas, source, fc.boolean(), (all, levels, from, roomy) => {
        const tables = tablesOf(all);
        const rooms = roomy ? [...levels, all.length * 60] : levels;
        const plan = frequencyPlan({ ...tables, quotas: rooms, savedMs: saving(from) });
        for (const [level, quota] of rooms.entries()) {
          const held = all.reduce((sum, { size }, sample) => sum + (plan[sample] === level ? size : 0), 0);
          expect(held).toBeLessThanOrEqual(quota);
        }
        for (const [sample, { count }] of all.entries())
          if (count === 0 || roomy) expect(plan[sample] === UNPLANNED).toBe(count === 0);
      }),
    );
  });

  it('is plain frequency where sizes are equal, and where a source has no latency', () => {
    fc.assert(
      fc.property(samples, fc.integer({ min: 1, max: 60 }), quotas, source, (all, size, levels, from) => {
        const equal = { ...tablesOf(all.map(({ count }) => ({ size, count }))), quotas: levels };
        expect(frequencyPlan({ ...equal, savedMs: saving(from) })).toEqual(frequencyPlan(equal));
        const several = { ...tablesOf(all.map((one) => ({ ...one, size: one.size + 1 }))), quotas: levels };
        const bytesPerMs = 2 ** Math.round(Math.log2(from.bytesPerMs));
        const bare = saving({ latencyMs: 0, bytesPerMs });
        expect(frequencyPlan({ ...several, savedMs: bare })).toEqual(frequencyPlan(several));
      }),
    );
  });

  it('spares far more than plain frequency in sum where latency counts', () => {
    const random = new Random(7);
    const savedMs = saving({ latencyMs: 10, bytesPerMs: 100 });
    const sum = { plain: 0, byValue: 0 };
    for (let round = 0; round < 50; round++) {
      const all = Array.from({ length: 200 }, () => ({
        size: 1 + random.below(400),
        count: random.below(8),
      }));
      const options = { ...tablesOf(all), quotas: [5_000, 5_000] };
      sum.plain += spared(options, frequencyPlan(options), savedMs);
      sum.byValue += spared(options, frequencyPlan({ ...options, savedMs }), savedMs);
    }
    expect(sum.byValue / sum.plain).toBeGreaterThan(1.1);
  });

  it('takes samples of 0 bytes before all, then the small one, and the earlier of two that are alike', () => {
    const tables = tablesOf([
      { size: 100, count: 2 },
      { size: 10, count: 1 },
      { size: 0, count: 1 },
      { size: 10, count: 1 },
    ]);
    const plan = frequencyPlan({ ...tables, quotas: [10, 0, 10], savedMs: () => 1 });
    expect([...plan]).toEqual([UNPLANNED, 0, 0, 2]);
  });

  it('refuses a saving that is no number from 0, and takes one of 0', () => {
    const tables = tablesOf([{ size: 42, count: 1 }]);
    for (const ms of [-1, Number.NaN, Infinity]) {
      expect(() => frequencyPlan({ ...tables, quotas: [100], savedMs: () => ms })).toThrow(
        expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
      );
    }
    expect([...frequencyPlan({ ...tables, quotas: [100], savedMs: () => 0 })]).toEqual([0]);
  });
});
