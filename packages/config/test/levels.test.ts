import { loadHierarchy, loadHierarchyOptions, type HierarchyConfig } from '@tiered/config';
import { describe, expect, it } from 'vitest';
import { fieldsOf, fileWith, problemsOf } from './helpers.js';

/** A configuration that is right but for what is added or replaced in its source. */
const sourceWith = (options: object) => ({ source: { driver: 'memory', ...options } });

it('what the file says of the hierarchy and of its tiers arrives there', async () => {
  const config: HierarchyConfig = {
    source: { driver: 'memory' },
    tiers: [
      { driver: 'memory', quota: '8MiB' },
      { driver: 'memory', quota: '8MiB', readDeadlineMs: 500 },
    ],
    scan: true,
    manifest: 'kept/manifest',
    versions: 'pin',
  };
  const options = await loadHierarchyOptions(config, { baseDirectory: '/data' });
  expect(options).toMatchObject({ scan: true, manifest: '/data/kept/manifest', versions: 'pin' });
  expect(options.tiers?.map(({ readDeadlineMs }) => readDeadlineMs)).toEqual([undefined, 500]);
});

it('how copies are to lie on a tier arrives there', async () => {
  const tiers = [{ driver: 'fs', root: '/tier', quota: '8MiB', layout: 'packed' as const }];
  const options = await loadHierarchyOptions({ source: { driver: 'memory' }, tiers });
  expect(options.tiers?.map(({ layout }) => layout)).toEqual(['packed']);
});

