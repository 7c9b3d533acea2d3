import { Hierarchy, type MemoryDriver, type ReadOutcome, type StorageDriver } from '@tiered/core';
import { driverConformance } from '@tiered/core/conformance';
import { FaultDriver, HoldingDriver, settled, someBytes } from '@tiered/core/testing';
import { Gateway, type AccessLogEntry } from '@tiered/gateway';
import { S3Driver, type S3DriverOptions } from '@tiered/s3-adapter';
import fc from 'fast-check';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { BUCKET, CREDENTIALS, gatewayOn, hierarchyOn, onSource, sourceOf } from './helpers.js';

const KIB = 1024;
const MIB = 1024 * KIB;

/** Our own client, open, which has heard of batches; closed when the test ends. */
async function driverOn({ endpoint }: Gateway, options: Partial<S3DriverOptions> = {}): Promise<S3Driver> {
  const driver = new S3Driver({
    ...{ bucket: BUCKET, endpoint, credentials: CREDENTIALS, proxy: 'none' },
    ...options,
  });
  await driver.open({});
  onTestFinished(() => driver.close());
  for await (const page of driver.list({})) expect(page).not.toHaveLength(0);
  return driver;
}

/** A gateway, and how often each operation was asked for since the last look, once there are so many. */
async function counting(hierarchy: Hierarchy) {
  const answered: string[] = [];
  const onAnswer = ({ operation = '' }: AccessLogEntry) => void answered.push(operation);
  const gateway = await gatewayOn(hierarchy, { credentials: CREDENTIALS, onAnswer });
  const asked = async (answers: number) => {
    await until(() => answered.length >= answers);
    const counts: Record<string, number> = {};
    for (const name of answered.splice(0)) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  };
  return { gateway, asked };
}

function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `o${i}`);
}

function objectsOf(count: number, bytes: number): Record<string, Uint8Array> {
  return Object.fromEntries(namesOf(count).map((name, i) => [name, someBytes(bytes, i)]));
}

function requestsOf(objects: Readonly<Record<string, Uint8Array>>) {
  return Object.entries(objects).map(([key, { byteLength }]) => ({
    key,
    offset: 0,
    target: new Uint8Array(byteLength),
  }));
}

/** Whether all targets have the bytes of their objects. */
function areRight(
  reads: readonly { readonly key: string; readonly target: Uint8Array }[],
  objects: Readonly<Record<string, Uint8Array>>,
): boolean {
  return reads.every(({ key, target }) => Buffer.compare(target, objects[key] ?? Buffer.alloc(0)) === 0);
}

function codesOf(outcomes: readonly ReadOutcome[]): unknown[] {
  return outcomes.map((outcome) =>
    'bytes' in outcome ? outcome.bytes : (outcome.error as { readonly code?: string }).code,
  );
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await settled();
}

async function write(source: StorageDriver, key: string, bytes: Uint8Array): Promise<void> {
  await source.write(key, bytes, { size: bytes.byteLength });
}

describe('S3Driver on a gateway', () => {
  const factory = async () => {
    const source: MemoryDriver = await sourceOf({});
    const hierarchy = await new Hierarchy({ source }).open();
    const gateway = await Gateway.start({ buckets: { [BUCKET]: { hierarchy } }, credentials: CREDENTIALS });
    const { endpoint } = gateway;
    const driver = new S3Driver({ bucket: BUCKET, endpoint, credentials: CREDENTIALS, proxy: 'none' });
    return {
      driver,
      openResources: () => driver.openConnections,
      put: async (key: string, bytes: Uint8Array) => {
        await write(source, key, bytes);
        await hierarchy.rescan();
        // An answer, from which the driver learns of batches.
        await driver.stat(key, {});
      },
      cleanUp: async () => {
        await gateway.close();
        await hierarchy.close();
      },
    };
  };
  driverConformance({ test: it, factory, wrapped: inject('nightly') });
});

