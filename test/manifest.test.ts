import { Hierarchy, type HierarchyOptions } from '@tiered/core';
import { MetricsDriver } from '@tiered/core/decorators';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const KEYS = ['a', 'b/c', 'b/d'];

let directory: string;
const at = (...names: string[]) => path.join(directory, ...names);

beforeEach(async () => {
  directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  await fs.mkdir(at('source', 'b'), { recursive: true });
  for (const [i, key] of KEYS.entries()) await fs.writeFile(at('source', key), someBytes(1000, i));
});

afterEach(() => fs.rm(directory, { recursive: true, force: true }));

/** A hierarchy that has not started, with what it asks of its source, and what it tells. */
function hierarchyOver(root = 'source', options: Partial<HierarchyOptions> = {}) {
  const source = new MetricsDriver(new FileSystemDriver({ root: at(root) }));
  const tiers = [{ driver: new FileSystemDriver({ root: at('tier'), writable: true }), quota: '4MiB' }];
  const placement = new PlacementHandler({ chunk: 1000 });
  const hierarchy = new Hierarchy({ source, tiers, placement, manifest: at('manifest'), ...options });
  const told: string[] = [];
  hierarchy.on('scan', ({ objects, bytes }) => told.push(`${objects} objects, ${bytes} bytes`));
  hierarchy.on('manifestFailed', ({ error }) => told.push((error as { code: string }).code));
  const listings = () => source.metrics().operations.list?.count ?? 0;
  return { hierarchy, told, listings };
}

async function expectAll(hierarchy: Hierarchy): Promise<void> {
  for (const key of KEYS) {
    expect(Buffer.compare(await hierarchy.read(key), await fs.readFile(at('source', key)))).toBe(0);
  }
  await hierarchy.idle();
}

describe('a manifest', () => {
  it('[L1] [R3] inside the source is refused, and the source stays as it is', async () => {
    const inside = {
      code: 'TIERED_CONFIG_INVALID',
      message: expect.stringMatching(/^manifest: .*beside/) as string,
    };
    for (const manifest of [
      at('source', 'manifest'),
      at('source', 'b', 'manifest'),
      at('x', '..', 'source', 'm'),
    ])
      expect(() => hierarchyOver('source', { manifest })).toThrow(expect.objectContaining(inside));
    const { hierarchy } = hierarchyOver('source', { manifest: at('source.manifest') });
    await hierarchy.open();
    await hierarchy.close();
    await fs.symlink(at('source', 'b'), at('link'));
    const odd = {
      driver: new FileSystemDriver({ root: at('a b#%20') }),
      manifest: at('a b#%20', 'manifest'),
    };
    expect(() => new Hierarchy({ source: odd.driver, manifest: odd.manifest })).toThrow(
      expect.objectContaining(inside),
    );
    const linked = hierarchyOver('source', { manifest: at('link', 'manifest') });
    await expect(linked.hierarchy.open()).rejects.toMatchObject(inside);
    expect((await fs.readdir(at('source'), { recursive: true })).sort()).toEqual(['a', 'b', 'b/c', 'b/d']);
  });

  it('[M1] spares the second start the listing, and tells the same', async () => {
    const first = hierarchyOver();
    await first.hierarchy.open();
    await expectAll(first.hierarchy);
    const described = first.hierarchy.namespace.count;
    await first.hierarchy.close();
    expect(first.listings()).toBeGreaterThan(0);
    const second = hierarchyOver();
    await second.hierarchy.open();
    expect(second.listings()).toBe(0);
    expect(second.told).toEqual(['3 objects, 3000 bytes']);
    expect(second.hierarchy.namespace.count).toBe(described);
    await expectAll(second.hierarchy);
    // And the copies of the first are taken over all the same.
    expect(second.hierarchy.stats()).toMatchObject({ source: { readBytes: 0 }, placement: { adopted: 3 } });
    await second.hierarchy.close();
  });

  it('[M1] that is older than the source costs a look at what has changed, and nothing wrong is served', async () => {
    const first = hierarchyOver();
    await (await first.hierarchy.open()).close();
    await fs.writeFile(at('source', 'a'), someBytes(1500, 77));
    await fs.writeFile(at('source', 'new'), someBytes(10, 78));
    const second = hierarchyOver();
    await second.hierarchy.open();
    await expectAll(second.hierarchy);
    expect(await second.hierarchy.read('new')).toEqual(someBytes(10, 78));
    expect(second.listings()).toBe(0);
    await second.hierarchy.rescan();
    await second.hierarchy.close();
    const third = hierarchyOver();
    await third.hierarchy.open();
    expect(third.told).toEqual(['4 objects, 3510 bytes']);
    await third.hierarchy.close();
  });

  it('[M2] that is damaged, or cannot be written, costs a listing', async () => {
    await fs.writeFile(at('manifest'), 'nonsense');
    const damaged = hierarchyOver();
    await damaged.hierarchy.open();
    expect(damaged.told).toEqual(['TIERED_DATA_CORRUPT', '3 objects, 3000 bytes']);
    await damaged.hierarchy.close();
    const mended = hierarchyOver();
    await (await mended.hierarchy.open()).close();
    expect(mended.listings()).toBe(0);
    const homeless = hierarchyOver('source', { manifest: at('missing', 'manifest') });
    await homeless.hierarchy.open();
    expect(homeless.told).toEqual(['3 objects, 3000 bytes', 'TIERED_NOT_FOUND']);
    await expectAll(homeless.hierarchy);
    await homeless.hierarchy.close();
  });

  it('[M2] of another source is refused, and left as it is', async () => {
    await (await hierarchyOver().hierarchy.open()).close();
    const before = await fs.readFile(at('manifest'));
    await fs.cp(at('source'), at('other'), { recursive: true });
    await expect(hierarchyOver('other').hierarchy.open()).rejects.toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
    });
    expect(await fs.readFile(at('manifest'))).toEqual(before);
  });

  it.each([{ scan: false }, { manifest: '' }, { manifest: 7 as unknown as string }])(
    'is refused with %o',
    (options) => {
      expect(() => hierarchyOver('source', options)).toThrow(
        expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
      );
    },
  );
});
