import { inspect } from 'node:util';
import { TieredError } from '@tiered/core';
import { OpenDalDriver, type OpenDalDriverOptions } from '@tiered/opendal-adapter';
import { Operator } from 'opendal';
import { describe, expect, it } from 'vitest';
import { opened, serving, temporaryDirectory, withCode } from './helpers.js';

const SECRET = 'dGhpcyBpcyBzZWNyZXQ=';

/** A driver on a server that always answers so, and sends back what it was asked. */
async function answering(status: number): Promise<OpenDalDriver> {
  const endpoint = await serving((request, response) => {
    const echo = `${request.url} ${JSON.stringify(request.headers)}`;
    response
      .writeHead(status, { 'x-echo': request.url ?? '' })
      .end(`<Error><Code>Denied</Code><Message>${echo}</Message></Error>`);
  });
  const user = new URL(endpoint);
  user.username = 'someone';
  user.password = SECRET;
  const options = {
    endpoint: user.href,
    container: 'data',
    sas_token: `sv=1&sig=${encodeURIComponent(SECRET)}`,
  };
  return opened(new OpenDalDriver({ service: 'azblob', options, writable: true }));
}

const read = (driver: OpenDalDriver) => driver.read('key', { offset: 0, length: 10 });

describe('errors of OpenDalDriver', () => {
  it.each([
    [401, 'TIERED_PERMISSION', false],
    [403, 'TIERED_PERMISSION', false],
    [404, 'TIERED_NOT_FOUND', false],
    [412, 'TIERED_SOURCE_CHANGED', false],
    [418, 'TIERED_IO', false],
    [429, 'TIERED_IO', true],
    // Was retried already, by OpenDAL.
    [503, 'TIERED_IO', false],
  ] as const)('of status %d are %s', async (status, code, retryable) => {
    const driver = await answering(status);
    await expect(read(driver)).rejects.toEqual(withCode(code, retryable));
  });

  it('are not retried where nothing passes: a file in the way', async () => {
    const root = await temporaryDirectory();
    const driver = await opened(new OpenDalDriver({ service: 'fs', options: { root } }));
    await expect(driver.stat('a/b', {})).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
  });

  it('show no secret, in whatever form the service sends it back', async () => {
    for (const status of [401, 403, 404, 412, 418, 429]) {
      const driver = await answering(status);
      const write = () => driver.write('key', Buffer.from('x'), { size: 1 });
      const calls = [
        () => driver.stat('key', {}),
        () => read(driver),
        write,
        () => driver.list({})[Symbol.asyncIterator]().next(),
      ];
      for (const call of calls) {
        const error: unknown = await call().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(error).toBeInstanceOf(TieredError);
        const shown = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error);
        for (const form of [SECRET, encodeURIComponent(SECRET), 'sig=', 'someone'])
          expect(shown).not.toContain(form);
      }
      expect(inspect(driver, { depth: 10, showHidden: true }) + JSON.stringify(driver)).not.toContain(SECRET);
      expect(`${driver.name} ${driver.location ?? ''}`).not.toMatch(/someone|sig=/);
    }
  });

  it.each<[string, OpenDalDriverOptions]>([
    ['neither service nor operator', { service: '' }],
    [
      'options beside an operator',
      { operator: new Operator('memory'), options: {} } as unknown as OpenDalDriverOptions,
    ],
    ['no requests at all', { service: 'gcs', concurrency: 0 }],
    ['a prefix that leads up', { service: 'gcs', prefix: '../' }],
    ['a prefix that is absolute', { service: 'gcs', prefix: '/a/' }],
  ])('say at once that options cannot work: %s', (_, options) => {
    expect(() => new OpenDalDriver(options)).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it.each<[string, OpenDalDriverOptions]>([
    [
      'an option that is no text',
      { service: 'memory', options: { root: 1 } as unknown as Record<string, string> },
    ],
    ['an option that is missing', { service: 'gcs', options: { credential: SECRET } }],
    [
      'a file tier without a place for what is being written',
      { service: 'fs', writable: true, options: { root: '/data' } },
    ],
    [
      'a file tier whose place for that is inside the root',
      { service: 'fs', writable: true, options: { root: '/data', atomic_write_dir: '/data/writes' } },
    ],
  ])('say on open() that options cannot work: %s', async (_, options) => {
    await expect(new OpenDalDriver(options).open({})).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });

  it('say that the driver is to be opened first, and do not ask for a report', async () => {
    const driver = new OpenDalDriver({ service: 'memory' });
    const notOpen = { code: 'TIERED_NOT_OPEN', message: expect.stringContaining('await open()') as string };
    for (const once of [false, true]) {
      await expect(driver.stat('a', {})).rejects.toMatchObject(notOpen);
      await expect(driver.read('a', { offset: 0, length: 1 })).rejects.toMatchObject(notOpen);
      if (!once) await driver.open({});
      await driver.close();
    }
  });

  it('say on open() that a service is not in OpenDAL, or cannot be written', async () => {
    const unknown = new OpenDalDriver({ service: 'nothing-like-it' });
    await expect(unknown.open({})).rejects.toEqual(withCode('TIERED_UNSUPPORTED'));
    for (const [service, told] of [
      ['gcss', 'no service "gcss"; did you mean gcs?'],
      ['webhfds', 'did you mean webhdfs?'],
      ['nothing-like-it', 'it has alluxio, '],
      ['ftp', 'no service "ftp"; it has '],
    ] as const) {
      const error = await new OpenDalDriver({ service }).open({}).catch((thrown: unknown) => thrown);
      expect((error as Error).message.replace('aliyun_drive, ', '')).toContain(told);
    }
    const readOnly = new OpenDalDriver({
      service: 'http',
      writable: true,
      options: { endpoint: 'http://127.0.0.1:1' },
    });
    await expect(readOnly.open({})).rejects.toEqual(withCode('TIERED_UNSUPPORTED'));
  });
});

describe('options of OpenDalDriver', () => {
  it('come from a function at every open()', async () => {
    let calls = 0;
    const root = await temporaryDirectory();
    const options = async () => {
      calls += 1;
      return { root };
    };
    const driver = new OpenDalDriver({ service: 'fs', options, location: 'file:///where/' });
    expect(driver.location).toBe('file:///where/');
    for (const expected of [1, 2]) {
      await driver.open({});
      await driver.close();
      expect(calls).toBe(expected);
    }
  });

  it.each<[string | undefined, OpenDalDriverOptions]>([
    [
      'gcs://storage.googleapis.com/bucket/root/part/',
      { service: 'gcs', options: { bucket: 'bucket', root: '/root' }, prefix: 'part/' },
    ],
    [
      'azblob://a.example:1/data/',
      { service: 'azblob', options: { endpoint: 'https://u:p@a.example:1/?sig=1', container: 'data' } },
    ],
    ['file:///data/', { service: 'fs', options: { root: '/data' } }],
    [undefined, { service: 'memory' }],
    [undefined, { service: 'gdrive', options: { access_token: SECRET } }],
  ])('tell the location %s', (location, options) => {
    expect(new OpenDalDriver(options).location).toBe(location);
  });
});
