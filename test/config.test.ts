import { loadConfig, loadHierarchy, type HierarchyConfig } from '@tiered/config';
import { ManualClock } from '@tiered/core/testing';
import fc from 'fast-check';
import fs from 'node:fs/promises';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { made } from '../packages/config/test/drivers/noting.js';
import {
  directoryWith,
  driverPath,
  fieldsOf,
  fileWith,
  problemsOf,
  refusalOf,
} from '../packages/config/test/helpers.js';
import { MISTAKES } from './config-mistakes.js';
import { someConfig } from './config-samples.js';
import { blocks } from './documents.js';

/** A file's content, larger than a chunk. */
const body = (letter: string) => letter.repeat(6000);

describe('loadHierarchy', () => {
  it('makes the hierarchy that the file describes: its source is read, its tiers are filled and serve', async () => {
    const [a, b, c] = [body('a'), body('b'), body('c')];
    const directory = await directoryWith({
      'data/train/a': a,
      'data/train/b': b,
      'data/test/c': c,
      'config/tiers.yaml': `
        source: { driver: fs, root: ../data, prefix: train/, retry: { attempts: 4 } }
        tiers:
          - { driver: memory, quota: 6000 }
          - { driver: fs, root: ./cache, quota: 200GiB, fsync: true }
        placement: { policy: firstFit, concurrency: 1, chunk: 4KiB, memory: 1MiB }
        scan: true`,
    });
    const hierarchy = await loadHierarchy(path.join(directory, 'config/tiers.yaml'));
    await hierarchy.open();
    expect(hierarchy.namespace.count).toBe(2);
    expect(Buffer.from(await hierarchy.read('a')).toString()).toBe(a);
    expect(await hierarchy.place('b')).toBe(1);
    await hierarchy.idle();
    expect(Buffer.from(await hierarchy.read('b')).toString()).toBe(b);
    const [ram, disk] = hierarchy.stats().tiers;
    expect(ram).toMatchObject({ quotaBytes: 6000, usedBytes: 6000 });
    // Whole blocks, and the index beside them.
    expect(disk).toMatchObject({ quotaBytes: 200 * 2 ** 30 });
    expect(disk?.usedBytes).toBeGreaterThan(4096);
    await hierarchy.close();
    const cache = path.join(directory, 'config/cache');
    const copies = (await fs.readdir(cache)).filter((name) => name !== '.tiered');
    expect(copies).toEqual([expect.stringMatching(/^b@/)]);
    expect(await fs.readFile(path.join(cache, copies[0] ?? ''), 'utf8')).toBe(b);
    expect(await fs.readdir(path.join(directory, 'data'))).toEqual(['test', 'train']);
  });

  it('places by the default policy if the file says nothing, and needs no tiers for a placement', async () => {
    const source = { driver: 'memory' };
    for (const config of [
      { source, tiers: [{ driver: 'memory', quota: '8MiB' }] },
      { source, tiers: [{ driver: 'memory', quota: '8MiB' }], placement: { policy: { name: 'firstFit' } } },
      { source, placement: {} },
      { source, tiers: [], placement: { policy: 'firstFit' } },
    ]) {
      const hierarchy = await (await loadHierarchy(config)).open();
      expect(hierarchy.stats().tiers).toHaveLength(config.tiers?.length ?? 0);
      await hierarchy.close();
    }
  });

  it('[G1] gives the same hierarchy for an object, for YAML and for JSON', async () => {
    /** Makes a hierarchy, reads an object twice, and tells everything that can be seen of that. */
    const seenOf = async (config: HierarchyConfig | string, baseDirectory: string) => {
      made.length = 0;
      const clock = new ManualClock();
      const env = { SIZE: '64MiB', PERCENT: '20' };
      const { makeHierarchy, prefetcher, monitor, shares } = await loadConfig(config, {
        clock,
        baseDirectory,
        env,
      });
      const hierarchy = makeHierarchy();
      const [source] = made;
      const key = `${hierarchy.stats().source.driver.slice('noting/'.length)}object`;
      await source?.driver.write(key, new Uint8Array(1000), { size: 1000 });
      await clock.run(hierarchy.open());
      await clock.run(hierarchy.read('object'));
      await clock.run(hierarchy.idle());
      await clock.run(hierarchy.read('object', { offset: 500 }));
      const stats = hierarchy.stats();
      await clock.run(hierarchy.close());
      return {
        stats,
        prefetcher,
        monitor,
        shares,
        drivers: made.map(({ options, context }) => ({ options, role: context.role })),
        now: clock.now(),
      };
    };
    await fc.assert(
      fc.asyncProperty(someConfig(driverPath('noting')), async (config) => {
        const files = { 'tiers.yaml': stringify(config), 'tiers.json': JSON.stringify(config, undefined, 2) };
        const directory = await directoryWith(files);
        const seen = await seenOf(config, directory);
        expect(await seenOf(path.join(directory, 'tiers.yaml'), directory)).toEqual(seen);
        expect(await seenOf(path.join(directory, 'tiers.json'), directory)).toEqual(seen);
      }),
      { numRuns: 50 },
    );
  });
});

