import { Hierarchy, MemoryDriver } from '@tiered/core';
import { assertNothingHeld, ManualClock, someBytes } from '@tiered/core/testing';
import { RedisDriver, type RedisDriverOptions } from '@tiered/redis-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { expect, it } from 'vitest';
import type { RedisServer } from '../../tools/servers/redis.js';
import { describeRedis, openDriver, optionsFor } from './helpers.js';

const OBJECTS = 6;
const objects = new Map(Array.from({ length: OBJECTS }, (_, i) => [`Dir/${i}`, someBytes(3000 + i, i)]));

async function sourceOf(): Promise<MemoryDriver> {
  const source = new MemoryDriver({ name: 'source' });
  for (const [key, bytes] of objects) await source.write(key, bytes, { size: bytes.byteLength });
  return source;
}

async function start(options: RedisDriverOptions, clock = new ManualClock(), source?: MemoryDriver) {
  // Chunks of Redis are smaller than those of the placement, so a copy has several of both.
  const driver = new RedisDriver({ ...options, chunk: 700 });
  const hierarchy = new Hierarchy({
    source: source ?? (await sourceOf()),
    tiers: [{ driver, quota: '1MiB' }],
    placement: new PlacementHandler({ chunk: 1000 }),
    clock,
  });
  await hierarchy.open();
  await hierarchy.idle();
  return { hierarchy, driver };
}

async function readAll(hierarchy: Hierarchy): Promise<void> {
  for (const [key, bytes] of objects) expect(Buffer.compare(await hierarchy.read(key), bytes), key).toBe(0);
  await hierarchy.idle();
}

describeRedis('Redis as a tier', (servers) => {
  let running: Promise<RedisServer> | undefined;
  const place = async () => {
    const server = await (running ??= servers().start());
    const options = optionsFor(server);
    const names = async () => {
      const found = await server.cli('--scan', '--pattern', `${options.prefix}o:*@*`);
      return found.split('\n').filter((name) => name !== '');
    };
    const ownerKey = `${options.prefix}o:.tiered/owner`;
    return { server, options, names, ownerKey };
  };

  it('[T5] outlives the process: nothing is fetched again', async () => {
    const { options } = await place();
    const first = await start(options);
    await readAll(first.hierarchy);
    await readAll(first.hierarchy);
    expect(first.hierarchy.stats()).toMatchObject({
      placement: { placed: OBJECTS },
      reads: { fromTiers: OBJECTS },
    });
    await first.hierarchy.close();
    for (let life = 0; life < 2; life++) {
      const { hierarchy, driver } = await start(options);
      await readAll(hierarchy);
      await readAll(hierarchy);
      expect(hierarchy.stats()).toMatchObject({
        source: { reads: 0 },
        placement: { adopted: OBJECTS, damaged: 0, outdated: 0 },
        tiers: [{ faults: 0 }],
      });
      await hierarchy.close();
      assertNothingHeld(hierarchy.stats());
      expect(driver.openConnections).toBe(0);
    }
  });

  it('[W6] that holds something else is refused, and nothing is deleted', async () => {
    const { options, server } = await place();
    const driver = await openDriver(options);
    await driver.write('model.bin', someBytes(10, 1), { size: 10 });
    await expect(start(options)).rejects.toMatchObject({ code: 'TIERED_DIRECTORY_NOT_OURS' });
    expect(await server.cli('STRLEN', `${options.prefix}o:model.bin`)).toBe('50');
  });

  it('[T5] is one process’s at a time', async () => {
    const { options } = await place();
    const clock = new ManualClock();
    const before = await start(options, clock);
    const faults: unknown[] = [];
    before.hierarchy.on('tierFault', ({ error }) => faults.push(error));
    const after = await start(options);
    await clock.advance(10_000);
    await readAll(before.hierarchy);
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault).toMatchObject({ code: 'TIERED_UNAVAILABLE' });
    await readAll(after.hierarchy);
    await readAll(after.hierarchy);
    expect(after.hierarchy.stats().tiers[0]).toMatchObject({ faults: 0 });
    await before.hierarchy.close();
    await after.hierarchy.close();
  });

  it('[R2] [J1] that evicts copies, parts of them and the mark of the owner has them placed anew', async () => {
    const { options, server, names, ownerKey } = await place();
    const [source, clock] = [await sourceOf(), new ManualClock()];
    for (let life = 0; life < 2; life++) {
      const { hierarchy } = await start(options, clock, source);
      for (let round = 0; round < 3; round++) {
        const chunks = await server.cli('--scan', '--pattern', `${options.prefix}c:*`);
        const lost = [...(await names()).slice(0, 2), ...chunks.split('\n').slice(0, 5), ownerKey];
        await server.cli('UNLINK', ...lost);
        await clock.advance(10_000);
        // Found gone by one read, and placed by the next.
        for (let reads = 0; reads < 4; reads++) await readAll(hierarchy);
        const before = hierarchy.stats();
        await readAll(hierarchy);
        const since = hierarchy.stats(before);
        expect(since).toMatchObject({ reads: { fromTiers: OBJECTS }, tiers: [{ faults: 0 }] });
        expect(await server.cli('EXISTS', ownerKey)).toBe('1');
        expect(await names()).toHaveLength(OBJECTS);
      }
      await hierarchy.close();
      await server.cli('UNLINK', ownerKey);
    }
  });

  it('[R2] [J3] that is killed fails no read, and serves again when it is back', async () => {
    const server = await servers().start();
    const options = optionsFor(server);
    const clock = new ManualClock();
    const { hierarchy } = await start(options, clock);
    await readAll(hierarchy);
    await readAll(hierarchy);
    await server.kill();
    await readAll(hierarchy);
    expect(hierarchy.stats().tiers[0]?.faults).toBeGreaterThan(0);
    await server.restart();
    for (let round = 0; round < 10; round++) {
      await clock.advance(100_000);
      await readAll(hierarchy);
    }
    const before = hierarchy.stats();
    await readAll(hierarchy);
    expect(hierarchy.stats(before)).toMatchObject({ reads: { fromTiers: OBJECTS }, tiers: [{ faults: 0 }] });
    await hierarchy.close();
  });
});
