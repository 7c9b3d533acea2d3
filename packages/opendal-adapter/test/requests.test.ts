import { OpenDalDriver } from '@tiered/opendal-adapter';
import { ManualClock, outcomeOf } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { keysOf, opened, put, serving, textOf, withCode, type Answer } from './helpers.js';

const CONTENT = 'hello world';

/** Serves one text under any name, by ranges, pinned by If-Match. */
const object: Answer = (request, response) => {
  const headers = { etag: '"1"', 'accept-ranges': 'bytes' };
  const wanted = request.headers['if-match'];
  const [, from = '0', to] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? [];
  const body = CONTENT.slice(Number(from), to === undefined ? undefined : Number(to) + 1);
  if (wanted !== undefined && wanted !== '"1"') response.writeHead(412).end();
  else if (request.method === 'HEAD') response.writeHead(200, { ...headers, 'content-length': 11 }).end();
  else if (Number(from) >= CONTENT.length)
    response.writeHead(416, { 'content-range': 'bytes */11' }).end('past the end');
  else
    response
      .writeHead(206, {
        ...headers,
        'content-length': body.length,
        'content-range': `bytes ${from}-${Number(from) + body.length - 1}/11`,
      })
      .end(body);
};

/** A driver on a server of this test. */
async function driverOf(answer: Answer, options: { readonly concurrency?: number } = {}) {
  const endpoint = await serving(answer);
  return opened(new OpenDalDriver({ service: 'http', options: { endpoint }, ...options }));
}

/** A driver for writing on a server of this test that is asked as Azure is. */
async function azure(answer: Answer) {
  const options = { endpoint: await serving(answer), container: 'data', sas_token: 'sv=1&sig=none' };
  return opened(new OpenDalDriver({ service: 'azblob', options, writable: true }));
}

/** Something that happens when the test says so. */
function gate() {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open: () => open() };
}

describe('reads of OpenDalDriver over HTTP', () => {
  it('are short at the end of the object, and empty past it', async () => {
    const driver = await driverOf(object);
    for (const [offset, length] of [
      [0, 11],
      [2, 3],
      [2, 30],
      [11, 1],
      [20, 30],
      [0, 0],
    ] as const)
      expect(Buffer.from(await driver.read('key', { offset, length })).toString()).toBe(
        CONTENT.slice(offset, offset + length),
      );
  });

  it('ask for their version by If-Match, without a request of their own', async () => {
    const methods: string[] = [];
    const driver = await driverOf((request, response) => {
      methods.push(request.method ?? '');
      object(request, response);
    });
    const { version } = await driver.stat('key', {});
    expect(await driver.read('key', { offset: 0, length: 5, version })).toEqual(Buffer.from('hello'));
    expect(methods).toEqual(['HEAD', 'GET']);
    const other = version.replace('1', '2');
    const read = driver.read('key', { offset: 0, length: 5, version: other });
    await expect(read).rejects.toEqual(withCode('TIERED_SOURCE_CHANGED'));
    const past = driver.read('key', { offset: 9, length: 5, version: other });
    await expect(past).rejects.toEqual(withCode('TIERED_SOURCE_CHANGED'));
  });

  it('that end before the object does are errors that may pass', async () => {
    const driver = await driverOf((request, response) => {
      if (request.method === 'HEAD') object(request, response);
      else response.writeHead(206, { 'content-range': 'bytes 0-10/11', 'content-length': 4 }).end('hell');
    });
    const read = driver.read('key', { offset: 0, length: 11 });
    await expect(read).rejects.toEqual(withCode('TIERED_IO', true));
  });

  it('are made again when the server could not answer', async () => {
    let failures = 2;
    const driver = await driverOf((request, response) => {
      if (failures-- > 0) response.writeHead(503).end();
      else object(request, response);
    });
    expect(Buffer.from(await driver.read('key', { offset: 0, length: 5 })).toString()).toBe('hello');
  });

  it('are as many at the same time as concurrency says', async () => {
    const two = gate();
    let waiting = 0;
    let most = 0;
    const driver = await driverOf(
      (request, response) => {
        most = Math.max(most, ++waiting);
        if (waiting === 2) two.open();
        void two.passed.then(() => {
          waiting--;
          object(request, response);
        });
      },
      { concurrency: 2 },
    );
    await Promise.all(Array.from({ length: 20 }, () => driver.read('key', { offset: 0, length: 5 })));
    expect(most).toBe(2);
  });
});

