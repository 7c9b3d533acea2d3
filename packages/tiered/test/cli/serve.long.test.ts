import { someBytes } from '@tiered/core/testing';
import { S3Server } from '@tiered/s3-server';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { tiered } from './run-tiered.js';

const BIN = path.join(import.meta.dirname, '../../bin/tiered.js');
const OBJECT = someBytes(10_000, 1);

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-serve-'));
  await mkdir(path.join(directory, 'data/train'), { recursive: true });
  await writeFile(path.join(directory, 'data/train/1'), OBJECT);
});
afterEach(() => rm(directory, { recursive: true }));

interface Ready {
  readonly endpoint: string;
  readonly metricsEndpoint?: string;
  readonly buckets: readonly { readonly name: string; readonly prefix: string }[];
  readonly isSigned: boolean;
}

/** The command as a process, once it is ready. `end` interrupts it, and says how it ended. */
async function serving(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [BIN, 'serve', ...args, '--port', '0', '--json'], {
    stdio: 'pipe',
    env: { ...process.env, ...env },
  });
  let messages = '';
  child.stderr.on('data', (text) => (messages += String(text)));
  const closed = once(child, 'close');
  // A wrapper that runs the sources passes this signal on.
  onTestFinished(async () => {
    if (child.exitCode === null) child.kill('SIGTERM');
    await closed;
  });
  const lines = createInterface(child.stdout);
  const first = await Promise.race([once(lines, 'line'), closed.then(() => [''])]);
  if (first[0] === '') throw new Error(messages);
  const ready = JSON.parse(String(first[0])) as Ready;
  const end = async (signal: NodeJS.Signals = 'SIGINT') => {
    child.kill(signal);
    const [code] = (await closed) as [number];
    return { code, messages };
  };
  return { ready, end };
}

const bytesOf = async (url: string) => {
  const answer = await fetch(url);
  return {
    status: answer.status,
    from: answer.headers.get('x-tiered-from'),
    body: new Uint8Array(await answer.arrayBuffer()),
  };
};

describe('tiered serve', () => {
  it('serves a directory from a tier, until it is interrupted', async () => {
    const tier = `${path.join(directory, 'cache')}:10MB`;
    const args = [path.join(directory, 'data'), '--tier', tier, '--metrics-port', '0', '--access-log'];
    const { ready, end } = await serving(args);
    expect(ready).toMatchObject({ buckets: [{ name: 'data', prefix: '' }], isSigned: false });
    const { status, body } = await bytesOf(`${ready.endpoint}/data/train/1`);
    expect([status, Buffer.compare(body, OBJECT)]).toEqual([200, 0]);
    expect((await bytesOf(`${ready.metricsEndpoint}/readyz`)).status).toBe(200);
    const { code, messages } = await end('SIGTERM');
    expect(code).toBe(0);
    const [log = '', summary] = messages.split('\n');
    expect(JSON.parse(log)).toMatchObject({ operation: 'GetObject', key: 'train/1', status: 200 });
    expect(summary).toBe('1 answer with 9.8 KiB; 9.8 KiB came from the source');
  });

  it('serves what is on the tiers already without the source', async () => {
    const file = path.join(directory, 'tiers.json');
    const tiers = [{ driver: 'fs', root: 'cache', quota: '10MB' }];
    await writeFile(file, JSON.stringify({ source: { driver: 'fs', root: 'data' }, tiers }));
    expect((await tiered('warmup', file)).code).toBe(0);
    const { ready, end } = await serving([file]);
    expect(await bytesOf(`${ready.endpoint}/data/train/1`)).toMatchObject({ status: 200, from: 'disk' });
    expect((await end()).messages).toContain('0 B came from the source');
  });

  it('serves configurations, each as a bucket, and asks for the keys that it was given', async () => {
    const files = ['one', 'other'].map((name) => path.join(directory, `${name}.json`));
    await mkdir(path.join(directory, 'more'));
    await writeFile(path.join(directory, 'more/x'), 'x');
    for (const [file, root] of [
      [files[0] ?? '', 'data'],
      [files[1] ?? '', 'more'],
    ] as const)
      await writeFile(file, JSON.stringify({ source: { driver: 'fs', root } }));
    const env = { TIERED_ACCESS_KEY_ID: 'KEY', TIERED_SECRET_ACCESS_KEY: 'not/to/be/seen' };
    const { ready, end } = await serving(files, env);
    expect(ready).toMatchObject({ buckets: [{ name: 'data' }, { name: 'more' }], isSigned: true });
    expect((await bytesOf(`${ready.endpoint}/more/x`)).status).toBe(403);
    const { code, messages } = await end();
    expect([code, messages.includes('not/to/be/seen')]).toEqual([0, false]);
  });
});

