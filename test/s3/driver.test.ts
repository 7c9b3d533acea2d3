import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  PutBucketAclCommand,
  PutObjectAclCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { isTieredError } from '@tiered/core';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { driverConformance } from '@tiered/core/conformance';
import { someBytes } from '@tiered/core/testing';
import { S3Driver, type S3DriverOptions } from '@tiered/s3-adapter';
import fc from 'fast-check';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import type { RealServer } from '../../tools/servers/real-server.js';
import { clientOf, describeServer, realServers } from './real-servers.js';

const BUCKET = 'shared';
const MIB = 2 ** 20;
/** Writing a thousand objects takes its time on a busy machine. */
const LONG_MS = 300_000;
/** The channel of Node on which undici says what it sends. */
const SENT = 'undici:request:create';

const AWKWARD = [
  ...['a+b', '%', '%2F', 'a%20b', 'a b', ' ', ' a ', '\\', '*', "!'()*"],
  ...['?x=1&y#z;:@$,', '?acl', '<&>"', '&amp;'],
  ...['a//b', '//', '/', '/a', 'a/', '.', '..', './a', 'a/./b', 'a/../b', '../../a', '/..'],
  ...['é/日本語/😀', 'e\u0301', '\u{10ffff}', '\ufeffa', '\u2028', 'line\nbreak\r\ttab', 'x'.repeat(1000)],
];

/** The suite's tests, but for those of a decorator that adds nothing: they say nothing about a server. */
function slowTest(name: string, run: () => Promise<void>): void {
  if (!name.startsWith('decorated: ')) it(name, run, LONG_MS);
}