describe('a configuration that cannot work', () => {
  it.each(MISTAKES)(
    'is refused with its field, and nothing else is: $what',
    async ({ config, field, told = '' }) => {
      const problems = await problemsOf(config);
      expect(problems.map((problem) => problem.field)).toEqual([field]);
      expect(problems[0]?.text).toContain(told);
    },
  );

  it.each(MISTAKES)('is refused in a file as it is in code: $what', async ({ config, field }) => {
    expect(await fieldsOf(await fileWith(stringify(config)))).toEqual([field]);
  });

  it('[L1] is refused if a tier lies inside the source, or two tiers share a directory', async () => {
    const tiers = (...roots: string[]) => roots.map((root) => ({ driver: 'fs', root, quota: '1MiB' }));
    for (const [root, ...others] of [
      ['.', './cache'],
      ['data', 'data'],
      ['data/train', 'data'],
      ['data', 'one', 'two', './one/../one/'],
    ] as const) {
      const file = await fileWith(stringify({ source: { driver: 'fs', root }, tiers: tiers(...others) }));
      const { message } = await refusalOf(file);
      expect(message).toContain(file);
      expect(message).toMatch(/tiers\[\d\].*(source|tiers\[\d\])|source.*tiers\[\d\]/);
    }
    const apart = { source: { driver: 'fs', root: 'data' }, tiers: tiers('data2', 'dat') };
    await loadHierarchy(await fileWith(stringify(apart)));
  });
});

describe('docs/configuration.md', () => {
  const shown = blocks().filter(({ name }) => name.startsWith('docs/configuration.md '));

  it('shows a file that works', async () => {
    const [example] = shown.filter(({ language }) => language === 'yaml');
    const hierarchy = await loadHierarchy(await fileWith(example?.text ?? ''));
    expect(hierarchy.stats().tiers).toHaveLength(2);
  });

  it('shows what mistakes look like', async () => {
    const file = await fileWith(
      [
        'source: { driver: fs, roto: /data }',
        'tiers:',
        '  - driver: memory',
        '    quota: 8GB/s',
        '  - driver: ram',
        '    quota: 8GB',
      ].join('\n'),
    );
    const problems = shown.find(({ text }) => text.includes('problems:'))?.text.trim();
    expect((await refusalOf(file)).message.replace(file, 'tiers.yaml')).toBe(problems);
  });

  it('shows a driver that works', async () => {
    const [code = ''] = shown
      .filter(({ text }) => text.includes('const driverFactory'))
      .map(({ text }) => text);
    const { outputText } = ts.transpileModule(code, { compilerOptions: { module: ts.ModuleKind.ESNext } });
    const driver = await fileWith(
      `${outputText}\nclass MyDriver { name = 'mine'; capabilities = {}; }`,
      'my-driver.mjs',
    );
    const hierarchy = await loadHierarchy({ source: { driver, bucket: 'b' } });
    expect(hierarchy.stats().source.driver).toBe('mine');
    expect(await fieldsOf({ source: { driver, bucket: 1 } })).toEqual(['source.bucket']);
  });
});

describe('examples/tiers.yaml', () => {
  it('needs nothing but its two directories', async () => {
    const file = path.join(import.meta.dirname, '../examples/tiers.yaml');
    expect(Object.keys(parse(await fs.readFile(file, 'utf8')) as object)).toEqual([
      'source',
      'tiers',
      'placement',
    ]);
    const env = { TIERED_DATASET: '/data', TIERED_CACHE: '/cache' };
    const hierarchy = await loadHierarchy(file, { env });
    expect(hierarchy.stats().tiers.map(({ driver }) => driver)).toEqual(['memory', 'fs:/cache/tiered']);
    expect(await fieldsOf(file, { env: {} })).toEqual(['source.root', 'tiers[1].root']);
  });
});
