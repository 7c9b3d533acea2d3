import path from 'node:path';
import { loadHierarchy } from '@tiered/config';
import { isTieredError, systemClock } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { made } from './drivers/noting.js';
import { directoryWith, driverPath, fieldsOf, problemsOf, refusalOf } from './helpers.js';

const noting = driverPath('noting');
const flaky = driverPath('flaky');

/** The text of a module with a driver: an object that says what it can do, and no more. */
const moduleOf = (name: string) => `
  export const driverFactory = {
    schema: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
    create: (options) => ({ name: '${name} ' + JSON.stringify(options), capabilities: {} }),
  };`;

const manifest = (exported: string) => JSON.stringify({ name: 'ignored', type: 'module', exports: exported });

async function sourceName(directory: string, driver: string): Promise<string> {
  const hierarchy = await loadHierarchy(path.join(directory, `${driver.replaceAll(/\W/g, '')}.yaml`));
  return hierarchy.stats().source.driver;
}

describe('the driver that a configuration names', () => {
  it('is a package that the directory of the file sees, its main module or a module of it', async () => {
    const directory = await directoryWith({
      'node_modules/near/package.json': manifest('./main.js'),
      'node_modules/near/main.js': moduleOf('near'),
      'node_modules/@my/near/package.json': JSON.stringify({
        type: 'module',
        exports: { './driver': './driver.js' },
      }),
      'node_modules/@my/near/driver.js': moduleOf('scoped'),
      'deep/near.yaml': 'source: { driver: near, a: 1 }',
      'deep/mynear.yaml': 'source: { driver: "@my/near/driver" }',
    });
    expect(await sourceName(path.join(directory, 'deep'), 'near')).toBe('near {"a":1}');
    expect(await sourceName(path.join(directory, 'deep'), '@my/near')).toBe('scoped {}');
  });

  it('is a module beside the file, above it, or anywhere', async () => {
    const directory = await directoryWith({
      'driver.mjs': moduleOf('above'),
      'deep/driver.mjs': moduleOf('beside'),
      'deep/1.yaml': 'source: { driver: ./driver.mjs }',
      'deep/2.yaml': 'source: { driver: ../driver.mjs }',
    });
    expect(await sourceName(path.join(directory, 'deep'), '1')).toBe('beside {}');
    expect(await sourceName(path.join(directory, 'deep'), '2')).toBe('above {}');
    const source = { driver: path.join(directory, 'driver.mjs') };
    const hierarchy = await loadHierarchy({ source });
    expect(hierarchy.stats().source.driver).toBe('above {}');
    const relative = await loadHierarchy(
      { source: { driver: './driver.mjs' } },
      { baseDirectory: directory },
    );
    expect(relative.stats().source.driver).toBe('above {}');
  });

  it('is told its role, the clock, and what paths are relative to', async () => {
    const clock = new ManualClock();
    const source = { driver: noting };
    await loadHierarchy({ source });
    expect(made.at(-1)?.context).toEqual({
      role: 'source',
      clock: systemClock,
      baseDirectory: process.cwd(),
    });
    const tiers = [{ driver: noting, quota: '5MB' }];
    await loadHierarchy({ source, tiers }, { clock, baseDirectory: 'some/where' });
    const baseDirectory = path.resolve('some/where');
    expect(made.at(-2)?.context).toEqual({ role: 'source', clock, baseDirectory });
    expect(made.at(-1)?.context).toEqual({ role: 'tier', clock, baseDirectory });
  });

  it('sees its own options only', async () => {
    const own = { prefix: 'x', retry: {}, limit: { concurrency: 1 }, throttle: {}, quota: '1MiB' };
    await loadHierarchy({
      source: { driver: noting },
      tiers: [{ driver: noting, ...own, a: 1, scan: 2 }],
    });
    expect(made.at(-1)?.options).toEqual({ a: 1, scan: 2 });
    // A source has no quota: that is its driver's.
    await loadHierarchy({ source: { driver: noting, ...own } });
    expect(made.at(-1)?.options).toEqual({ quota: '1MiB' });
  });

  it('may check its options in its own time, and name fields within fields', async () => {
    const nested = `
      const validate = async () => ({ issues: [
        { message: 'one', path: ['a', { key: 'b' }, 0] }, { message: 'two' }, { message: 'three', path: ['odd key.'] } ] });
      export const driverFactory = { schema: { '~standard': { version: 1, vendor: 'test', validate } }, create() {} };`;
    const driver = path.join(await directoryWith({ 'nested.mjs': nested }), 'nested.mjs');
    const problems = await problemsOf({ source: { driver } });
    expect(problems.map(({ field, text }) => [field, text])).toEqual([
      ['source.a.b[0]', 'one'],
      ['source', 'two'],
      [undefined, 'source["odd key."]: three'],
    ]);
  });
});

