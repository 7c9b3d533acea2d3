import { S3Driver, type S3DriverOptions } from '@tiered/s3-adapter';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { someBytes } from '@tiered/core/testing';
import { BUCKET, answering, driverOn, keysOf, optionsFor, place, readAll } from './helpers.js';

const VARIABLES = [
  'AWS_ENDPOINT_URL_S3',
  'AWS_ENDPOINT_URL',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'http_proxy',
  'https_proxy',
  'NO_PROXY',
  'no_proxy',
];

function withEnvironment(variables: Readonly<Record<string, string>>): void {
  for (const name of VARIABLES) vi.stubEnv(name, variables[name]);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
}

describe('the location of the objects', () => {
  it('is the bucket for AWS, and the address for others', () => {
    const of = (options: S3DriverOptions, variables: Readonly<Record<string, string>> = {}) => {
      withEnvironment(variables);
      return new S3Driver(options).location;
    };
    expect(of({ bucket: 'b' })).toBe('s3://b/');
    expect(of({ bucket: 'b.c', prefix: 'x/y/' })).toBe('s3://b.c/x/y/');
    expect(of({ bucket: 'b', endpoint: 'https://s3.eu-central-1.amazonaws.com' })).toBe('s3://b/');
    expect(of({ bucket: 'b', endpoint: 'http://host:9000/' })).toBe('http://host:9000/b/');
    expect(of({ bucket: 'b', endpoint: 'http://host/base/', prefix: 'p/' })).toBe('http://host/base/b/p/');
    expect(of({ bucket: 'b', endpoint: 'http://host', pathStyle: false })).toBe('http://b.host/');
    expect(of({ bucket: 'b' }, { AWS_ENDPOINT_URL: 'http://one' })).toBe('http://one/b/');
    const both = { AWS_ENDPOINT_URL: 'http://one', AWS_ENDPOINT_URL_S3: 'http://two' };
    expect(of({ bucket: 'b' }, both)).toBe('http://two/b/');
  });
});

describe('a request', () => {
  it('of a driver that is not open says so, and what to do', async () => {
    const driver = new S3Driver({ bucket: BUCKET });
    const notOpen = { code: 'TIERED_NOT_OPEN', message: expect.stringContaining('await open()') as string };
    await expect(driver.stat('a', {})).rejects.toMatchObject(notOpen);
    await expect(driver.read('a', { offset: 0, length: 1 })).rejects.toMatchObject(notOpen);
  });

  it('goes to the path or to the host of the bucket, signed with the region', async () => {
    const seen: unknown[] = [];
    const endpoint = await answering(({ url, headers }, response) => {
      seen.push([url, headers.host, /\/([^/]+)\/s3\/aws4_request/.exec(headers.authorization ?? '')?.[1]]);
      response.writeHead(200, { etag: '"x"', 'content-length': 0 }).end();
    });
    await (await driverOn(`${endpoint}/base`, { region: 'eu-north-1' })).stat('k', {});
    // The proxy stands in for a DNS that knows the bucket's host.
    const proxy = await connecting(() => undefined, endpoint);
    const virtual = {
      endpoint: 'http://s3.example.test',
      pathStyle: false,
      bucket: 'b',
      proxy: new URL(proxy),
    };
    await (await driverOn(endpoint, virtual)).stat('k', {});
    expect(seen).toEqual([
      ['/base/data/k', new URL(endpoint).host, 'eu-north-1'],
      ['/k', 'b.s3.example.test', 'us-east-1'],
    ]);
  });

  it('carries the headers that were asked for, signed', async () => {
    let authorization = '';
    let custom: unknown;
    const endpoint = await answering(({ headers }, response) => {
      authorization = headers.authorization ?? '';
      custom = headers['x-team'];
      response.writeHead(200, { etag: '"x"', 'content-length': 0 }).end();
    });
    await (await driverOn(endpoint, { headers: { 'X-Team': 'vision' } })).stat('k', {});
    expect(custom).toBe('vision');
    expect(authorization).toContain('x-team');
  });

  it('to the wrong region is an error that names the right one', async () => {
    const errorBody = '<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>';
    for (const [status, headers, body] of [
      [301, { 'x-amz-bucket-region': 'eu-west-3' }, ''],
      [400, {}, errorBody],
    ] as const) {
      const endpoint = await answering((_, response) => response.writeHead(status, headers).end(body));
      const error: unknown = await readAll(await driverOn(endpoint), 'k').catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: 'TIERED_CONFIG_INVALID', attempts: 1 });
      expect(String(error)).toContain('eu-west-3');
    }
  });

  it('that named no version is not taken for a read of another one, whatever the server answers', async () => {
    const endpoint = await answering((_, response) => response.writeHead(412).end('Bad URL'));
    const driver = await driverOn(endpoint);
    await expect(keysOf(driver)).rejects.toMatchObject({ code: 'TIERED_IO' });
    const read = driver.read('k', { offset: 0, length: 1, version: '"1"' });
    await expect(read).rejects.toMatchObject({ code: 'TIERED_SOURCE_CHANGED' });
  });

  it('to a server that is silent is given up and repeated', async () => {
    let connections = 0;
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => {
      connections += 1;
      sockets.add(socket.on('error', () => undefined));
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const { port } = silent.address() as AddressInfo;
    const driver = await driverOn(`http://127.0.0.1:${port}`, { timeoutMs: 200, attempts: 2 });
    await expect(readAll(driver, 'k')).rejects.toMatchObject({ code: 'TIERED_IO', attempts: 2 });
    expect(connections).toBe(2);
  });
});

describe('a proxy', () => {
  it('is taken from the environment or an option, unless there is to be none', async () => {
    const { server } = await place();
    server.put(BUCKET, 'object', someBytes(100, 1));
    const asked: (string | undefined)[] = [];
    const proxy = await connecting((target) => asked.push(target));
    const { host } = new URL(server.endpoint);
    const read = async (
      options: Partial<S3DriverOptions>,
      variables: Readonly<Record<string, string>> = {},
    ) => {
      withEnvironment(variables);
      asked.length = 0;
      const driver = await driverOn(server.endpoint, {
        ...optionsFor(server),
        proxy: 'environment',
        ...options,
      });
      expect(await readAll(driver, 'object')).toHaveLength(100);
      await driver.close();
      return [...asked];
    };
    expect(await read({})).toEqual([]);
    expect(await read({}, { HTTP_PROXY: proxy })).toEqual([host]);
    expect(await read({ proxy: 'none' }, { HTTP_PROXY: proxy })).toEqual([]);
    expect(await read({}, { HTTP_PROXY: proxy, NO_PROXY: '127.0.0.1' })).toEqual([]);
    expect(await read({ proxy: new URL(proxy) })).toEqual([host]);
  });
});

/** A proxy that knows CONNECT, and connects to what is asked for or to one server always. */
async function connecting(asked: (target: string | undefined) => void, server?: string): Promise<string> {
  const sockets = new Set<Socket>();
  const proxy = createHttpServer().on('connect', ({ url }: { url?: string }, client: Socket) => {
    asked(url);
    const target = new URL(server ?? `http://${url ?? ''}`);
    const upstream = connect(Number(target.port), target.hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => undefined));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => proxy.close(resolve));
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}