function promises(server: () => RealServer): void {
  let client: S3Client;
  let places = 0;

  beforeAll(async () => {
    client = clientOf(server());
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  }, LONG_MS);
  afterAll(() => client.destroy());

  const driverOn = (options: Partial<S3DriverOptions>) => {
    const { endpoint, region, credentials } = server();
    return new S3Driver({ bucket: BUCKET, endpoint, region, credentials, proxy: 'none', ...options });
  };
  /** Where nothing has been written. */
  const freshPrefix = () => `place-${places++}/`;
  const freshBucket = async () => {
    const bucket = `bucket-${places++}`;
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    return bucket;
  };
  const opened = async (options: Partial<S3DriverOptions> = {}) => {
    const driver = driverOn({ prefix: freshPrefix(), writable: true, ...options });
    await driver.open({});
    onTestFinished(() => driver.close());
    return driver;
  };

  describe('the driver, writing to a bucket of its own', () => {
    const factory = async () => {
      const s3 = driverOn({ bucket: await freshBucket(), writable: true });
      const driver = server().name === 'Swift' ? new LookingAgain(s3) : s3;
      return { driver, openResources: () => s3.openConnections };
    };
    driverConformance({ test: slowTest, factory });
  });

  it(
    '[O9] of several writers with ifAbsent one succeeds at most, however large the object is',
    async () => {
      const driver = await opened({ chunk: 8 * MIB });
      for (const size of [1000, 18 * MIB]) {
        const versions = [1, 2, 3, 4].map((seed) => someBytes(size, seed));
        const write = (bytes: Uint8Array) => driver.write(`${size}`, bytes, { size, ifAbsent: true });
        const outcomes = await Promise.allSettled(versions.map(write));
        const errors = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
        // A server that cannot decide says so, and then there is none.
        const isKept = !errors.every((error) => isTieredError(error, 'TIERED_UNSUPPORTED'));
        expect(isKept).toBe(server().name !== 'Swift');
        if (isKept) {
          expect(errors).toHaveLength(3);
          for (const error of errors) expect(error).toMatchObject({ code: 'TIERED_EXISTS' });
          const [made = -1] = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []));
          const there = await driver.read(`${size}`, { offset: 0, length: size });
          expect(Buffer.compare(there, versions[made] ?? Buffer.alloc(0))).toBe(0);
        } else await expect(driver.stat(`${size}`, {})).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
      }
    },
    LONG_MS,
  );

  describe('the driver, reading below a prefix', () => {
    const factory = async () => {
      const prefix = freshPrefix();
      const writer = driverOn({ prefix, writable: true });
      await writer.open({});
      const driver = driverOn({ prefix });
      return {
        driver,
        openResources: () => driver.openConnections,
        put: (key: string, bytes: Uint8Array) => writer.write(key, bytes, { size: bytes.byteLength }),
        cleanUp: () => writer.close(),
      };
    };
    driverConformance({ test: slowTest, factory, wrapped: inject('nightly') });
  });

  it('names objects by any keys, as they are', { timeout: LONG_MS }, async () => {
    await holds(await opened(), AWKWARD);
    // Control characters cannot be in the XML of a listing, nor in that of a batch of deletes.
    for (const key of ['bell\u0007', '\u0001', '\u007f', '\uffff'])
      await holds(await opened(), [key, 'other']);
    await holds(await opened({ bucket: await freshBucket(), prefix: '' }), ['é'.repeat(512)]);
    const key = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 30 })
      .filter((text) => text.isWellFormed() && !text.includes('\0'));
    const keys = fc.uniqueArray(fc.oneof(fc.constantFrom(...AWKWARD), key), { minLength: 1, maxLength: 6 });
    const property = fc.asyncProperty(keys, async (some) => holds(await opened(), some));
    await fc.assert(property, { numRuns: 10 });
  });

  it('never leaves its prefix, whatever segments keys have', async () => {
    const prefix = freshPrefix();
    const [outer, inner] = [await opened({ prefix }), await opened({ prefix: `${prefix}inner/` })];
    await outer.write('secret', someBytes(1, 1), { size: 1 });
    await expect(inner.stat('../secret', {})).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    await inner.write('../new', someBytes(1, 1), { size: 1 });
    expect((await keysOf(outer)).sort()).toEqual(['inner/../new', 'secret']);
  });

  // The suite lists and deletes as many; this counts the requests of it, which takes Swift long.
  if (inject('nightly'))
    it(
      'lists and deletes more than 1000 objects, in ranges and in batches',
      { timeout: LONG_MS },
      async () => {
        // A batch of deletes keeps a busy Swift silent for long, and is to be sent once all the same.
        const driver = await opened({ timeoutMs: 60_000 });
        const keys = Array.from({ length: 1100 }, (_, i) => `${i % 7}é +/${i}`);
        await Promise.all(keys.map((key) => driver.write(key, someBytes(1, 1), { size: 1 })));
        const listing = countRequests(server());
        expect((await keysOf(driver)).sort()).toEqual(keys.sort());
        expect(listing.stop()).toBeLessThanOrEqual(2 + 8 + 1);
        const deleting = countRequests(server());
        await Promise.all(keys.map((key) => driver.delete(key, {})));
        expect(deleting.stop()).toBe(2);
        expect(await keysOf(driver)).toEqual([]);
      },
    );

  it('writes large objects in parts, and reads them in parts', async () => {
    // A request that was given up, because the server is busy, would be sent twice.
    const driver = await opened({ timeoutMs: 60_000 });
    const bytes = someBytes(17 * MIB + 1, 1);
    const writing = countRequests(server());
    await driver.write('large', bytes, { size: bytes.length });
    // Three parts, and what is before and after them.
    expect(writing.stop()).toBe(5);
    const { size, version } = await driver.stat('large', {});
    expect(size).toBe(bytes.length);
    expect(Buffer.compare(await driver.read('large', { offset: 0, length: size, version }), bytes)).toBe(0);
    const range = await driver.read('large', { offset: 8 * MIB - 5, length: 10, version });
    expect(Buffer.compare(range, bytes.subarray(8 * MIB - 5, 8 * MIB + 5))).toBe(0);
  });

  it('leaves no object and no part of a large one that was aborted', async () => {
    const bucket = await freshBucket();
    const driver = await opened({ bucket, prefix: '' });
    const reason = new Error('no longer wanted');
    const controller = new AbortController();
    const pieces = async function* () {
      yield someBytes(17 * MIB, 1);
      controller.abort(reason);
      yield someBytes(MIB, 2);
    };
    const options = { size: 18 * MIB, signal: controller.signal };
    await expect(driver.write('large', pieces(), options)).rejects.toBe(reason);
    expect(await keysOf(driver)).toEqual([]);
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
    expect(Uploads).toEqual([]);
  });

  it('never mixes an object with the one that replaces it', async () => {
    const driver = await opened();
    const write = (seed: number) => driver.write('object', someBytes(1000, seed), { size: 1000 });
    await write(1);
    const { version } = await driver.stat('object', {});
    await write(2);
    for (const offset of [0, 500, 1000]) {
      const read = driver.read('object', { offset, length: 500, version });
      await expect(read).rejects.toMatchObject({ code: 'TIERED_SOURCE_CHANGED' });
    }
  });

  it('says what is wrong where the bucket or the secret is', async () => {
    const { credentials } = server();
    const elsewhere = await opened({ bucket: 'no-such-bucket' });
    await expect(keysOf(elsewhere)).rejects.toMatchObject({ code: 'TIERED_UNAVAILABLE' });
    const stranger = await opened({ credentials: { ...credentials, secretAccessKey: 'another' } });
    await expect(keysOf(stranger)).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
    await expect(stranger.stat('object', {})).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
  });

  it('reads without a signature what everybody may read, if the server knows such requests', async () => {
    const bucket = await freshBucket();
    const owner = await opened({ bucket, prefix: '' });
    await owner.write('object', someBytes(10, 1), { size: 10 });
    await client.send(new PutBucketAclCommand({ Bucket: bucket, ACL: 'public-read' }));
    const anybody = await opened({ bucket, prefix: '', credentials: 'anonymous' });
    const read = () => anybody.read('object', { offset: 0, length: 10 });
    if (server().name === 'Swift') {
      // Only the signature tells s3api that a request is one of S3.
      await expect(keysOf(anybody)).rejects.toMatchObject({ code: 'TIERED_IO' });
      await expect(read()).rejects.toMatchObject({ code: 'TIERED_IO' });
      return;
    }
    expect(await keysOf(anybody)).toEqual(['object']);
    await expect(read()).rejects.toMatchObject({ code: 'TIERED_PERMISSION' });
    await client.send(new PutObjectAclCommand({ Bucket: bucket, Key: 'object', ACL: 'public-read' }));
    expect(await read()).toHaveLength(10);
  });
}