describe('a driver that cannot be used', () => {
  it.each([
    ['a package that is nowhere', 'my-missing-driver', 'no package my-missing-driver is installed'],
    ['a part of a package that is nowhere', '@my/missing/driver', 'no package @my/missing is installed'],
    ['a package that is no driver', 'p-limit', 'driverFactory'],
    ['a property that every object has', 'constructor', 'no package constructor is installed'],
    ['a module of Node', 'path', ''],
    ['a URL', 'data:text/javascript,export const driverFactory = 1', 'path'],
    ['a URL of Node', 'node:fs', 'path'],
    ['a file that is not there', './missing.mjs', 'missing.mjs'],
    ['a directory', './', ''],
    ['nothing', '', 'memory'],
  ])('is told with its field: %s', async (_, driver, told) => {
    const [problem, ...others] = await problemsOf({ source: { driver } });
    expect(others).toEqual([]);
    expect(problem?.field).toBe('source.driver');
    expect(problem?.text).toContain(told);
  });

  it.each([
    ['nothing', '() => undefined', 'undefined'],
    ['an object that is none', '() => ({})', 'a value of type object'],
    ['a promise', 'async () => { throw new Error("late"); }', 'a promise'],
  ])('is told with its module and line if it makes %s', async (_, create, told) => {
    const schema = `{ '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }`;
    const directory = await directoryWith({
      'no-driver.mjs': `export const driverFactory = { schema: ${schema}, create: ${create} };`,
      'tiers.yaml': 'scan: true\nsource:\n  driver: ./no-driver.mjs\n',
    });
    const [problem, ...others] = await problemsOf(path.join(directory, 'tiers.yaml'));
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ at: '3:3', field: 'source.driver' });
    expect(problem?.text).toMatch(/driverFactory of \.\/no-driver\.mjs must return a StorageDriver/);
    expect(problem?.text).toContain(told);
  });

  it('is told with what is wrong in its module', async () => {
    const directory = await directoryWith({
      'throws.mjs': 'throw new Error("out of order");',
      'syntax.mjs': 'const',
      'schema.mjs': 'export const driverFactory = { create() {} };',
      'create.mjs': 'export const driverFactory = { schema: { "~standard": { validate() {} } } };',
      'null.mjs': 'export const driverFactory = null;',
      'needs.mjs': 'import "a-package-that-is-nowhere";',
    });
    for (const [name, told] of Object.entries({
      throws: 'out of order',
      syntax: 'syntax.mjs',
      schema: 'driverFactory',
      create: 'driverFactory',
      null: 'driverFactory',
      needs: 'a-package-that-is-nowhere',
    })) {
      const [problem] = await problemsOf(
        { source: { driver: `./${name}.mjs` } },
        { baseDirectory: directory },
      );
      expect(problem?.field).toBe('source.driver');
      expect(problem?.text).toContain(told);
    }
    const error = await refusalOf({ source: { driver: './throws.mjs' } }, { baseDirectory: directory });
    expect(error.cause).toEqual(new Error('out of order'));
  });

  it('is not to be installed if its name is nearly that of a known one', async () => {
    const [problem] = await problemsOf({ source: { driver: 'memmory' } });
    expect(problem?.text).toContain('memory?');
    expect(problem?.text).not.toContain('npm');
  });

  it('is told if it refuses what it is made of, or makes nothing', async () => {
    const directory = await directoryWith({
      'refuses.mjs': moduleOf('').replace(
        '(options) => ({',
        '() => { throw new Error("not today"); }, x: () => ({',
      ),
      'nothing.mjs': moduleOf('').replace(/create:.*/, 'create: () => undefined'),
    });
    const [problem] = await problemsOf({ source: { driver: './refuses.mjs' } }, { baseDirectory: directory });
    expect(problem).toEqual({ at: undefined, field: 'source', text: 'not today' });
    expect(await fieldsOf({ source: { driver: './nothing.mjs' } }, { baseDirectory: directory })).toEqual([
      'source.driver',
    ]);
  });
});