describe('aborted calls of OpenDalDriver', () => {
  it('reject at once with the reason, and do not touch the target when the answer comes', async () => {
    const [asked, answered] = [gate(), gate()];
    const driver = await driverOf((request, response) => {
      asked.open();
      void answered.passed.then(() => object(request, response));
    });
    const controller = new AbortController();
    const reason = new Error('no longer wanted');
    const target = new Uint8Array(11).fill(0xaa);
    const read = driver.readInto('key', target, { offset: 0, signal: controller.signal });
    await asked.passed;
    controller.abort(reason);
    await expect(read).rejects.toBe(reason);
    expect(driver.callsUnderWay).toBe(1);
    answered.open();
    await driver.close();
    expect(driver.callsUnderWay).toBe(0);
    expect(target).toEqual(new Uint8Array(11).fill(0xaa));
  });

  it('are waited for by close(), but not for ever', async () => {
    const asked = gate();
    const clock = new ManualClock();
    const options = { endpoint: await serving(() => asked.open()) };
    // Not closed when the test ends: the clock stands still then.
    const driver = new OpenDalDriver({ service: 'http', options, clock });
    await driver.open({});
    const controller = new AbortController();
    const read = driver.stat('key', { signal: controller.signal });
    await asked.passed;
    controller.abort(new Error('no longer wanted'));
    await expect(read).rejects.toThrow();
    const closing = outcomeOf(driver.close().then(() => 'closed'));
    await clock.advance(4_999);
    expect(closing).toEqual({});
    await clock.advance(1);
    expect(closing).toEqual({ value: 'closed' });
    expect(clock.sleeping).toBe(0);
  });

  it('are no writes whose bytes were handed over: these end as they do', async () => {
    const [asked, answered] = [gate(), gate()];
    const driver = await azure((request, response) => {
      request.resume().on('end', () => {
        asked.open();
        void answered.passed.then(() => response.writeHead(201).end());
      });
    });
    const controller = new AbortController();
    const bytes = Buffer.from('x');
    const write = driver.write('key', bytes, { size: 1, signal: controller.signal });
    await asked.passed;
    controller.abort(new Error('too late'));
    answered.open();
    await expect(write).resolves.toBeUndefined();
  });
});

describe('listings of OpenDalDriver', () => {
  const keys = ['a', 'b/c', 'd'];

  const listing = (etag: string) =>
    `<?xml version="1.0"?><EnumerationResults><Blobs>${['b/', ...keys]
      .map(
        (key) =>
          `<Blob><Name>${key}</Name><Properties><Etag>${etag}</Etag><Content-Length>1</Content-Length>` +
          '<Last-Modified>Wed, 21 Oct 2015 07:28:00 GMT</Last-Modified></Properties></Blob>',
      )
      .join('')}</Blobs><NextMarker/></EnumerationResults>`;

  async function listed(listedEtag: string) {
    const stats: string[] = [];
    const driver = await azure((request, response) => {
      if (request.method === 'HEAD') stats.push(request.url ?? '');
      if (request.method === 'HEAD') response.writeHead(200, { etag: '"0x1"', 'content-length': 1 }).end();
      else response.writeHead(200, { 'content-type': 'application/xml' }).end(listing(listedEtag));
    });
    const versions: Record<string, string> = {};
    for await (const page of driver.list({})) for (const { key, version } of page) versions[key] = version;
    const { version } = await driver.stat('a', {});
    expect(versions).toEqual({ a: version, 'b/c': version, d: version });
    return stats.length - 1;
  }

  it('ask for one object only if they describe objects as stat() does', async () => {
    expect(await listed('0x1')).toBe(1);
  });

  it('ask for every object if they describe them in another way', async () => {
    // The first is asked for twice: to compare, and to describe it.
    expect(await listed('weak')).toBe(keys.length + 1);
  });

  it('are refused of services that have none', async () => {
    const driver = await driverOf(object);
    expect(driver.capabilities).toMatchObject({ list: false, usage: false });
    await expect(keysOf(driver)).rejects.toEqual(withCode('TIERED_UNSUPPORTED'));
    expect(await textOf(driver, 'key')).toBe(CONTENT);
    await expect(put(driver, 'key')).rejects.toEqual(withCode('TIERED_UNSUPPORTED'));
  });
});
