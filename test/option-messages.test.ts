import type { HierarchyConfig, PrefetcherConfig } from '@tiered/config';
import { Hierarchy, MemoryDriver, type HierarchyOptions } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { OpenDalDriver } from '@tiered/opendal-adapter';
import type { PrefetcherOptions } from '@tiered/prefetch';
import type { AdaptiveAutotunerOptions } from '@tiered/prefetch/autotuner';
import { S3Driver, type S3DriverOptions } from '@tiered/s3-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest';

/** The message of what a call throws. */
function messageOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    expect(error).toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
    return (error as Error).message;
  }
  throw new Error('nothing was thrown');
}

const s3 = (options: Partial<S3DriverOptions>) =>
  messageOf(() => new S3Driver({ bucket: 'data', ...options }));

describe('a message about an option', () => {
  it('names the endpoint, shows a bare host, and says what to write instead', () => {
    for (const endpoint of ['127.0.0.1:9000', 'localhost:9000', 'minio.local', 'localhost'])
      expect(s3({ endpoint })).toMatch(
        new RegExp(`^endpoint: .*got "${endpoint}".*write "http://${endpoint}"`),
      );
    vi.stubEnv('AWS_ENDPOINT_URL_S3', '127.0.0.1:9000');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(s3({})).toMatch(/^AWS_ENDPOINT_URL_S3: .*write "http:\/\/127\.0\.0\.1:9000"/);
    expect(s3({ endpoint: 'ftp://host' })).toMatch(/^endpoint: .*begins with something else/);
  });

  it('says what is wrong with a value that may be secret, and not what it is', () => {
    for (const endpoint of [
      'http://user:hunter2@host',
      'user:hunter2@host:9000',
      'http://host/?key=hunter2',
      'http://[hunter2',
    ])
      expect(s3({ endpoint })).toMatch(/^endpoint: expected an http or https URL .*, got (?!undefined)/);
    for (const options of [
      { endpoint: 'http://user:hunter2@host' },
      { credentials: 'hunter2' },
      { credentials: { accessKeyId: 'hunter2' } },
      { proxy: 'http://user:hunter2@proxy' },
    ]) {
      const message = s3(options as unknown as S3DriverOptions);
      expect(message).toMatch(new RegExp(`^${Object.keys(options)[0]}: expected .*, got `));
      expect(message).not.toMatch(/hunter2|undefined/);
    }
  });

  it('names the size that the user wrote', () => {
    const source = new MemoryDriver();
    const tier = { driver: new MemoryDriver(), quota: '10 XB' };
    const placement = new PlacementHandler();
    expect(messageOf(() => new Hierarchy({ source, tiers: [tier], placement }))).toMatch(
      /^tiers\[0\]\.quota: .*"10 XB"/,
    );
    expect(messageOf(() => new MemoryDriver({ quota: '10 XB' }))).toMatch(/^quota: /);
  });

  it('says how a driver becomes one that can be a tier', () => {
    const tier = { driver: new FileSystemDriver({ root: '/nowhere' }), quota: 1 };
    const make = () =>
      new Hierarchy({ source: new MemoryDriver(), tiers: [tier], placement: new PlacementHandler() });
    expect(messageOf(make)).toMatch(/^tiers\[0\]\.driver: .*writable: true/);
  });

  it('says what to do with a driver that is not open, in place of asking for a report', async () => {
    const driver = new FileSystemDriver({ root: '.' });
    const notOpen = {
      code: 'TIERED_NOT_OPEN',
      message: expect.stringContaining('await open() first') as string,
    };
    for (const isClosed of [false, true]) {
      await expect(driver.stat('package.json', {})).rejects.toMatchObject(notOpen);
      await expect(driver.read('package.json', { offset: 0, length: 1 })).rejects.toMatchObject(notOpen);
      await expect(driver.list({}).next()).rejects.toMatchObject(notOpen);
      if (!isClosed) await driver.open({});
      await driver.close();
    }
  });

  it('says what to do about a placement that served another hierarchy, whether that is closed or not', async () => {
    const placement = new PlacementHandler();
    const source = new MemoryDriver();
    await source.write('a', new Uint8Array(10), { size: 10 });
    const make = () => {
      const hierarchy = new Hierarchy({ source, placement });
      onTestFinished(() => hierarchy.close());
      return hierarchy;
    };
    const again = {
      code: 'TIERED_ALREADY_OPEN',
      message: expect.stringMatching(/^placement: .* make a new PlacementHandler/) as string,
    };
    const first = await make().open();
    await expect(make().open()).rejects.toMatchObject(again);
    expect(await first.read('a'), 'the first goes on').toHaveLength(10);
    await first.close();
    await expect(make().open()).rejects.toMatchObject(again);
  });

  it('refuses "~", which would be a directory of that name, and says what to write', () => {
    const say = /os\.homedir\(\)/;
    for (const root of ['~', '~/data']) {
      expect(messageOf(() => new FileSystemDriver({ root }))).toMatch(say);
      expect(messageOf(() => new OpenDalDriver({ service: 'fs', options: { root } }))).toMatch(say);
      expect(messageOf(() => new Hierarchy({ source: new MemoryDriver(), manifest: root }))).toMatch(say);
    }
    // Names that only look like it.
    for (const root of ['./~', '/~/data', '~data', 'a/~'])
      expect(() => new FileSystemDriver({ root })).not.toThrow();
  });
});

it('a configuration and the options in code have the same fields', () => {
  expectTypeOf<Exclude<keyof HierarchyOptions, keyof HierarchyConfig>>().toEqualTypeOf<
    'metadata' | 'warn' | 'name' | 'clock'
  >();
  expectTypeOf<HierarchyConfig['versions']>().toEqualTypeOf<HierarchyOptions['versions']>();
  expectTypeOf<HierarchyConfig['manifest']>().toEqualTypeOf<HierarchyOptions['manifest']>();
  expectTypeOf<Omit<PrefetcherConfig, 'initialProducers'>>().toEqualTypeOf<
    Pick<PrefetcherOptions, 'memory' | 'producers' | 'concurrency' | 'onError' | 'maxSkipped'>
  >();
  expectTypeOf<PrefetcherConfig['initialProducers']>().toEqualTypeOf<
    AdaptiveAutotunerOptions['initialProducers']
  >();
});
