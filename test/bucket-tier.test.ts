import { Hierarchy, MemoryDriver, Random, type StorageDriver } from '@tiered/core';
import { PrefixDriver } from '@tiered/core/decorators';
import { FaultDriver, type FaultRule, assertNothingHeld, ManualClock, someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { S3Driver } from '@tiered/s3-adapter';
import type { S3Server } from '@tiered/s3-server';
import { PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BUCKET, optionsFor, place } from '../packages/s3-adapter/test/helpers.js';

const OBJECTS = 6;
const objects = new Map(Array.from({ length: OBJECTS }, (_, i) => [`Dir/${i}`, someBytes(3000 + i, i)]));

async function sourceOf(seed = 0, name = 'source'): Promise<MemoryDriver> {
  const source = new MemoryDriver({ name });
  for (const [key, bytes] of objects) {
    const other = seed === 0 ? bytes : someBytes(bytes.byteLength, seed);
    await source.write(key, other, { size: other.byteLength });
  }
  return source;
}

const bucketOf = (server: S3Server) => new S3Driver({ ...optionsFor(server), prefix: 'tier/' });

async function start(driver: StorageDriver, source?: StorageDriver, clock = new ManualClock()) {
  const placement = new PlacementHandler({ chunk: 1000 });
  const hierarchy = new Hierarchy({
    source: source ?? (await sourceOf()),
    tiers: [{ driver, quota: '1MiB' }],
    placement,
    clock,
  });
  await hierarchy.open();
  await hierarchy.idle();
  return hierarchy;
}

async function readAll(hierarchy: Hierarchy, expected = objects): Promise<void> {
  for (const [key, bytes] of expected) expect(Buffer.compare(await hierarchy.read(key), bytes), key).toBe(0);
  await hierarchy.idle();
}

describe('a bucket as a tier', () => {
  it('[W6] one that holds something else is refused, and nothing is deleted', async () => {
    const { server } = await place();
    server.put(BUCKET, 'tier/model.bin', someBytes(10, 1));
    server.put(BUCKET, 'other', someBytes(10, 1));
    await expect(start(bucketOf(server))).rejects.toMatchObject({ code: 'TIERED_DIRECTORY_NOT_OURS' });
    expect(server.keys(BUCKET).toSorted()).toEqual(['other', 'tier/model.bin']);
  });

  it('[W6] [T5] what is on it outlives the process: nothing is fetched again, and what others put there stays', async () => {
    const { server } = await place();
    const first = await start(bucketOf(server));
    await readAll(first);
    expect(first.stats().placement.placed).toBe(OBJECTS);
    await first.close();
    server.put(BUCKET, 'tier/not-ours', someBytes(10, 1));
    for (let life = 0; life < 2; life++) {
      const next = await start(bucketOf(server));
      await readAll(next);
      await readAll(next);
      expect(next.stats()).toMatchObject({
        source: { reads: 0 },
        placement: { adopted: OBJECTS, damaged: 0, outdated: 0 },
      });
      await next.close();
      assertNothingHeld(next.stats());
    }
    expect(server.keys(BUCKET)).toContain('tier/not-ours');
  });

  it('[T5] a mark that the storage has lost is put back, and the copies are taken over without it', async () => {
    const { server } = await place();
    const [source, clock] = [await sourceOf(), new ManualClock()];
    const first = await start(bucketOf(server), source, clock);
    const lose = () => server.delete(BUCKET, 'tier/.tiered/owner');
    const [key = ''] = objects.keys();
    await first.read(key);
    await first.idle();
    lose();
    await clock.advance(10_000);
    await readAll(first);
    expect(first.stats()).toMatchObject({ placement: { placed: OBJECTS }, tiers: [{ faults: 0 }] });
    expect(server.keys(BUCKET)).toContain('tier/.tiered/owner');
    await first.close();
    lose();
    const next = await start(bucketOf(server), source);
    await readAll(next);
    expect(next.stats()).toMatchObject({ placement: { adopted: OBJECTS } });
    await next.close();
  });

  it('[T2] [T5] bits that turned over in the bucket are noticed, wherever they are', async () => {
    const random = new Random(7);
    const { server } = await place();
    const first = await start(bucketOf(server));
    await readAll(first);
    await first.close();
    const names = server.keys(BUCKET).filter((name) => name.includes('@'));
    expect(names).toHaveLength(OBJECTS);
    const raw = bucketOf(server);
    await raw.open({});
    for (const name of names) {
      const key = name.slice('tier/'.length);
      const { size } = await raw.stat(key, {});
      const bytes = Uint8Array.from(await raw.read(key, { offset: 0, length: size }));
      const at = random.below(size);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      await raw.write(key, bytes, { size });
    }
    await raw.close();
    const clock = new ManualClock();
    const next = await start(bucketOf(server), undefined, clock);
    for (let round = 0; round < 4; round++) {
      await readAll(next);
      // A tier with so many faults is passed over for a while.
      await clock.advance(100_000);
    }
    expect(next.stats().placement.damaged).toBe(OBJECTS);
    await next.close();
    const last = await start(bucketOf(server));
    await readAll(last);
    expect(last.stats().source.reads).toBe(0);
    await last.close();
  });

  it('[V1] [T5] a copy of another version is not served, and makes room', async () => {
    const { server } = await place();
    const first = await start(bucketOf(server));
    await readAll(first);
    await first.close();
    const changed = await sourceOf(99);
    const expected = new Map([...objects].map(([key, bytes]) => [key, someBytes(bytes.byteLength, 99)]));
    // Versions of a memory driver are numbers of its writes: once more makes others of them.
    for (const [key, bytes] of expected) await changed.write(key, bytes, { size: bytes.byteLength });
    const next = await start(bucketOf(server), changed);
    await readAll(next, expected);
    await readAll(next, expected);
    expect(next.stats().placement).toMatchObject({ outdated: OBJECTS, placed: OBJECTS });
    expect(server.keys(BUCKET).filter((name) => name.includes('@'))).toHaveLength(OBJECTS);
    await next.close();
  });

  it('[T5] is one process’s at a time: who came before is told, and goes on without it', async () => {
    const { server } = await place();
    const source = await sourceOf();
    const clock = new ManualClock();
    const before = await start(bucketOf(server), source, clock);
    const faults: unknown[] = [];
    before.on('tierFault', ({ error }) => faults.push(error));
    const after = await start(bucketOf(server), source);
    await clock.advance(10_000);
    await readAll(before);
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault).toMatchObject({ code: 'TIERED_UNAVAILABLE' });
    const told = faults.length;
    await readAll(before);
    expect(faults).toHaveLength(told);
    await readAll(after);
    await readAll(after);
    expect(after.stats().tiers[0]).toMatchObject({ faults: 0 });
    expect(before.stats().tiers[0]).toMatchObject({ usedBytes: 0 });
    await before.close();
    await after.close();
  });
});