describe('tiered serve of a bucket', () => {
  it('asks for what changes, and writes below the prefixes that are named', async () => {
    const server = await S3Server.start();
    onTestFinished(() => server.close());
    server.createBucket('data');
    for (const key of ['in/log/1', 'in/x']) server.put('data', key, OBJECT);
    const { accessKeyId, secretAccessKey } = server.credentials;
    const env = {
      AWS_ENDPOINT_URL_S3: server.endpoint,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      NO_PROXY: '*',
    };
    const tier = ['--tier', 'ram:1MiB'];
    const args = ['s3://data/in/', ...tier, '--changing', 'log/*', '--writes', 'out/', '--writes', 'more/'];
    const { ready } = await serving(args, env);
    const url = `${ready.endpoint}/data/in/`;
    server.put('data', 'in/log/1', Buffer.from('changed'));
    expect(Buffer.from((await bytesOf(`${url}log/1`)).body).toString()).toBe('changed');
    const put = async (key: string) => (await fetch(url + key, { method: 'PUT', body: 'written' })).status;
    expect([await put('out/a'), await put('more/b'), await put('x')]).toEqual([200, 200, 403]);
    expect(server.get('data', 'in/out/a')).toEqual(Buffer.from('written'));
    expect(server.keys('data')).toEqual(['in/log/1', 'in/more/b', 'in/out/a', 'in/x']);
  });
});

describe('tiered serve refuses', () => {
  const refused = async (...args: string[]) => {
    const { code, messages } = await tiered('serve', ...args);
    return [code, messages] as const;
  };
  const data = () => path.join(directory, 'data');

  it('a source without tiers', async () => {
    expect(await refused(data())).toEqual([2, expect.stringContaining('name the tiers, such as --tier')]);
  });

  it('another address than loopback, without keys', async () => {
    const said = expect.stringContaining('set TIERED_ACCESS_KEY_ID and TIERED_SECRET_ACCESS_KEY') as string;
    expect(await refused(data(), '--tier', 'ram:1MiB', '--host', '0.0.0.0')).toEqual([2, said]);
  });

  it('writes to a directory, and to what a configuration names', async () => {
    const said = expect.stringContaining('gateway.writes: needs a source that is a bucket') as string;
    expect(await refused(data(), '--tier', 'ram:1MiB', '--writes', 'out/')).toEqual([2, said]);
    const own = expect.stringContaining('a configuration names its own') as string;
    expect(await refused('tiers.yaml', '--writes', 'out/')).toEqual([2, own]);
  });

  it('a port that is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const args = [data(), '--tier', 'ram:1MiB', '--port', String(port)];
    expect(await refused(...args)).toEqual([
      2,
      expect.stringContaining(`port ${port} of 127.0.0.1 is in use`),
    ]);
  });

  it('several sources with tiers, and two configurations of one bucket', async () => {
    expect((await refused(data(), data(), '--tier', 'ram:1MiB'))[0]).toBe(2);
    const file = path.join(directory, 'one.json');
    await writeFile(file, JSON.stringify({ source: { driver: 'fs', root: 'data' } }));
    expect(await refused(file, file)).toEqual([2, expect.stringContaining('two configurations')]);
  });
});
