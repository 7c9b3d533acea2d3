import { Hierarchy, MemoryDriver, type StorageDriver, type TierFault } from '@tiered/core';
import { MetricsDriver, RetryDriver } from '@tiered/core/decorators';
import {
  FaultDriver,
  type FaultRule,
  assertNothingHeld,
  HoldingDriver,
  ManualClock,
  settled,
  someBytes,
} from '@tiered/core/testing';
import { native } from '@tiered/native';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fillTiers } from './restart.js';
import { diskUsage } from './training.js';

let directory: string;
let objects: Map<string, Uint8Array>;

beforeEach(async () => {
  directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  objects = new Map([
    ['empty', new Uint8Array()],
    ['train/a', someBytes(1000, 1)],
    ['train/b', someBytes(1000, 2)],
    ['train/c', someBytes(1000, 3)],
    ['large', someBytes(9000, 4)],
  ]);
  for (const [key, bytes] of objects) {
    const filePath = path.join(directory, 'source', key);
    await fs.mkdir(path.dirname(filePath), { recursive: true });
    await fs.writeFile(filePath, bytes);
  }
});

afterEach(() => fs.rm(directory, { recursive: true, force: true }));

const sourceDriver = (): StorageDriver => new FileSystemDriver({ root: path.join(directory, 'source') });
const tierDriver = () => new FileSystemDriver({ root: path.join(directory, 'tier'), writable: true });

interface Setup {
  readonly hierarchy: Hierarchy;
  readonly source: MetricsDriver;
  readonly faults: TierFault[];
  readonly clock: ManualClock;
}

/** Room for everything, also where the index and directories take a part of it. */
const ROOM = 4 * 1024 * 1024;

async function start(tier: StorageDriver, { quota = ROOM, source = sourceDriver() } = {}): Promise<Setup> {
  const clock = new ManualClock();
  const counted = new MetricsDriver(source);
  const tiers = [{ driver: tier, quota }];
  const placement = new PlacementHandler({ chunk: 1000 });
  const hierarchy = new Hierarchy({ source: counted, tiers, placement, clock });
  const faults: TierFault[] = [];
  hierarchy.on('tierFault', (fault) => faults.push(fault));
  return { hierarchy: await hierarchy.open(), source: counted, faults, clock };
}

async function expectRight(hierarchy: Hierarchy, keys: Iterable<string> = objects.keys()): Promise<void> {
  for (const key of keys)
    expect(Buffer.compare(await hierarchy.read(key), objects.get(key) ?? new Uint8Array())).toBe(0);
}

/** Where the tier's file of an object is. */
async function fileOf(key: string): Promise<string> {
  const root = path.join(directory, 'tier');
  const name = (await fs.readdir(root, { recursive: true })).find((one) => one.startsWith(`${key}@`));
  if (name === undefined) throw new Error(`there is no copy of ${key}`);
  return path.join(root, name);
}

const tierUsage = () => diskUsage(path.join(directory, 'tier'));

const bytesRead = ({ source }: Setup) => source.metrics().operations.readInto?.bytes ?? 0;

