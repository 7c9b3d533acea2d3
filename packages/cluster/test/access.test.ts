import { systemClock } from '@tiered/core';
import { S3Driver } from '@tiered/s3-adapter';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { MemoryRecords } from '../src/registry/memory-registry.js';
import { objectsOf, sourceOf, worker } from './helpers.js';

const TOKEN = 'a secret of the workers';
const OBJECTS = objectsOf(6, 2_000);
const [KEY] = [...OBJECTS.keys()];

/** A worker that keeps all objects, and its URL. */
async function keeper(token?: string) {
  const records = new MemoryRecords(systemClock);
  const source = await sourceOf(OBJECTS);
  const kept = await worker({ source, records, token, rank: 0, size: 1 });
  return { source, records, url: kept.cluster.endpoint ?? '' };
}

it('[Z9] a worker answers nobody who does not sign with the token', async () => {
  const { url, records } = await keeper(TOKEN);
  for (const path of ['', `/${KEY}`, '?list-type=2']) {
    expect((await fetch(`${url}/objects${path}`)).status, path).toBe(403);
    const bearer = { authorization: `Bearer ${TOKEN}` };
    expect((await fetch(`${url}/objects${path}`, { headers: bearer })).status, path).not.toBe(200);
  }
  expect(JSON.stringify(records.all())).not.toContain(TOKEN);
});

it('[Z9] a worker listens on loopback, and without a token gives objects to this machine', async () => {
  const { url } = await keeper();
  expect(new URL(url).hostname).toBe('127.0.0.1');
  const answer = await fetch(`${url}/objects/${KEY}`);
  expect(Buffer.compare(Buffer.from(await answer.arrayBuffer()), OBJECTS.get(KEY ?? '') ?? Buffer.of())).toBe(
    0,
  );
});

it('[Z9] a worker lets nobody write, and gives nothing beside its objects', async () => {
  const { url, source } = await keeper(TOKEN);
  const driver = new S3Driver({
    ...{ bucket: 'objects', endpoint: url, pathStyle: true, region: 'us-east-1', proxy: 'none', attempts: 1 },
    ...{ credentials: { accessKeyId: 'tiered-peer', secretAccessKey: TOKEN }, writable: true },
  });
  onTestFinished(() => driver.close());
  await driver.open({});
  expect(await driver.read(KEY ?? '', { offset: 0, length: 10 })).toHaveLength(10);
  await expect(driver.write(KEY ?? '', Buffer.of(1), { size: 1 })).rejects.toThrow();
  await expect(driver.write('new', Buffer.of(1), { size: 1 })).rejects.toThrow();
  await expect(driver.delete(KEY ?? '', {})).rejects.toThrow();
  await expect(driver.read('no object of it', { offset: 0, length: 1 })).rejects.toThrow();
  const keys: string[] = [];
  for await (const page of source.list({})) keys.push(...page.map(({ key }) => key));
  expect(keys.toSorted()).toEqual([...OBJECTS.keys()].toSorted());
});

it('[Z9] the token is in no request', async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    void request.toArray().then((body) => {
      seen.push(`${request.url} ${JSON.stringify(request.rawHeaders)} ${body.join('')}`);
      response.writeHead(503).end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const records = new MemoryRecords(systemClock);
  const record = { rank: 0, url, share: true, plan: '', agreed: { size: '2' } };
  records.put({ slot: 'rank-0', owner: 'other', record, until: Infinity });
  const source = await sourceOf(OBJECTS);
  const { hierarchy } = await worker({ source, records, token: TOKEN, rank: 1, size: 2, quota: '0' });
  for (const key of OBJECTS.keys()) await hierarchy.read(key);
  expect(seen.length).toBeGreaterThan(0);
  for (const request of seen) {
    expect(request).toContain('AWS4-HMAC-SHA256 Credential=tiered-peer/');
    expect(request).not.toContain(TOKEN);
  }
});
