import { MemoryRecords, MemoryRegistry, type RegistryEntry } from '@tiered/cluster/registry';
import { ManualClock, ticked } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { Control } from '../src/index.js';

const OTHERS = 2_000;

/** Shows many stages that nobody puts. */
class CrowdedRegistry extends MemoryRegistry {
  override readonly longestTtlMs: number;
  looks = 0;

  constructor(records: MemoryRecords, longestTtlMs: number) {
    super(records);
    this.longestTtlMs = longestTtlMs;
  }

  override async all(...call: Parameters<MemoryRegistry['all']>): Promise<readonly RegistryEntry[]> {
    this.looks += 1;
    const record = { v: 1, kind: 'stage', job: 'many', node: 'node', terms: {}, sources: {}, tiers: {} };
    const others = Array.from({ length: OTHERS }, (_, i) => ({ slot: `stage.${i}`, owner: `${i}`, record }));
    return [...others, ...(await super.all(...call))];
  }
}

describe('a stage among thousands', () => {
  it.each([Infinity, 10_000])(
    '[U5] looks less often, and its record never expires, in a registry where records live for at most %d ms',
    async (longestTtlMs) => {
      const clock = new ManualClock(ticked);
      const records = new MemoryRecords(clock);
      const registry = new CrowdedRegistry(records, longestTtlMs);
      await using control = await clock.run(Control.join({ registry, job: 'a', clock }));
      await clock.advance(1_000);
      expect(control.view().seen.stages).toHaveLength(1 + OTHERS);
      registry.looks = 0;
      for (let second = 0; second < 40; second++) {
        await clock.advance(1_000);
        expect(records.all()).toHaveLength(1);
      }
      expect(registry.looks).toBeLessThan(15);
    },
  );
});