/**
 * Swift looks an object's file up, and then opens it: an object that is replaced between the two is missing
 * for that moment, if there is one copy only. Everything else of the suite holds for it as it is.
 */
class LookingAgain extends InterceptingDriver {
  protected override async intercept<T>({ proceed }: DriverCall<T>): Promise<T> {
    for (let look = 1; look < 3; look++) {
      try {
        return await proceed();
      } catch (error) {
        if (!isTieredError(error, 'TIERED_NOT_FOUND')) throw error;
      }
    }
    return proceed();
  }
}

/** Counts what is sent to a server from now on. */
function countRequests({ endpoint }: RealServer): { stop: () => number } {
  let count = 0;
  const see = (message: unknown) => {
    if ((message as { request: { origin: string } }).request.origin === endpoint) count += 1;
  };
  subscribe(SENT, see);
  return {
    stop: () => {
      unsubscribe(SENT, see);
      return count;
    },
  };
}

/**
 * Asserts that objects with these keys are written, listed, described, read and deleted, in an empty place.
 */
async function holds(driver: S3Driver, keys: readonly string[]): Promise<void> {
  for (const [i, key] of keys.entries()) await driver.write(key, someBytes(i + 1, i), { size: i + 1 });
  for (const [i, key] of keys.entries()) {
    expect((await driver.stat(key, {})).size).toBe(i + 1);
    const bytes = await driver.read(key, { offset: 0, length: 100 });
    expect(Buffer.compare(bytes, someBytes(i + 1, i))).toBe(0);
  }
  expect((await keysOf(driver)).sort()).toEqual([...keys].sort());
  await Promise.all(keys.map((key) => driver.delete(key, {})));
  expect(await keysOf(driver)).toEqual([]);
}

async function keysOf(driver: S3Driver): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of driver.list({})) keys.push(...page.map(({ key }) => key));
  return keys;
}

describe('S3Driver on a real server', () => {
  for (const offer of realServers()) describeServer(offer, promises);
});