describe('what a level has around its driver', () => {
  /**
   * Opens a hierarchy, reads its object, and says how long that took on a clock of its own, or why it failed.
   */
  async function timeToRead(level: object, reads = 1): Promise<number | string> {
    const clock = new ManualClock();
    const config = { source: { driver: flaky, failures: 0, ...level }, scan: false };
    const hierarchy = await loadHierarchy(config, { clock });
    try {
      await clock.run(hierarchy.open());
      const started = clock.now();
      const all = Array.from({ length: reads }, (_, offset) =>
        hierarchy.read('object', { offset, length: 100 }),
      );
      await clock.run(Promise.all(all));
      return clock.now() - started;
    } catch (error) {
      return isTieredError(error) ? error.code : 'another error';
    } finally {
      await clock.run(hierarchy.close());
    }
  }

  it('is a throttle: every operation takes its time, here a stat and a read', async () => {
    expect(await timeToRead({})).toBe(0);
    expect(await timeToRead({ throttle: { latencyMs: 10 } })).toBe(20);
    expect(await timeToRead({ throttle: { latencyMs: 10, bytesPerSecond: '1kB' } })).toBe(120);
  });

  it('is a limit outside the throttle: the second read waits for the first', async () => {
    expect(await timeToRead({ throttle: { latencyMs: 10 } }, 2)).toBe(20);
    expect(await timeToRead({ throttle: { latencyMs: 10 }, limit: { concurrency: 1 } }, 2)).toBe(30);
  });

  it('is hedges between the throttle and the limit, which counts a read and its second request as one', async () => {
    const clock = new ManualClock();
    const source = {
      driver: driverPath('uneven'),
      throttle: { latencyMs: 10 },
      hedge: { budget: 1, percentile: 0.5 },
      limit: { concurrency: 1 },
    };
    const hierarchy = await loadHierarchy({ source }, { clock });
    await clock.run(hierarchy.open());
    const begin = clock.now();
    for (let i = 0; i < 5; i++) await clock.run(hierarchy.read('object'));
    expect(clock.now() - begin).toBe(4 * 10 + 20);
    await hierarchy.close();
  });

  it('is retries outside the others: each try is throttled', async () => {
    const retry = { attempts: 3, baseDelayMs: 0.001, maxDelayMs: 0.001 };
    expect(await timeToRead({ failures: 2 })).toBe('TIERED_FAULT_INJECTED');
    expect(await timeToRead({ failures: 2, retry: { ...retry, attempts: 2 } })).toBe('TIERED_FAULT_INJECTED');
    expect(await timeToRead({ failures: 2, retry, throttle: { latencyMs: 10 } })).toBeCloseTo(40, 1);
  });

  it('is a prefix next to the driver', async () => {
    expect(await timeToRead({ prefix: 'obj' })).toBe('TIERED_NOT_FOUND');
    const hierarchy = await loadHierarchy({ source: { driver: flaky, failures: 0, prefix: 'obj' } });
    await hierarchy.open();
    expect((await hierarchy.read('ect')).byteLength).toBe(1000);
    await hierarchy.close();
  });
});
