import { loadConfig, loadHierarchy, loadHierarchyOptions } from '@tiered/config';
import fc from 'fast-check';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { directoryWith, fileWith, problemsOf } from './helpers.js';

const source = { driver: 'memory' };

/** A profile of so many tiers, of which each read takes longer than from the source. */
const profileOf = (tiers: number) => ({
  version: 1,
  objectBytes: 1000,
  source: { name: 'source', read: { points: [[1, 1000]] } },
  tiers: Array.from({ length: tiers }, (_, i) => ({ name: `tier ${i}`, read: { points: [[1, 1]] } })),
});

describe('loadConfig', () => {
  it('makes a driver of its own for what clients of a gateway write', async () => {
    const bucket = { driver: 's3', bucket: 'data', prefix: 'in/', retry: { attempts: 2 } };
    const gateway = { changing: ['log/*'], writes: ['out/'] };
    const loaded = await loadConfig({ source: bucket, gateway });
    const { changing, writes } = loaded.gateway;
    expect([changing, writes?.prefix, writes?.prefixes]).toEqual([['log/*'], 'in/', ['out/']]);
    expect(writes?.driver.name).toBe('s3:data');
    expect(writes?.driver.capabilities).toMatchObject({ write: true, delete: true });
    expect(loaded.hierarchy.source.capabilities).toMatchObject({ write: false, delete: false });
    expect((await loadConfig({ source: bucket })).gateway).toEqual({});
  });

  it('tells what the file says of prefetchers, and where the process can be watched', async () => {
    const prefetcher = {
      memory: '1GiB',
      initialProducers: 12,
      concurrency: 32,
      onError: 'skip',
      maxSkipped: 3,
    };
    const config = { source, prefetcher, monitor: 'run/monitor' };
    const file = await fileWith(JSON.stringify(config), 'tiers.json');
    const loaded = await loadConfig(file);
    expect(loaded).toMatchObject({ prefetcher, shares: [] });
    expect(loaded.monitor).toBe(path.join(path.dirname(file), 'run/monitor'));
    await loaded.makeHierarchy().close();
    const env = { SIZE: '5 MB', RUN: '/run' };
    const given = { source, prefetcher: { memory: '${SIZE}' }, monitor: '${RUN}/tiered' };
    expect(await loadConfig(given, { env })).toMatchObject({
      prefetcher: { memory: '5 MB' },
      monitor: '/run/tiered',
    });
    expect(await loadConfig({ source })).toMatchObject({ prefetcher: {}, monitor: undefined });
  });

  it('is what loadHierarchy and loadHierarchyOptions are made of, which have no use for these', async () => {
    const config = {
      source,
      tiers: [{ ...source, quota: '8MiB' }],
      prefetcher: { producers: 3 },
      monitor: '.',
    };
    const options = await loadHierarchyOptions(config);
    expect(options).not.toHaveProperty('prefetcher');
    expect(options).not.toHaveProperty('monitor');
    expect(options.tiers).toHaveLength(1);
    const hierarchy = await loadHierarchy(config);
    expect(hierarchy.stats().tiers).toHaveLength(1);
    await hierarchy.close();
  });

  it('[I13] keeps tiers in memory as files in a directory, where programs open copies themselves', async () => {
    const memory = { ...source, name: 'fast', quota: '8MiB', readDeadlineMs: 5 };
    const tiers = [memory, { driver: 'fs', root: '/cache', quota: 1 }, { ...source, quota: '50%' }];
    const given = await loadHierarchyOptions({ source, tiers }, { memoryDirectory: '/dev/shm' });
    expect(given.source.location).toBeUndefined();
    expect(given.tiers?.map(({ driver }) => driver.location)).toEqual([
      'file:///dev/shm/0/',
      'file:///cache/',
      'file:///dev/shm/2/',
    ]);
    expect(given.tiers?.[0]).toMatchObject({ quota: '8MiB', readDeadlineMs: 5 });
  });

  it('makes a hierarchy that says with the file what it refuses, and no value of a variable', async () => {
    const file = await fileWith('source: { driver: memory }\nscan: false\nmanifest: "${SECRET}"\n');
    const { makeHierarchy } = await loadConfig(file, { env: { SECRET: 'hunter2' } });
    expect(makeHierarchy).toThrow(expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }));
    expect(makeHierarchy).toThrow(`${file}: manifest: `);
    expect(makeHierarchy).not.toThrow('hunter2');
  });
});

