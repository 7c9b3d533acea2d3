import {
  Hierarchy,
  MemoryDriver,
  type ListOptions,
  type ObjectStat,
  type OperationOptions,
  type VersionPolicy,
} from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { HoldingDriver, settled, someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const OLD = someBytes(1000, 1);
const NEW = someBytes(1000, 2);
const LONGER = someBytes(1500, 3);
const SHORTER = someBytes(300, 4);

let directory: string;
const file = () => path.join(directory, 'source', 'a');

beforeEach(async () => {
  directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  await fs.mkdir(path.join(directory, 'source'));
  await fs.writeFile(file(), OLD);
});

afterEach(() => fs.rm(directory, { recursive: true, force: true }));

/** A source changes in one of two ways. */
const WAYS = {
  'written in place': (bytes: Uint8Array) => fs.writeFile(file(), bytes),
  'replaced by rename': async (bytes: Uint8Array) => {
    await fs.writeFile(`${file()}.new`, bytes);
    await fs.rename(`${file()}.new`, file());
  },
};

async function start(versions: VersionPolicy | undefined, { tiers = true } = {}) {
  const source = new MetricsDriver(
    new FileSystemDriver({ root: path.join(directory, 'source'), maxOpenFiles: 1 }),
  );
  const driver = new FileSystemDriver({ root: path.join(directory, 'tier'), writable: true });
  const hierarchy = new Hierarchy({
    source,
    tiers: tiers ? [{ driver, quota: '4MiB' }] : [],
    placement: new PlacementHandler({ chunk: 400 }),
    ...(versions && { versions }),
  });
  return { source, hierarchy: await hierarchy.open() };
}

describe.each(Object.entries(WAYS))('an object of the source that was %s', (_, change) => {
  it.each([NEW, LONGER, SHORTER])(
    '[V2] refresh: a read that goes to the source gives the new object, whole, with a copy or without',
    async (bytes) => {
      for (const tiers of [true, false]) {
        await fs.writeFile(file(), OLD);
        const { hierarchy } = await start(undefined, { tiers });
        await change(bytes);
        expect(await hierarchy.read('a')).toEqual(bytes);
        await hierarchy.idle();
        expect(await hierarchy.read('a')).toEqual(bytes);
        await hierarchy.idle();
        expect(await hierarchy.stat('a')).toMatchObject({ size: bytes.byteLength, level: 0 });
        await hierarchy.close();
        await fs.rm(path.join(directory, 'tier'), { recursive: true, force: true });
      }
    },
  );

  it('[V2] refresh: a copy of the old one is dropped as soon as a listing shows the change', async () => {
    const { hierarchy } = await start('refresh');
    await hierarchy.place('a');
    await change(NEW);
    const progress: unknown[] = [];
    hierarchy.on('scan', (told) => progress.push(told));
    expect(await hierarchy.read('a')).toEqual(OLD);
    await hierarchy.rescan();
    expect(progress).toEqual([{ objects: 1, bytes: 1000 }]);
    expect(await hierarchy.read('a')).toEqual(NEW);
    expect(hierarchy.stats().placement.outdated).toBe(1);
    await hierarchy.close();
  });

  it('[V3] pin: copies of what was there at first are served, and a read of anything else is an error', async () => {
    const { hierarchy } = await start('pin');
    await hierarchy.read('a', { length: 10 });
    await hierarchy.idle();
    await change(NEW);
    await hierarchy.rescan();
    expect(await hierarchy.read('a')).toEqual(OLD);
    await hierarchy.close();
    const bare = await start('pin', { tiers: false });
    await change(LONGER);
    const error = { code: 'TIERED_SOURCE_CHANGED', key: 'a', retryable: false };
    await expect(bare.hierarchy.read('a')).rejects.toMatchObject(error);
    await expect(bare.hierarchy.read('a')).rejects.toMatchObject(error);
    await bare.hierarchy.rescan();
    await expect(bare.hierarchy.read('a')).rejects.toMatchObject(error);
    await bare.hierarchy.close();
  });

  it('[V4] ignore: equal size is equal content, also over a restart; another size is another object', async () => {
    const first = await start('ignore');
    await first.hierarchy.place('a');
    await change(NEW);
    await first.hierarchy.rescan();
    expect(await first.hierarchy.read('a')).toEqual(OLD);
    await first.hierarchy.close();
    const second = await start('ignore');
    expect(await second.hierarchy.read('a')).toEqual(OLD);
    expect(second.source.metrics().operations.readInto).toBeUndefined();
    await change(LONGER);
    await second.hierarchy.rescan();
    expect(await second.hierarchy.read('a')).toEqual(LONGER);
    await second.hierarchy.close();
  });
});

describe('a source whose driver keeps files open, and a file that was read before it changed', () => {
  const opened = (versions: VersionPolicy) =>
    new Hierarchy({
      versions,
      source: new FileSystemDriver({ root: path.join(directory, 'source') }),
    }).open();
  const CHANGES = {
    ...WAYS,
    'deleted and made anew': async (bytes: Uint8Array) => {
      await fs.rm(file());
      await fs.writeFile(file(), bytes);
    },
  };

  /** Reads it twice, so that a descriptor is kept that was found right. */
  async function readBefore(versions: VersionPolicy) {
    const hierarchy = await opened(versions);
    for (let i = 0; i < 2; i++) expect(await hierarchy.read('a')).toEqual(OLD);
    return hierarchy;
  }

  it.each(Object.entries(CHANGES))('[V2] [V3] %s: refresh gives the new one, pin none', async (_, change) => {
    for (const bytes of [NEW, LONGER, SHORTER]) {
      await fs.writeFile(file(), OLD);
      const refresh = await readBefore('refresh');
      await change(bytes);
      expect(await refresh.read('a')).toEqual(bytes);
      await refresh.close();
      await fs.writeFile(file(), OLD);
      const pin = await readBefore('pin');
      await change(bytes);
      for (let i = 0; i < 2; i++)
        await expect(pin.read('a')).rejects.toMatchObject({ code: 'TIERED_SOURCE_CHANGED', key: 'a' });
      await pin.close();
    }
  });

  it('[E1] deleted: it is missing', async () => {
    for (const versions of ['refresh', 'ignore'] as const) {
      await fs.writeFile(file(), OLD);
      const hierarchy = await readBefore(versions);
      await fs.rm(file());
      for (let i = 0; i < 2; i++)
        await expect(hierarchy.read('a')).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND', key: 'a' });
      await hierarchy.close();
    }
  });
});

describe.each(Object.entries(WAYS))('versions: ignore, and a file that was %s', (_, change) => {
  it.each([LONGER, SHORTER])(
    '[V4] a read that goes to the source gives what has another size, all of it',
    async (bytes) => {
      for (const tiers of [true, false]) {
        await fs.writeFile(file(), OLD);
        const { hierarchy } = await start('ignore', { tiers });
        await change(bytes);
        expect(await hierarchy.read('a')).toEqual(bytes);
        const target = new Uint8Array(2000);
        expect(await hierarchy.readInto('a', target)).toBe(bytes.byteLength);
        expect(target.subarray(0, bytes.byteLength)).toEqual(bytes);
        expect(await hierarchy.readMany([{ key: 'a', target }])).toEqual([{ bytes: bytes.byteLength }]);
        await hierarchy.close();
        await fs.rm(path.join(directory, 'tier'), { recursive: true, force: true });
      }
    },
  );

  it('[V4] what has the same size is read and placed as it is, without an error', async () => {
    for (const tiers of [true, false]) {
      await fs.rm(path.join(directory, 'tier'), { recursive: true, force: true });
      await fs.writeFile(file(), OLD);
      const { hierarchy } = await start('ignore', { tiers });
      await change(NEW);
      expect(await hierarchy.read('a')).toEqual(NEW);
      await hierarchy.idle();
      expect(await hierarchy.read('a')).toEqual(NEW);
      await hierarchy.idle();
      if (tiers) expect((await hierarchy.stat('a')).level).toBe(0);
      await hierarchy.close();
    }
  });
});

/**
 * A source whose versions say nothing: no two answers have the same one, and so no read finds the one that it
 * asks for.
 */
class Restless extends InterceptingDriver {
  #answers = 0;

  override async stat(key: string, options: OperationOptions): Promise<ObjectStat> {
    return { ...(await super.stat(key, options)), version: `${(this.#answers += 1)}` };
  }

  override async *list(options: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    for await (const page of super.list(options))
      yield page.map((object) => ({ ...object, version: `${(this.#answers += 1)}` }));
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}

it('[V4] ignore: a source whose versions fit nothing is read all the same', async () => {
  const source = new Restless(new FileSystemDriver({ root: path.join(directory, 'source') }));
  for (let i = 0; i < 20; i++) await fs.writeFile(path.join(directory, 'source', `b${i}`), OLD);
  const hierarchy = await new Hierarchy({ source, versions: 'ignore' }).open();
  for (let i = 0; i < 20; i++) expect(await hierarchy.read(`b${i}`)).toEqual(OLD);
  expect(hierarchy.stats().source.reads).toBeLessThan(30);
  await hierarchy.close();
});

/** A source in which an object grows whenever it is about to be read, so many times. */
class Growing extends InterceptingDriver {
  times = 3;

  protected override async intercept<T>(call: DriverCall<T>): Promise<T> {
    if (call.key === 'a' && call.operation.startsWith('read') && this.times > 0) {
      this.times -= 1;
      await fs.appendFile(file(), OLD);
    }
    return call.proceed();
  }
}

it('[V4] ignore: one object that changes all the time says nothing of the versions of the others', async () => {
  for (const tiers of [true, false]) {
    await fs.writeFile(file(), OLD);
    const calm = path.join(directory, 'source', 'calm');
    await fs.writeFile(calm, OLD);
    const source = new Growing(new FileSystemDriver({ root: path.join(directory, 'source') }));
    const hierarchy = new Hierarchy({
      source,
      tiers: tiers ? [{ driver: new MemoryDriver(), quota: '4MiB' }] : [],
      placement: new PlacementHandler({ chunk: 10_000 }),
      versions: 'ignore',
    });
    await hierarchy.open();
    await expect(hierarchy.read('a')).rejects.toMatchObject({ code: 'TIERED_SOURCE_CHANGED' });
    expect(source.times).toBe(0);
    expect(await hierarchy.read('a')).toHaveLength(4 * OLD.byteLength);
    await fs.writeFile(calm, LONGER);
    expect(await hierarchy.read('calm')).toEqual(LONGER);
    await hierarchy.close();
  }
});

it('refuses a policy that there is not', async () => {
  await expect(start('sometimes' as VersionPolicy)).rejects.toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
});

describe('an object that was deleted in the source', () => {
  const keysOf = async (hierarchy: Hierarchy) => {
    const keys: string[] = [];
    for await (const page of hierarchy.list()) keys.push(...page.map(({ key }) => key));
    return keys.toSorted();
  };
  const others = () => fs.writeFile(path.join(directory, 'source', 'b'), SHORTER);

  it.each(['refresh', 'ignore'] as const)(
    '[V2] [V4] %s: is gone once a listing does not show it, with its copy, and comes back with it',
    async (versions) => {
      await others();
      await using hierarchy = (await start(versions)).hierarchy;
      await hierarchy.place('a');
      const handle = await hierarchy.handle('a');
      const dropped: string[] = [];
      hierarchy.on('dropped', ({ key, reason }) => dropped.push(`${key} ${reason}`));
      await fs.rm(file());
      expect(await hierarchy.read('a')).toEqual(OLD);

      await hierarchy.rescan();
      await hierarchy.idle();
      expect(await keysOf(hierarchy)).toEqual(['b']);
      expect(dropped).toEqual(['a outdated']);
      const gone = expect.objectContaining({ code: 'TIERED_NOT_FOUND', key: 'a' }) as Error;
      await expect(hierarchy.read('a')).rejects.toEqual(gone);
      await expect(handle.read()).rejects.toEqual(gone);
      await expect(hierarchy.stat('a')).rejects.toEqual(gone);
      const target = new Uint8Array(10);
      const [outcome] = await hierarchy.readMany([{ key: 'a', target }]);
      expect(outcome).toEqual({ error: gone });
      expect(hierarchy.stats().namespace).toEqual({ objects: 1, bytes: SHORTER.byteLength });
      expect(await fs.readdir(path.join(directory, 'tier'))).toEqual(['.tiered']);

      await fs.writeFile(file(), LONGER);
      await hierarchy.rescan();
      expect(await keysOf(hierarchy)).toEqual(['a', 'b']);
      expect(await hierarchy.read('a')).toEqual(LONGER);
      expect(await handle.read()).toEqual(LONGER);
    },
  );

  it('[V2] is not served from a copy that was on its way when it was deleted', async () => {
    const source = new MemoryDriver();
    for (const key of ['a', 'b']) await source.write(key, OLD, { size: OLD.byteLength });
    const driver = new HoldingDriver(new MemoryDriver(), { operations: ['write'] });
    const tiers = [{ driver, quota: '4MiB' }];
    await using hierarchy = await new Hierarchy({
      ...{ source, tiers, placement: new PlacementHandler() },
    }).open();
    const placing = hierarchy.place('a');
    await settled();
    expect(driver.held).toHaveLength(1);
    await source.delete('a', {});
    await hierarchy.rescan();
    await driver.releaseAll();
    expect(await placing).toBe(1);
    expect(hierarchy.stats()).toMatchObject({ placement: { placed: 0 }, tiers: [{ usedBytes: 0 }] });
    await expect(hierarchy.read('a')).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
  });

  it('[V3] pin: stays as it was known', async () => {
    await others();
    await using hierarchy = (await start('pin')).hierarchy;
    await hierarchy.place('a');
    await fs.rm(file());
    await hierarchy.rescan();
    expect(await keysOf(hierarchy)).toEqual(['a', 'b']);
    expect(await hierarchy.read('a')).toEqual(OLD);
  });

  it('[V2] a listing of nothing at all, as where nothing is mounted, takes nothing away', async () => {
    await using hierarchy = (await start('refresh')).hierarchy;
    await hierarchy.place('a');
    await fs.rm(file());
    await hierarchy.rescan();
    expect(await keysOf(hierarchy)).toEqual(['a']);
    expect(await hierarchy.read('a')).toEqual(OLD);
  });

  it('[V2] what became known while the listing was under way stays', async () => {
    const source = new MemoryDriver();
    for (const key of ['a', 'b']) await source.write(key, OLD, { size: OLD.byteLength });
    const listing = new PausedListing(source);
    await using hierarchy = await new Hierarchy({ source: listing }).open();
    listing.atPage = async () => {
      // The listing has shown no more than there was when it began.
      await source.write('c', OLD, { size: OLD.byteLength });
      await hierarchy.stat('c');
      await source.delete('a', {});
    };
    await hierarchy.rescan();
    expect(await keysOf(hierarchy)).toEqual(['a', 'b', 'c']);
    listing.atPage = () => Promise.resolve();
    await hierarchy.rescan();
    expect(await keysOf(hierarchy)).toEqual(['b', 'c']);
  });

  it('[M1] is in no manifest that is saved afterwards', async () => {
    await others();
    const manifest = path.join(directory, 'manifest');
    const open = () =>
      new Hierarchy({
        source: new FileSystemDriver({ root: path.join(directory, 'source') }),
        manifest,
      }).open();
    const first = await open();
    await fs.rm(file());
    await first.rescan();
    await first.close();
    await using second = await open();
    expect(await keysOf(second)).toEqual(['b']);
    await expect(second.read('a')).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
  });
});

/** Does something between the page of a listing and its end. */
class PausedListing extends InterceptingDriver {
  atPage = () => Promise.resolve();

  override async *list(options: ListOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
    for await (const page of this.inner.list(options)) {
      yield page;
      await this.atPage();
    }
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}
