import type { ObjectStat } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { S3Driver, type S3DriverOptions } from '@tiered/s3-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Gateway } from '@tiered/gateway';
import { BUCKET, CREDENTIALS, gatewayOn, hierarchyOn, sourceOf } from './helpers.js';

/** Our own client, open; closed when the test ends. */
async function driverOn({ endpoint }: Gateway, options: Partial<S3DriverOptions> = {}): Promise<S3Driver> {
  const driver = new S3Driver({
    bucket: BUCKET,
    endpoint,
    credentials: CREDENTIALS,
    proxy: 'none',
    ...options,
  });
  await driver.open({});
  onTestFinished(() => driver.close());
  return driver;
}

async function listed(driver: S3Driver): Promise<ObjectStat[]> {
  const objects: ObjectStat[] = [];
  for await (const page of driver.list({})) objects.push(...page);
  return objects.sort((a, b) => (a.key < b.key ? -1 : 1));
}

const key = fc
  .string({ minLength: 1, maxLength: 40, unit: 'grapheme' })
  .filter((text) => text.isWellFormed() && !text.includes('\0'));

describe('S3Driver as the client', () => {
  it('[X1] finds what the source has, for any keys and ranges', async () => {
    const any = fc.record({
      objects: fc.uniqueArray(fc.tuple(key, fc.nat({ max: 5000 })), {
        maxLength: 8,
        selector: ([name]) => name,
      }),
      offset: fc.nat({ max: 6000 }),
      length: fc.nat({ max: 6000 }),
    });
    await fc.assert(
      fc.asyncProperty(any, async ({ objects, offset, length }) => {
        const source = await sourceOf(
          Object.fromEntries(objects.map(([name, size], i) => [name, someBytes(size, i)])),
        );
        const hierarchy = await hierarchyOn(source);
        const gateway = await gatewayOn(hierarchy, { credentials: CREDENTIALS });
        const driver = await driverOn(gateway);
        expect((await listed(driver)).map(({ key: name }) => name)).toEqual(
          objects.map(([name]) => name).sort(),
        );
        for (const [name, size] of objects) {
          expect(await driver.stat(name, {})).toMatchObject({ key: name, size });
          const [wanted, got] = await Promise.all([
            source.read(name, { offset, length }),
            driver.read(name, { offset, length }),
          ]);
          expect(Buffer.compare(got, wanted)).toBe(0);
        }
        await driver.close();
        await gateway.close();
        await hierarchy.close();
      }),
      { numRuns: 60 },
    );
  });

  it('[X1] reads large objects in parts, through a tier on disk, before it is filled, meanwhile and after', async () => {
    const root = await mkdtemp(path.join(os.tmpdir(), 'tiered-gateway-'));
    onTestFinished(() => rm(root, { recursive: true }));
    const large = someBytes(40 * 1024 * 1024 + 3, 1);
    const hierarchy = await hierarchyOn(await sourceOf({ large }), {
      tiers: [{ driver: new FileSystemDriver({ root, writable: true }), quota: '100MiB' }],
      placement: new PlacementHandler(),
    });
    const gateway = await gatewayOn(hierarchy, { credentials: CREDENTIALS });
    const driver = await driverOn(gateway);
    for (let i = 0; i < 2; i++) {
      const target = new Uint8Array(large.byteLength);
      expect(await driver.readInto('large', target, { offset: 0 })).toBe(large.byteLength);
      expect(Buffer.compare(target, large)).toBe(0);
      await hierarchy.idle();
    }
    // Each byte came from the source once.
    expect(hierarchy.stats().source.readBytes).toBe(large.byteLength);
    const answer = await fetch(`${gateway.endpoint}/${BUCKET}/large`);
    expect(answer.status).toBe(403);
    await answer.body?.cancel();
  });

  it('[X1] can be the source of another hierarchy, with the same ETags', async () => {
    const keys = ['a', 'b/1', 'b/2', 'c d/é'];
    const objects = Object.fromEntries(keys.map((name, i) => [name, someBytes(1000 + i, i)]));
    const first = await hierarchyOn(await sourceOf(objects));
    const gateway = await gatewayOn(first, { credentials: CREDENTIALS });
    const second = await hierarchyOn(await driverOn(gateway, { prefix: '' }));
    const outer = await gatewayOn(second, { credentials: CREDENTIALS });
    const client = await driverOn(outer);
    expect(await listed(client)).toEqual(await listed(await driverOn(gateway)));
    for (const name of keys) {
      const got = await client.read(name, { offset: 0, length: 2000 });
      expect(Buffer.compare(got, objects[name] ?? Buffer.alloc(0))).toBe(0);
    }
  });
});