describe('a part of a directory as a tier', () => {
  /** Calls of the part fail as the rules say. */
  async function faultyPart(rules: readonly FaultRule[]) {
    const root = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
    onTestFinished(() => fs.rm(root, { recursive: true }));
    const files = new FileSystemDriver({ root, writable: true, maxOpenFiles: 1 });
    return { root, driver: new FaultDriver(new PrefixDriver(files, 'part/'), { rules }) };
  }

  it('[R2] a listing that failed at the start is made again, and what is read is placed then', async () => {
    const fail = { kind: 'fail', code: 'TIERED_UNAVAILABLE' } as const;
    // The first one looks whether the storage is empty.
    const rules = [2, 3, 4].map((nth) => ({ operations: ['list'] as const, nth, fault: fail }));
    const { driver } = await faultyPart(rules);
    const clock = new ManualClock();
    const hierarchy = await start(driver, undefined, clock);
    await readAll(hierarchy);
    expect(hierarchy.stats().placement.placed).toBe(0);
    expect(clock.sleepingInBackground).toBeGreaterThan(0);
    for (let pauses = 0; pauses < 20; pauses++) {
      await clock.advance(1000);
      await hierarchy.idle();
    }
    await readAll(hierarchy);
    await readAll(hierarchy);
    expect(hierarchy.stats()).toMatchObject({ placement: { placed: OBJECTS }, tiers: [{ faults: 3 }] });
    await hierarchy.close();
    expect(clock.sleepingInBackground).toBe(0);
  });

  it('[R2] copies that somebody else deleted are placed anew, and what they took is free', async () => {
    const { root, driver } = await faultyPart([]);
    const clock = new ManualClock();
    const source = await sourceOf();
    const deleteCopies = async () => {
      const copies = await fs.readdir(path.join(root, 'part'), { recursive: true });
      for (const name of copies.filter((each) => each.includes('@')))
        await fs.rm(path.join(root, 'part', name));
    };
    for (let life = 0; life < 2; life++) {
      const hierarchy = await start(driver, source, clock);
      for (let round = 0; round < 3; round++) {
        await deleteCopies();
        // Found gone by the first read, or, where its file is still open, by the second; the next one has it
        // placed.
        for (let reads = 0; reads < 3; reads++) await readAll(hierarchy);
        const before = hierarchy.stats();
        await readAll(hierarchy);
        const since = hierarchy.stats(before);
        expect(since).toMatchObject({ reads: { fromTiers: OBJECTS }, tiers: [{ faults: 0 }] });
      }
      const { usedBytes } = hierarchy.stats().tiers[0] ?? {};
      await hierarchy.close();
      const next = await start(driver, source, clock);
      expect(next.stats().tiers[0]?.usedBytes).toBe(usedBytes);
      await next.close();
    }
  });

  it('[W6] [T5] keeps its copies, and is one process’s at a time', async () => {
    const root = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
    onTestFinished(() => fs.rm(root, { recursive: true }));
    const part = () => new PrefixDriver(new FileSystemDriver({ root, writable: true }), 'part/');
    const [source, other] = [await sourceOf(), await sourceOf(5, 'other')];
    const expected = new Map([...objects].map(([key, bytes]) => [key, someBytes(bytes.byteLength, 5)]));
    const [one, two] = [await start(part(), source), await start(part(), other)];
    for (let round = 0; round < 3; round++) {
      await readAll(one);
      await readAll(two, expected);
    }
    await one.close();
    await two.close();
  });
});
