import fs from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Hierarchy } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { OpenDalDriver } from '@tiered/opendal-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { expect, it, onTestFinished } from 'vitest';

/** A server whose datasets have an object of their own name, with one size and one ETag for all. */
async function servingDatasets(): Promise<string> {
  const server = http.createServer((request, response) => {
    const name = request.url?.split('/')[1] ?? '';
    response.writeHead(200, { etag: '"same"', 'content-length': name.length });
    response.end(request.method === 'HEAD' ? undefined : name);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('copies of one dataset on a server are not served as those of another', async () => {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  const endpoint = await servingDatasets();
  const read = async (dataset: string) => {
    const tier = new FileSystemDriver({ root: path.join(directory, 'tier'), writable: true });
    const hierarchy = new Hierarchy({
      source: new OpenDalDriver({ service: 'http', options: { endpoint: `${endpoint}/${dataset}` } }),
      tiers: [{ driver: tier, quota: '1MiB' }],
      placement: new PlacementHandler(),
    });
    await hierarchy.open();
    try {
      const text = Buffer.from(await hierarchy.read('object')).toString();
      await hierarchy.idle();
      return text;
    } finally {
      await hierarchy.close();
    }
  };
  for (const dataset of ['aaaa', 'bbbb', 'aaaa']) expect(await read(dataset)).toBe(dataset);
});