describe('readMany of S3Driver on a gateway', () => {
  it('[O10] costs one request for 64 objects, with the bytes of the source', async () => {
    const objects = objectsOf(64, 10 * KIB);
    const { gateway, asked } = await counting(await onSource(await sourceOf(objects)));
    const driver = await driverOn(gateway);
    expect(await asked(1)).toEqual({ ListObjectsV2: 1 });
    const requests = requestsOf(objects);
    expect(await driver.readMany(requests, {})).toEqual(requests.map(() => ({ bytes: 10 * KIB })));
    expect(areRight(requests, objects)).toBe(true);
    expect(await asked(1)).toEqual({ GetBatch: 1 });
  });

  it('[O10] asks for no batch before the endpoint has said that it has them', async () => {
    const objects = objectsOf(3, 10);
    const { gateway, asked } = await counting(await onSource(await sourceOf(objects)));
    const { endpoint } = gateway;
    const driver = new S3Driver({ bucket: BUCKET, endpoint, credentials: CREDENTIALS, proxy: 'none' });
    await driver.open({});
    onTestFinished(() => driver.close());
    for (const expected of [{ GetObject: 3 }, { GetBatch: 1 }]) {
      expect(codesOf(await driver.readMany(requestsOf(objects), {}))).toEqual([10, 10, 10]);
      expect(await asked(Object.values(expected)[0] ?? 0)).toEqual(expected);
    }
  });

  it('reads large ranges singly, and bounds items and bytes of a request', async () => {
    const small = objectsOf(300, 10);
    const large = { l1: someBytes(MIB + 1, 1), l2: someBytes(MIB + 1, 2) };
    const whole = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`m${i}`, someBytes(MIB, i)]));
    const source = await sourceOf({ ...small, ...large, ...whole });
    const { gateway, asked } = await counting(await onSource(source));
    const driver = await driverOn(gateway);
    await asked(1);
    for (const [objects, requests] of [
      [small, { GetBatch: 2 }],
      [large, { GetObject: 2 }],
      [whole, { GetBatch: 1, GetObject: 1 }],
    ] as const) {
      const reads = requestsOf(objects);
      const outcomes = await driver.readMany(reads, {});
      expect(outcomes).toEqual(reads.map(({ target }) => ({ bytes: target.byteLength })));
      expect(areRight(reads, objects)).toBe(true);
      expect(await asked(Object.values(requests).reduce((sum, n) => sum + n, 0))).toEqual(requests);
    }
  });

  it('[O10] gives what single reads give, for any keys, ranges, pieces and versions', async () => {
    const odd = fc.constantFrom(
      'a\nb',
      'a/',
      'ü/%41',
      'a b+c',
      '..',
      'a//b',
      `${'é'.repeat(450)}x`,
      '__404__/a',
    );
    const text = fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' });
    const key = fc.oneof(odd, text).filter((one) => one.isWellFormed() && !one.includes('\0'));
    const range = fc.record({
      at: fc.nat({ max: 9 }),
      offset: fc.nat({ max: 3000 }),
      length: fc.nat({ max: 3000 }),
      version: fc.constantFrom(undefined, 'right', 'wrong'),
      pieces: fc.option(fc.array(fc.tuple(fc.nat({ max: 2000 }), fc.nat({ max: 500 })), { maxLength: 4 }), {
        nil: undefined,
      }),
    });
    const any = fc.record({
      objects: fc.uniqueArray(fc.tuple(key, fc.nat({ max: 4000 })), { maxLength: 8, selector: ([k]) => k }),
      ranges: fc.array(range, { maxLength: 20 }),
    });
    await fc.assert(
      fc.asyncProperty(any, async ({ objects, ranges }) => {
        const source = await sourceOf(
          Object.fromEntries(objects.map(([name, size], i) => [`p/${name}`, someBytes(size, i)])),
        );
        const hierarchy = await onSource(source);
        const gateway = await gatewayOn(hierarchy, { credentials: CREDENTIALS });
        const driver = await driverOn(gateway, { prefix: 'p/' });
        const versions = new Map<string, string>();
        for await (const page of driver.list({})) for (const o of page) versions.set(o.key, o.version);
        const requests = ranges.map(({ at, offset, length, version, pieces }) => {
          const name = objects[at]?.[0] ?? 'missing';
          const bytes = pieces?.reduce((sum, [, n]) => sum + n, 0) ?? length;
          return {
            key: name,
            offset,
            version: version === 'right' ? versions.get(name) : version && '"wrong"',
            pieces: pieces && Float64Array.from(pieces.flat()),
            target: new Uint8Array(bytes),
          };
        });
        const again = requests.map((one) => ({ ...one, target: new Uint8Array(one.target.byteLength) }));
        const together = codesOf(await driver.readMany(requests, {}));
        const singly = await Promise.all(
          again.map(async (one) => codesOf(await driver.readMany([one], {}))[0]),
        );
        expect(together).toEqual(singly);
        together.forEach((bytes, i) => {
          if (typeof bytes !== 'number') return;
          const [got, wanted] = [requests[i], again[i]].map((one) => one?.target.subarray(0, bytes));
          expect(Buffer.compare(got ?? Buffer.alloc(1), wanted ?? Buffer.alloc(0))).toBe(0);
        });
        await driver.close();
        await gateway.close();
        await hierarchy.close();
      }),
      { numRuns: 60 },
    );
  });

  it('[O10] explains what a batch cannot give as single reads do: missing, too short, changed', async () => {
    const source = await sourceOf(objectsOf(5, 100));
    const hierarchy = await onSource(source);
    const { gateway, asked } = await counting(hierarchy);
    const driver = await driverOn(gateway);
    const { version } = await driver.stat('o1', {});
    await write(source, 'o1', someBytes(100, 9));
    await hierarchy.rescan();
    await asked(2);
    const target = () => new Uint8Array(100);
    const outcomes = await driver.readMany(
      [
        { key: 'o0', offset: 0, target: target() },
        { key: 'missing', offset: 0, target: target() },
        { key: 'o1', offset: 0, target: target(), version },
        { key: 'o2', offset: 50, target: target() },
        { key: 'o3', offset: 0, target: target() },
        { key: 'o3', offset: 0, target: new Uint8Array() },
      ],
      {},
    );
    expect(codesOf(outcomes)).toEqual([100, 'TIERED_NOT_FOUND', 'TIERED_SOURCE_CHANGED', 50, 100, 0]);
    expect(await asked(4)).toEqual({ GetBatch: 1, GetObject: 3 });
  });

  it('[O10] reads singly what was not there when the answer broke off', async () => {
    const objects = objectsOf(100, 10 * KIB);
    const fault = { kind: 'fail', code: 'TIERED_UNAVAILABLE', retryable: true } as const;
    const rules = [{ operations: ['read', 'readInto'] as const, nth: 90, fault }];
    const source = new FaultDriver(await sourceOf(objects), { rules });
    const { gateway, asked } = await counting(await onSource(source));
    const driver = await driverOn(gateway);
    await asked(1);
    const requests = requestsOf(objects);
    expect(await driver.readMany(requests, {})).toEqual(requests.map(() => ({ bytes: 10 * KIB })));
    expect(areRight(requests, objects)).toBe(true);
    // All from the 90th on, and what was read ahead and not sent.
    const { GetBatch, GetObject } = await asked(12);
    expect(GetBatch).toBe(1);
    expect(GetObject).toBeGreaterThanOrEqual(11);
    // The endpoint still has batches.
    await driver.readMany(requestsOf(objects), {});
    await until(() => gateway.stats().answering === 0);
    expect(await asked(1)).toMatchObject({ GetBatch: 1 });
  });

  it('[O10] ends with an abort, and touches no target afterwards', async () => {
    const objects = objectsOf(100, 10 * KIB);
    const source = new HoldingDriver(await sourceOf(objects), { operations: ['read', 'readInto'] });
    const gateway = await gatewayOn(await onSource(source), { credentials: CREDENTIALS });
    const driver = await driverOn(gateway);
    const controller = new AbortController();
    const requests = requestsOf(objects);
    const reading = driver.readMany(requests, { signal: controller.signal });
    await until(() => source.held.length > 1);
    while (source.held.length > 1 && !requests[0]?.target.some((byte) => byte > 0)) {
      await source.release();
      await settled();
    }
    const reason = new Error('no longer wanted');
    controller.abort(reason);
    const outcomes = await reading;
    expect(outcomes.at(-1)).toEqual({ error: reason });
    const then = requests.map(({ target }) => Buffer.from(target));
    await until(() => gateway.stats().answering === 0 || source.held.length > 0);
    while (gateway.stats().answering > 0) await source.releaseAll();
    expect(requests.every(({ target }, i) => target.every((byte, at) => byte === then[i]?.[at]))).toBe(true);
    expect(outcomes.every((one) => 'bytes' in one || one.error === reason)).toBe(true);
    expect(
      areRight(
        requests.filter((_, i) => 'bytes' in (outcomes[i] ?? {})),
        objects,
      ),
    ).toBe(true);
  });

  it('reaches the gateway by its own name where the bucket is named before it', async () => {
    const objects = objectsOf(10, 100);
    const { gateway, asked } = await counting(await onSource(await sourceOf(objects)));
    const { port } = new URL(gateway.endpoint);
    // Stands in for a DNS that knows the host of the bucket.
    const proxy = createServer().on('connect', (_, client: Socket) => {
      const server = connect(Number(port), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        client.pipe(server).pipe(client);
      });
      for (const socket of [client, server]) socket.on('error', () => undefined);
      onTestFinished(() => void client.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void proxy.close());
    const driver = await driverOn(gateway, {
      endpoint: `http://gateway.example:${port}`,
      pathStyle: false,
      proxy: new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`),
    });
    await asked(1);
    expect(codesOf(await driver.readMany(requestsOf(objects), {}))).toEqual(namesOf(10).map(() => 100));
    expect(await asked(1)).toEqual({ GetBatch: 1 });
  });

  it('brings what another hierarchy reads at once, if that has no tiers', async () => {
    const objects = objectsOf(64, 10 * KIB);
    const { gateway, asked } = await counting(await hierarchyOn(await sourceOf(objects)));
    const second = await onSource(await driverOn(gateway));
    await asked(2);
    const requests = requestsOf(objects);
    expect(await second.readMany(requests, {})).toEqual(requests.map(() => ({ bytes: 10 * KIB })));
    expect(await asked(1)).toEqual({ GetBatch: 1 });
  });
});