describe('a model', () => {
  const config = (text: string) => ({
    'tiers.yaml': `source: { driver: memory }\ntiers:\n  - { driver: memory, quota: 8MiB }\nmodel: ${text}\n`,
  });

  it('is the profile beside the file, by which the hierarchy chooses between a copy and the source', async () => {
    const directory = await directoryWith({
      ...config('./measured/profile.json'),
      'measured/profile.json': JSON.stringify(profileOf(1)),
    });
    const file = path.join(directory, 'tiers.yaml');
    const { hierarchy: options, makeHierarchy } = await loadConfig(file);
    expect(options.model?.fetchMs(0, 1e6, 1)).toBeCloseTo(1000);
    expect(options.model?.fetchMs(1, 1e6, 1)).toBeCloseTo(1);
    await options.source.write('a', new Uint8Array(1000), { size: 1000 });
    await using hierarchy = await makeHierarchy().open();
    await hierarchy.place('a');
    await hierarchy.read('a');
    expect(hierarchy.stats().tiers[0], 'the copy is there, and slower').toMatchObject({
      usedBytes: 1000,
      reads: 0,
    });
  });

  it.each([
    ['that is not there', 'missing.json', 'there is no such file'],
    ['that is a directory', '.', 'this is a directory'],
    ['that is no JSON', 'tiers.yaml', 'this is not JSON; expected a profile'],
    ['that is no profile', 'package.json', 'profile.version: expected what "tiered calibrate" writes'],
    ['of two tiers', 'two.json', 'expected a profile of as many tiers as there are, 1, got one of 2'],
    ['from a variable', '"${PROFILE}"', 'there is no such file'],
  ])('is refused at its line if it is one %s', async (_, model, told) => {
    const directory = await directoryWith({
      ...config(model),
      'package.json': '{}',
      'two.json': JSON.stringify(profileOf(2)),
    });
    const problems = await problemsOf(path.join(directory, 'tiers.yaml'), { env: { PROFILE: 'hunter2' } });
    expect(problems).toEqual([{ at: '4:1', field: 'model', text: expect.stringContaining(told) }]);
    expect(problems[0]?.text).not.toContain('hunter2');
  });

  it('is refused by a simulator that makes none', async () => {
    const directory = await directoryWith({
      ...config('one.json'),
      'one.json': JSON.stringify(profileOf(1)),
      'node_modules/@tiered/simulator/package.json':
        '{ "type": "module", "exports": { "./config": "./c.js" } }',
      'node_modules/@tiered/simulator/c.js': 'export const parseSimulation = 1;',
    });
    const [problem] = await problemsOf(path.join(directory, 'tiers.yaml'));
    expect(problem?.text).toContain('exports no modelFactory with create');
  });

  it('is not looked at by who is about to measure it', async () => {
    const directory = await directoryWith(config('missing.json'));
    const { hierarchy, profile } = await loadConfig(path.join(directory, 'tiers.yaml'), { model: false });
    expect(hierarchy).not.toHaveProperty('model');
    expect(profile).toBe(path.join(directory, 'missing.json'));
  });
});

it('[G1] problems come by line, whatever the order of the fields and what is wrong with them', async () => {
  const wrong = {
    scan: 'scan: maybe',
    model: 'model: missing.json',
    'prefetcher.producers': 'prefetcher:\n  producers: 0',
    'prefetcher.maxSkipped': 'prefetcher:\n  memory: 1GiB\n  maxSkipped: few',
    monitor: 'monitor: 8',
    'tiers[1].quota': 'tiers:\n  - { driver: memory, quota: 60% }\n  - driver: memory\n    quota: 60%',
    'tiers[0].quota': 'tiers:\n  - driver: s3\n    bucket: b\n    quota: 10%',
    versions: 'versions: newest',
    'placement.concurrency': 'placement:\n  concurrency: 0',
  };
  const keyOf = (text: string) => text.slice(0, text.indexOf(':'));
  const some = fc
    .shuffledSubarray(Object.entries(wrong), { minLength: 1 })
    // A key stands in a file once.
    .map((parts) => parts.filter(([, a], i) => parts.findIndex(([, b]) => keyOf(a) === keyOf(b)) === i));
  await fc.assert(
    fc.asyncProperty(some, fc.nat(), async (parts, at) => {
      const texts = parts.map(([, text]) => text);
      texts.splice(at % (texts.length + 1), 0, 'source: { driver: memory }');
      const file = await fileWith(`${texts.join('\n')}\n`);
      const problems = await problemsOf(file);
      expect(problems.map(({ field }) => field)).toEqual(parts.map(([field]) => field));
      const lines = problems.map((problem) => Number(problem.at?.split(':')[0]));
      expect(lines).toEqual([...lines].sort((a, b) => a - b));
    }),
    { numRuns: 50 },
  );
});

it.each(['4', '4KB'])('refuses a chunk of %s, which mostly lacks its unit', async (chunk) => {
  const file = await fileWith(`source: { driver: memory }\nplacement: { chunk: ${chunk} }\n`);
  expect(await problemsOf(file)).toMatchObject([
    { field: 'placement.chunk', text: expect.stringContaining('a number of bytes, at least 4096,') },
  ]);
});
