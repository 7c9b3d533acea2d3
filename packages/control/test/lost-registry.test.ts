import { MemoryRecords, MemoryRegistry, type RegistryEntry } from '@tiered/cluster/registry';
import { MemoryDriver, TieredError } from '@tiered/core';
import { ManualClock, ticked } from '@tiered/core/testing';
import { StagingBuffer } from '@tiered/prefetch';
import { describe, expect, it } from 'vitest';
import { Control, setPolicy } from '../src/index.js';

/** A registry that can be lost. */
class LosableRegistry extends MemoryRegistry {
  isLost = false;

  override all(...args: Parameters<MemoryRegistry['all']>): Promise<readonly RegistryEntry[]> {
    if (!this.isLost) return super.all(...args);
    return Promise.reject(new TieredError('TIERED_UNAVAILABLE', 'lost', { retryable: true }));
  }
}

async function makeWorld(keepMs = 10_000) {
  const clock = new ManualClock(ticked);
  const records = new MemoryRecords(clock);
  const registries = [1, 2].map(() => new LosableRegistry(records));
  const controls = await Promise.all(
    registries.map((registry, i) =>
      Control.join({ registry, job: `job-${i}`, weight: i === 0 ? 1 : 3, keepMs, clock }),
    ),
  );
  const told: string[] = [];
  for (const [i, control] of controls.entries()) {
    control.source(new MemoryDriver(), { name: 'nfs', budget: { bytesPerSecond: 200_000 } });
    control.on('registryLost', () => told.push(`${i} lost`));
    control.on('registryFound', () => told.push(`${i} found`));
  }
  const [light, heavy] = controls;
  if (light === undefined || heavy === undefined) throw new Error('two were made');
  await clock.advance(1_000);
  return { clock, records, registries, light, heavy, told };
}

const shareOf = (control: Control) => Math.round((control.shares().sources['nfs']?.bytes ?? NaN) / 1000);

describe('a stage whose registry is lost', () => {
  it('[U5] keeps its share for a while, and then has what it can count on, until it is found', async () => {
    const { clock, registries, light, heavy, told } = await makeWorld();
    // Nobody reads: what nobody wants is shared out by weight.
    expect([shareOf(light), shareOf(heavy)]).toEqual([49, 148]);
    await heavy.close();
    await clock.advance(1_000);
    expect(shareOf(light)).toBe(200);
    for (const registry of registries) registry.isLost = true;
    await clock.advance(9_000);
    expect(shareOf(light)).toBe(200);
    expect(light.shares().isConnected).toBe(false);
    for (const registry of registries) registry.isLost = false;
    await clock.advance(1_000);
    expect(light.shares().isConnected).toBe(true);
    expect(told).toEqual(['0 lost', '0 found']);
    await light.close();
    expect([clock.sleeping, clock.sleepingInBackground]).toEqual([0, 0]);
  });

  it('[U5] goes by what it would have if all wanted everything, once it is lost for longer', async () => {
    const { clock, registries, light, heavy } = await makeWorld();
    const [first] = registries;
    if (first === undefined) throw new Error('two were made');
    // The other one reads nothing, and has left all to it.
    await setPolicy(first, (policy) => ({ ...policy, jobs: { 'job-1': { atMost: { bytes: 0 } } } }), {
      owner: 'me',
    });
    await clock.advance(1_000);
    expect(shareOf(light)).toBe(197);
    await setPolicy(first, (policy) => ({ ...policy, jobs: {} }), { owner: 'me' });
    await clock.advance(1_000);
    for (const registry of registries) registry.isLost = true;
    await clock.advance(11_000);
    expect([shareOf(light), shareOf(heavy)]).toEqual([49, 148]);
    await light.close();
    await heavy.close();
  });

  it('may read at once what it can count on, though it read nothing before', async () => {
    const { clock, records, registries, light, heavy } = await makeWorld();
    const greedy = { wanted: {}, used: { bytes: 190_000, operations: 10 }, waits: 1 };
    const record = {
      v: 1,
      kind: 'stage',
      job: 'greedy',
      node: 'n',
      terms: {},
      sources: { nfs: greedy },
      tiers: {},
    };
    records.put({ slot: 'stage.greedy', owner: 'greedy', record, until: Infinity });
    await clock.advance(1_000);
    expect(shareOf(light)).toBe(0);
    for (const registry of registries) registry.isLost = true;
    await clock.advance(1_000);
    expect(shareOf(light)).toBe(39);
    // A source that nobody has heard of is shared as well.
    light.source(new MemoryDriver(), { name: 'other', budget: { bytesPerSecond: 1000 } });
    await clock.advance(20_000);
    expect(light.shares().sources['other']?.bytes).toBe(1000);
    await light.close();
    await heavy.close();
  });

  it('cannot join', async () => {
    const clock = new ManualClock(ticked);
    const registry = new LosableRegistry(new MemoryRecords(clock));
    registry.isLost = true;
    await expect(Control.join({ registry, job: 'a', clock })).rejects.toMatchObject({
      code: 'TIERED_UNAVAILABLE',
    });
    expect([clock.sleeping, clock.sleepingInBackground]).toEqual([0, 0]);
  });
});