describe('what a hierarchy survives', () => {
  it('[E1] a missing object is an error of its own and disturbs nothing', async () => {
    const { hierarchy } = await start(tierDriver());
    await expect(hierarchy.read('missing')).rejects.toMatchObject({
      code: 'TIERED_NOT_FOUND',
      key: 'missing',
    });
    await expectRight(hierarchy);
    await hierarchy.close();
  });

  it('[F2] an empty object costs no read; one that is larger than every tier, or finds it full, stays in the source', async () => {
    // A tier in memory: there the bytes of copies are all that counts.
    const setup = await start(new MemoryDriver(), { quota: 2500 });
    const { hierarchy } = setup;
    for (let epoch = 1; epoch <= 3; epoch++) {
      for (const key of objects.keys()) {
        await expectRight(hierarchy, [key]);
        await hierarchy.idle();
      }
      expect(bytesRead(setup)).toBe(12_000 + (epoch - 1) * 10_000);
    }
    const levels = [...objects.keys()].map(async (key) => (await hierarchy.stat(key)).level);
    expect(await Promise.all(levels)).toEqual([1, 0, 0, 1, 1]);
    expect(hierarchy.stats().placement).toMatchObject({ placed: 2, failed: 0 });
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });

  it('[Q1] the disk never holds more than the quota, the index and directories among it', async () => {
    const quota = 1024 * 1024;
    for (let i = 0; i < 24; i++) {
      objects.set(`more/${i}`, someBytes(100_000, 10 + i));
      await fs.mkdir(path.join(directory, 'source/more'), { recursive: true });
      await fs.writeFile(path.join(directory, 'source', `more/${i}`), objects.get(`more/${i}`) ?? '');
    }
    const { hierarchy } = await start(tierDriver(), { quota });
    const seen: number[] = [];
    const look = () => void seen.push(diskUsage(path.join(directory, 'tier')).diskBytes);
    hierarchy.on('placed', look);
    for (let epoch = 0; epoch < 3; epoch++) {
      await Promise.all([...objects.keys()].map((key) => expectRight(hierarchy, [key])));
      await hierarchy.idle();
      look();
      // Room that is first to be asked for was not there for the reads.
      await fillTiers({ quotas: [quota] }, hierarchy, objects.keys());
    }
    expect(seen.length).toBeGreaterThan(8);
    expect(Math.max(...seen)).toBeLessThanOrEqual(quota);
    const { usedBytes = 0 } = hierarchy.stats().tiers[0] ?? {};
    expect(usedBytes).toBeLessThanOrEqual(quota);
    expect(usedBytes, 'of which copies are the most').toBeGreaterThan(quota / 2);
    await hierarchy.close();
  });

  it('[R2] the tier directory is deleted while in use: reads go on, the tier goes out of service and comes back', async () => {
    const setup = await start(tierDriver());
    const { hierarchy, faults, clock } = setup;
    const health: string[] = [];
    hierarchy.on('tierOutOfService', ({ use, retryInMs }) => health.push(`${use} out for ${retryInMs}`));
    hierarchy.on('tierInService', ({ use }) => health.push(`${use} back`));
    await expectRight(hierarchy, ['train/a']);
    await hierarchy.idle();
    await fs.rm(path.join(directory, 'tier'), { recursive: true });
    for (const key of ['train/b', 'train/c', 'large', 'train/a']) {
      await expectRight(hierarchy, [key]);
      await hierarchy.idle();
    }
    const said = faults.map(({ operation, error }) => `${operation} ${(error as { code?: string }).code}`);
    // The first copy finds that it cannot be written, and what follows that the index is gone.
    for (const one of said) expect(one).toMatch(/^(write|delete|openIndex) TIERED_UNAVAILABLE$/);
    expect(said.at(-1)).toMatch(/^openIndex/);
    expect(health).toEqual(['write out for 1000']);
    await expectRight(hierarchy);
    await expectRight(hierarchy);
    await hierarchy.idle();
    // The copy that is gone is forgotten, and nobody asks the tier any more.
    expect(health).toEqual(['write out for 1000']);
    expect(faults.length).toBe(said.length);
    // The disk is mounted again, empty.
    await fs.mkdir(path.join(directory, 'tier'));
    await clock.advance(1000);
    // The first read finds that the index is gone and begins a new one, the second places.
    for (let round = 0; round < 2; round++) {
      await expectRight(hierarchy, ['train/b']);
      await hierarchy.idle();
    }
    await expectRight(hierarchy, ['train/b']);
    expect(health.slice(1)).toEqual(['write back']);
    await expectRight(hierarchy);
    await hierarchy.idle();
    expect(hierarchy.stats().tiers[0]).toMatchObject({ readable: true, writable: true });
    expect(tierUsage().bytes).toBe(12_000);
    await hierarchy.close();
    assertNothingHeld(hierarchy.stats());
  });

  it('[R2] copies that vanish from the tier are served from the source and placed again', async () => {
    const setup = await start(tierDriver());
    const { hierarchy, faults } = setup;
    await expectRight(hierarchy, ['train/a']);
    await hierarchy.idle();
    await fs.rm(path.join(directory, 'tier', 'train'), { recursive: true });
    await expectRight(hierarchy, ['train/a']);
    await hierarchy.idle();
    expect(faults).toMatchObject([
      { level: 0, operation: 'read', key: 'train/a', error: { code: 'TIERED_NOT_FOUND' } },
    ]);
    await expectRight(hierarchy, ['train/a']);
    await hierarchy.idle();
    expect((await hierarchy.stat('train/a')).level).toBe(0);
    expect(hierarchy.stats().tiers[0]).toMatchObject({ reservedBytes: 0 });
    expect(tierUsage().bytes).toBe(1000);
    await hierarchy.close();
  });

  it('[Q1] a copy that cannot be read for a while is kept, and not placed a second time', async () => {
    const tier = new FaultDriver(tierDriver(), {
      rules: [{ operations: ['read'], nth: 1, fault: { kind: 'fail', code: 'TIERED_IO' } }],
    });
    const { hierarchy, faults } = await start(tier);
    for (let i = 0; i < 3; i++) {
      await expectRight(hierarchy, ['train/a']);
      await hierarchy.idle();
    }
    expect(faults).toMatchObject([{ operation: 'read', key: 'train/a', error: { code: 'TIERED_IO' } }]);
    expect(hierarchy.stats()).toMatchObject({ tiers: [{ reads: 1 }], placement: { placed: 1 } });
    expect(tierUsage().bytes).toBe(1000);
    await hierarchy.close();
  });

  it('[R2] a copy that was cut short is never served', async () => {
    const { hierarchy, faults } = await start(tierDriver());
    await expectRight(hierarchy, ['train/a']);
    await hierarchy.idle();
    await fs.truncate(await fileOf('train/a'), 10);
    await expectRight(hierarchy, ['train/a']);
    await hierarchy.idle();
    expect(faults).toMatchObject([
      { operation: 'read', key: 'train/a', error: { code: 'TIERED_DATA_CORRUPT' } },
    ]);
    await hierarchy.close();
  });

  it('[R2] the tier turns read-only while in use: what is there is served, nothing is placed', async () => {
    const tier = path.join(directory, 'tier');
    // Its thread loads a file of this repository, which others need not be allowed to read.
    const { hierarchy, faults } = await start(tierDriver());
    const inTier = await fs.readdir(tier, { recursive: true });
    const owned = [directory, tier, ...inTier.map((name) => path.join(tier, name))];
    await asUnprivileged([...owned, path.join(directory, 'source')], async () => {
      await expectRight(hierarchy, ['train/a']);
      await hierarchy.idle();
      await fs.chmod(path.join(tier, '.tiered', 'tmp'), 0o555);
      await fs.chmod(tier, 0o555);
      await expectRight(hierarchy);
      await hierarchy.idle();
      await expectRight(hierarchy);
      await hierarchy.idle();
      expect(faults.length).toBeGreaterThanOrEqual(3);
      for (const fault of faults) expect(fault).toMatchObject({ error: { code: 'TIERED_PERMISSION' } });
      // What was to be written is to be deleted too, as far as is known.
      expect(new Set(faults.map(({ operation }) => operation))).toEqual(new Set(['write', 'delete']));
      expect(hierarchy.stats().tiers[0]).toMatchObject({
        readable: true,
        writable: false,
        reads: 2,
      });
      expect(tierUsage().bytes).toBe(1000);
      await hierarchy.close();
      await fs.chmod(tier, 0o755);
      await fs.chmod(path.join(tier, '.tiered', 'tmp'), 0o755);
    });
  });

  it('[F1] reads of the same missing object at once cost one source read, whether it is placed or not', async () => {
    const setup = await start(new MemoryDriver(), { quota: 1000 });
    const { hierarchy } = setup;
    await Promise.all(Array.from({ length: 10 }, () => expectRight(hierarchy, ['train/a'])));
    expect(bytesRead(setup)).toBe(1000);
    await Promise.all(Array.from({ length: 10 }, () => expectRight(hierarchy, ['train/b'])));
    expect(bytesRead(setup)).toBe(2000);
    expect(hierarchy.stats().reads.joined).toBe(18);
    await hierarchy.close();
  });

  it('[B1] [C1] a tier that hangs: abort lets its reader go at once, and close ends the read', async () => {
    const hanging = new FaultDriver(tierDriver(), {
      rules: [{ operations: ['read'], fault: { kind: 'hang' } }],
    });
    const { hierarchy } = await start(hanging);
    await expectRight(hierarchy, ['train/a']);
    await hierarchy.idle();
    const controller = new AbortController();
    const aborted = expect(hierarchy.read('train/a', { signal: controller.signal })).rejects.toThrow(
      'enough',
    );
    const waiting = expect(hierarchy.read('train/a')).rejects.toMatchObject({ code: 'TIERED_CLOSED' });
    await settled();
    controller.abort(new Error('enough'));
    await aborted;
    await hierarchy.close();
    await waiting;
    assertNothingHeld(hierarchy.stats());
  });

  it('[B1] abort of one reader leaves the others and the placement alone', async () => {
    const source = new HoldingDriver(sourceDriver(), { operations: ['readInto'] });
    const { hierarchy } = await start(tierDriver(), { source });
    const controller = new AbortController();
    const aborted = hierarchy.read('train/a', { signal: controller.signal });
    const patient = hierarchy.read('train/a');
    // The index is asked first.
    while (source.held.length === 0) await settled();
    controller.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await source.releaseAll();
    expect(await patient).toEqual(objects.get('train/a'));
    await hierarchy.idle();
    expect((await hierarchy.stat('train/a')).level).toBe(0);
    await hierarchy.close();
  });

  it('[B1] abort of the only reader of an object that has no place stops the source read', async () => {
    const source = new HoldingDriver(sourceDriver(), { operations: ['readInto'] });
    const { hierarchy } = await start(new MemoryDriver(), { source, quota: 1000 });
    const full = hierarchy.place('train/b');
    await source.releaseAll();
    expect(await full).toBe(0);
    const controller = new AbortController();
    const aborted = hierarchy.read('train/a', { signal: controller.signal });
    await settled();
    controller.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await source.releaseAll();
    assertNothingHeld(hierarchy.stats());
    await hierarchy.close();
  });

  it('[C1] close with reads and placements in flight leaves nothing open, nothing reserved, nothing half written', async () => {
    const source = new HoldingDriver(sourceDriver(), { operations: ['readInto'] });
    const driver = tierDriver();
    const { hierarchy } = await start(driver, { source });
    const controller = new AbortController();
    const reads = [...objects.keys()].map((key) => hierarchy.read(key, { signal: controller.signal }));
    const ends = Promise.allSettled([...reads, hierarchy.place('train/b')]);
    // The index is asked first.
    while (source.held.length < objects.size - 1) await settled();
    const closing = hierarchy.close();
    controller.abort(new Error('enough'));
    await source.releaseAll();
    await closing;
    for (const end of (await ends).slice(1)) expect(end.status).toBe('rejected');
    assertNothingHeld(hierarchy.stats());
    expect(driver.openFiles).toBe(0);
    const left = await fs.readdir(path.join(directory, 'tier'), { recursive: true });
    const own = ['.tiered', '.tiered/index.db', '.tiered/members', '.tiered/tmp'];
    // Empty, for processes that share the tier.
    const locks = native().available ? ['.tiered/locks'] : [];
    expect(left.sort()).toEqual([...own, ...locks].sort());
  });

  it('[R3] the source is never written', async () => {
    const source = new MetricsDriver(await inMemory());
    const { hierarchy } = await start(tierDriver(), { source });
    await expectRight(hierarchy);
    await expectRight(hierarchy);
    await hierarchy.idle();
    await hierarchy.close();
    expect(Object.keys(source.metrics().operations).sort()).toEqual(['list', 'open', 'readInto']);
  });

  it('[R2] whatever tiers and source do, every read gives the right bytes, and nothing is left over', async () => {
    const faultOf = fc.constantFrom<FaultRule['fault']>(
      { kind: 'fail', code: 'TIERED_IO' },
      { kind: 'fail', code: 'TIERED_NO_SPACE', retryable: false },
      { kind: 'fail-after' },
      { kind: 'truncate' },
    );
    const operations = [
      'stat',
      'read',
      'readInto',
      'write',
      'create',
      'writeAt',
      'publish',
      'delete',
    ] as const;
    const rule = fc.record({ fault: faultOf, probability: fc.double({ min: 0, max: 1, noNaN: true }) });
    const tierRules = fc.array(rule, { maxLength: 3 });
    const read = fc.record({
      key: fc.constantFrom('empty', 'train/a', 'train/b', 'train/c', 'large'),
      offset: fc.nat(1000),
      length: fc.nat(9000),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        tierRules,
        tierRules,
        fc.integer({ min: 700, max: 9000 }),
        fc.array(read, { maxLength: 60 }),
        async (seed, fast, slow, quota, reads) => {
          const clock = new ManualClock();
          const faulty = (
            rules: readonly { fault: FaultRule['fault']; probability: number }[],
            salt: number,
          ) =>
            new FaultDriver(new MemoryDriver(), {
              seed: seed + salt,
              rules: rules.map((r) => ({ ...r, operations })),
            });
          const flaky = new FaultDriver(await inMemory(), {
            seed,
            rules: [{ operations: ['readInto'], probability: 0.3, fault: { kind: 'fail' } }],
          });
          const source = new RetryDriver(flaky, { attempts: 50, clock, deadlineMs: 1e9 });
          const tiers = [
            { driver: faulty(fast, 1), quota },
            { driver: faulty(slow, 2), quota: 4000 },
          ];
          const hierarchy = await new Hierarchy({
            source,
            tiers,
            placement: new PlacementHandler({ chunk: 700 }),
            clock,
          }).open();
          for (let i = 0; i < reads.length; i += 5) {
            const some = reads.slice(i, i + 5).map(async ({ key, offset, length }) => {
              const got = await hierarchy.read(key, { offset, length });
              expect(
                Buffer.compare(got, (objects.get(key) ?? new Uint8Array()).subarray(offset, offset + length)),
              ).toBe(0);
            });
            await clock.run(Promise.all(some));
          }
          await clock.run(hierarchy.idle());
          for (const tier of hierarchy.stats().tiers)
            expect(tier.usedBytes).toBeLessThanOrEqual(tier.quotaBytes);
          await clock.run(hierarchy.close());
          assertNothingHeld(hierarchy.stats());
          expect(clock.sleeping).toBe(0);
        },
      ),
      { numRuns: 60 },
    );
  });
});

async function inMemory(): Promise<MemoryDriver> {
  const driver = new MemoryDriver();
  for (const [key, bytes] of objects) await driver.write(key, bytes, { size: bytes.byteLength });
  return driver;
}

/** Permissions do not bind root: as root, runs as `nobody`, who is given the directories. */
async function asUnprivileged(owned: readonly string[], work: () => Promise<void>): Promise<void> {
  const NOBODY = 65_534;
  if (process.geteuid?.() !== 0) return work();
  for (const owner of owned) await fs.chown(owner, NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  try {
    await work();
  } finally {
    process.seteuid?.(0);
  }
}
