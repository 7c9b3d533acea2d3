import { ManualClock } from '@tiered/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import { Cluster } from '../../src/index.js';
import { MemoryRecords, MemoryRegistry } from '../../src/registry/memory-registry.js';
import type { PutOptions, RegistryEntry } from '../../src/registry/registry.js';

const TTL_MS = 9_000;

/** A registry whose next put takes until it is told to go on. */
class HeldRegistry extends MemoryRegistry {
  #held: Promise<void> | undefined;

  /** Holds the next put, and returns what lets it go on. */
  hold(): () => void {
    let goOn: () => void = () => undefined;
    this.#held = new Promise((resolve) => (goOn = resolve));
    return goOn;
  }

  override async put(entry: RegistryEntry, options: PutOptions): Promise<boolean> {
    const held = this.#held;
    this.#held = undefined;
    await held;
    return super.put(entry, options);
  }
}

it('[Z6] a worker goes on saying what it said while an earlier renewal was under way', async () => {
  const clock = new ManualClock();
  const records = new MemoryRecords(clock);
  const registry = new HeldRegistry(records);
  const cluster = await Cluster.join({ registry, ttlMs: TTL_MS, clock });
  onTestFinished(() => cluster.close());
  const goOn = registry.hold();
  await clock.advance(TTL_MS / 3);
  cluster.usePlan({ homes: new Uint16Array([0]), sampleOf: () => 0, id: 'a plan' });
  await clock.advance(1);
  expect(records.all()).toMatchObject([{ record: { plan: 'a plan' } }]);
  goOn();
  await clock.advance(2 * TTL_MS);
  expect(records.all()).toMatchObject([{ record: { plan: 'a plan' } }]);
});