describe('what a stage bounds', () => {
  it('[U8] is free again after close, and what waits goes on', async () => {
    const { clock, light, heavy } = await makeWorld();
    const memory = new MemoryDriver();
    const driver = light.source(memory, { name: 'nfs' });
    await driver.open({});
    await memory.write('a', new Uint8Array(100_000), { size: 100_000 });
    await driver.read('a', { offset: 0, length: 100_000 });
    const reading = driver.read('a', { offset: 0, length: 1 });
    await clock.advance(1_000);
    await light.close();
    expect((await reading).byteLength).toBe(1);
    await heavy.close();
    expect([clock.sleeping, clock.sleepingInBackground]).toEqual([0, 0]);
    await driver.close();
  });

  it('is free at once, whatever the registry does at close', async () => {
    const clock = new ManualClock(ticked);
    const registry = new MemoryRegistry(new MemoryRecords(clock));
    const control = await Control.join({ registry, job: 'a', clock });
    control.source(new MemoryDriver(), { name: 'nfs', budget: { bytesPerSecond: 1000 } });
    registry.leave = () => new Promise<void>((resolve) => void clock.sleep(5_000).then(resolve));
    registry.close = () => Promise.reject(new Error('stuck'));
    const closing = control.close();
    expect(shareOf(control)).toBe(Infinity);
    control.source(new MemoryDriver(), { name: 'late', budget: { bytesPerSecond: 1000 } });
    await clock.advance(5_000);
    await expect(closing).rejects.toThrow('stuck');
    expect(control.shares().sources['late']?.bytes).toBe(Infinity);
  });

  it('needs a budget of more than nothing', async () => {
    const { light, heavy } = await makeWorld();
    for (const budget of [{ bytesPerSecond: 0 }, { operationsPerSecond: 0 }])
      expect(() => light.source(new MemoryDriver(), { name: 'none', budget })).toThrow(/more than 0/);
    await light.close();
    await heavy.close();
  });

  it('are buffers that it follows: their part of the share of the node, and none of it afterwards', async () => {
    const { clock, registries, light, heavy } = await makeWorld();
    const [first] = registries;
    if (first === undefined) throw new Error('two were made');
    const buffers = ['8MiB', '24MiB'].map((memory) => new StagingBuffer({ memory, producers: 16, clock }));
    const stops = buffers.map((buffer) => light.followBuffer(buffer));
    const bounds = () => buffers.map(({ tuning }) => [tuning.memoryBytes / 1024 / 1024, tuning.producers]);
    await clock.advance(1_000);
    expect(bounds()).toEqual([
      [8, 16],
      [24, 16],
    ]);
    const node = { memory: 16 * 1024 * 1024, producers: 8 };
    await setPolicy(first, (policy) => ({ ...policy, nodes: { '*': node } }), { owner: 'me' });
    await clock.advance(1_000);
    expect(bounds()).toEqual([
      [4, 2],
      [12, 6],
    ]);
    stops[0]?.();
    await clock.advance(1_000);
    expect(bounds()).toEqual([
      [8, 16],
      [16, 8],
    ]);
    await light.close();
    await heavy.close();
    expect(bounds()).toEqual([
      [8, 16],
      [24, 16],
    ]);
  });
});