describe('a mistake in a configuration', () => {
  it.each([
    ['nothing at all', {}, 'source'],
    ['no source', { scan: true }, 'source'],
    ['a source that is nothing', { source: null }, 'source'],
    ['a source that is text', { source: 'memory' }, 'source'],
    ['a source that is a list', { source: [{ driver: 'memory' }] }, 'source'],
    ['a source without a driver', { source: {} }, 'source.driver'],
    ['a driver that is a number', { source: { driver: 1 } }, 'source.driver'],
    ['a driver without a name', { source: { driver: '' } }, 'source.driver'],
    ['a scan that is text', { ...sourceWith({}), scan: 'yes' }, 'scan'],
    ['a field nobody knows', { ...sourceWith({}), sources: [] }, 'sources'],
    ['a schema that is no address', { ...sourceWith({}), $schema: 1 }, '$schema'],
    ['an option nobody knows', sourceWith({ root: '/data' }), 'source.root'],
    ['a wrong option of the driver', sourceWith({ name: 8 }), 'source.name'],
    ['an empty prefix', sourceWith({ prefix: '' }), 'source.prefix'],
    ['retries that are a number', sourceWith({ retry: 4 }), 'source.retry'],
    ['no attempts', sourceWith({ retry: { attempts: 0 } }), 'source.retry.attempts'],
    ['half an attempt', sourceWith({ retry: { attempts: 1.5 } }), 'source.retry.attempts'],
    ['attempts that are text', sourceWith({ retry: { attempts: '4' } }), 'source.retry.attempts'],
    ['no pause', sourceWith({ retry: { baseDelayMs: 0 } }), 'source.retry.baseDelayMs'],
    ['an endless pause', sourceWith({ retry: { maxDelayMs: Infinity } }), 'source.retry.maxDelayMs'],
    ['a deadline in words', sourceWith({ retry: { deadlineMs: '1 min' } }), 'source.retry.deadlineMs'],
    ['a seed below zero', sourceWith({ retry: { seed: -1 } }), 'source.retry.seed'],
    ['an unknown option of retries', sourceWith({ retry: { tries: 1 } }), 'source.retry.tries'],
    ['a limit without a number', sourceWith({ limit: {} }), 'source.limit.concurrency'],
    ['a limit of nothing', sourceWith({ limit: { concurrency: 0 } }), 'source.limit.concurrency'],
    ['hedges without a budget', sourceWith({ hedge: { budget: 0 } }), 'source.hedge.budget'],
    ['hedges of everything twice', sourceWith({ hedge: { budget: 2 } }), 'source.hedge.budget'],
    ['hedges of nothing', sourceWith({ hedge: { percentile: 1 } }), 'source.hedge.percentile'],
    ['hedges of nearly all', sourceWith({ hedge: { percentile: 0.1 } }), 'source.hedge.percentile'],
    ['hedges in the past', sourceWith({ hedge: { minDelayMs: -1 } }), 'source.hedge.minDelayMs'],
    ['hedges of much', sourceWith({ hedge: { memory: 'much' } }), 'source.hedge.memory'],
    [
      'a tier with hedges',
      { ...sourceWith({}), tiers: [{ driver: 'memory', quota: 1, hedge: {} }] },
      'tiers[0].hedge',
    ],
    ['time that runs back', sourceWith({ throttle: { latencyMs: -1 } }), 'source.throttle.latencyMs'],
    ['no bandwidth', sourceWith({ throttle: { bytesPerSecond: '0MB' } }), 'source.throttle.bytesPerSecond'],
    [
      'a bandwidth below zero',
      sourceWith({ throttle: { bytesPerSecond: -1 } }),
      'source.throttle.bytesPerSecond',
    ],
    [
      'a wrong unit',
      sourceWith({ throttle: { bytesPerSecond: '1 MBit' } }),
      'source.throttle.bytesPerSecond',
    ],
    [
      'a tier without time',
      { ...sourceWith({}), tiers: [{ driver: 'memory', quota: 1, readDeadlineMs: 0 }] },
      'tiers[0].readDeadlineMs',
    ],
    [
      'a layout that is none',
      { ...sourceWith({}), tiers: [{ driver: 'memory', quota: 1, layout: 'heap' }] },
      'tiers[0].layout',
    ],
    [
      'a yes for a size',
      sourceWith({ throttle: { bytesPerSecond: true } }),
      'source.throttle.bytesPerSecond',
    ],
  ])('is told with its field, and nothing else is: %s', async (_, config, field) => {
    expect(await fieldsOf(config)).toEqual([field]);
  });

  it.each([[null], [undefined], [1], [[]], [() => ({})]])('is no mapping at all: %s', async (config) => {
    expect(await fieldsOf(config as never)).toEqual([undefined]);
  });

  it('is told with the name that was meant, of the level or of the driver', async () => {
    const close = {
      Driver: 'driver',
      nmae: 'name',
      perfix: 'prefix',
      retries: 'retry',
      throtle: 'throttle',
    };
    for (const [wrong, meant] of Object.entries(close)) {
      const [problem] = await problemsOf(sourceWith({ [wrong]: 1 }));
      expect(problem?.field).toBe(`source.${wrong}`);
      expect(problem?.text).toContain(`${meant}?`);
    }
    const [far] = await problemsOf(sourceWith({ zzzzzzzz: 1 }));
    for (const known of ['driver', 'prefix', 'retry', 'limit', 'throttle', 'name']) {
      expect(far?.text).toContain(known);
    }
    const [inside] = await problemsOf(sourceWith({ limit: { concurrency: 1, maxconcurrency: 2 } }));
    expect(inside?.text).toContain('concurrency?');
  });

  it('[G1] is told with all others at once, in the order of the file, with line and column', async () => {
    const file = await fileWith(
      [
        'scan: 1', // 1
        'source:', // 2
        '  driver: memory',
        '  name: 8', // 4
        '  retry: { attempts: 0, tries: 3 }', // 5
        '  limit: {}', // 6
        'thing: []', // 7
      ].join('\n'),
    );
    expect((await problemsOf(file)).map(({ at, field }) => [at, field])).toEqual([
      ['1:1', 'scan'],
      ['4:3', 'source.name'],
      ['5:12', 'source.retry.attempts'],
      ['5:25', 'source.retry.tries'],
      ['6:3', 'source.limit.concurrency'],
      ['7:1', 'thing'],
    ]);
  });

  it('is told with its place in JSON too', async () => {
    const file = await fileWith('{\n  "source": { "driver": "memory" },\n  "scan": "yes"\n}\n', 'tiers.json');
    expect(await problemsOf(file)).toEqual([{ at: '3:3', field: 'scan', text: expect.any(String) }]);
  });

  it('in a part that an alias repeats is told where the alias stands', async () => {
    const file = await fileWith('source:\n  driver: memory\n  retry: &r { attempts: 0 }\n  limit: *r\n');
    expect((await problemsOf(file)).map(({ at, field }) => [at, field])).toEqual([
      ['3:15', 'source.retry.attempts'],
      ['4:3', 'source.limit.concurrency'],
      ['4:3', 'source.limit.attempts'],
    ]);
  });

  it('by a key called __proto__ is a mistake like any other, and changes no object', async () => {
    const file = await fileWith(
      '__proto__: { source: { driver: memory } }\nsource: { driver: memory, __proto__: 1 }',
    );
    expect(await fieldsOf(file)).toEqual(['__proto__', 'source.__proto__']);
  });

  it('that the hierarchy finds is told with the file', async () => {
    const directoryDriver = `
      const schema = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };
      export const driverFactory = { schema, create: () => ({ name: 'x', capabilities: { list: false } }) };`;
    const driver = await fileWith(directoryDriver, 'driver.mjs');
    const file = await fileWith(`source: { driver: ${JSON.stringify(driver)} }\nscan: true\n`);
    expect(await problemsOf(file)).toEqual([{ at: undefined, field: 'scan', text: expect.any(String) }]);
  });
});

describe('a configuration without tiers', () => {
  it('makes a hierarchy that is not started, and reads its source', async () => {
    const hierarchy = await loadHierarchy({
      $schema: './schema.json',
      source: { driver: 'memory', name: 'x' },
    });
    await expect(hierarchy.read('object')).rejects.toEqual(
      expect.objectContaining({ code: 'TIERED_NOT_OPEN' }),
    );
    await hierarchy.open();
    await expect(hierarchy.read('object')).rejects.toEqual(
      expect.objectContaining({ code: 'TIERED_NOT_FOUND' }),
    );
    expect(hierarchy.stats().source.driver).toBe('x');
    await hierarchy.close();
  });
});
