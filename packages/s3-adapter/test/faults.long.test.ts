import { isTieredError } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import type { Fault, FaultRule } from '@tiered/s3-server';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKET, place } from './helpers.js';

const PART = 5 * 2 ** 20;
const SMALL = someBytes(100_000, 1);
const LARGE = someBytes(3 * PART + 1234, 2);
const inverted = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0xff);
/**
 * What the server may have under a key: the object, and what it is replaced by in the middle of an answer.
 */
const VERSIONS: Readonly<Record<string, readonly [Uint8Array, Uint8Array]>> = {
  small: [SMALL, inverted(SMALL)],
  large: [LARGE, inverted(LARGE)],
};

const bytes = fc.nat({ max: 120_000 });
const anyFault: fc.Arbitrary<Fault> = fc.oneof(
  fc.constantFrom<Fault>(
    { kind: 'status', status: 503, code: 'SlowDown' },
    { kind: 'status', status: 503, code: 'SlowDown', retryAfter: 2 },
    { kind: 'status', status: 500, code: 'InternalError' },
    { kind: 'status', status: 400, code: 'RequestTimeout' },
    { kind: 'wrongRange' },
    { kind: 'wrongEtag' },
    { kind: 'ignoreIfMatch' },
    { kind: 'latency', medianMs: 50, p99OverMedian: 20 },
  ),
  bytes.map((afterBytes): Fault => ({ kind: 'reset', afterBytes })),
  bytes.map((count): Fault => ({ kind: 'truncate', bytes: count })),
  bytes.map((count): Fault => ({ kind: 'shortBody', bytes: count })),
  bytes.map((afterBytes): Fault => ({ kind: 'changeMidObject', afterBytes })),
);
const rule: fc.Arbitrary<FaultRule> = fc
  .tuple(anyFault, fc.constantFrom(0.05, 0.3, 0.8), fc.nat({ max: 3 }), fc.integer({ min: 1, max: 12 }))
  .map(([fault, probability, after, times]) => ({ fault, probability, after, times }));
const read = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('small'), fc.nat(110_000), fc.nat(110_000)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('large'), fc.nat(LARGE.length), fc.nat(LARGE.length)) },
  { weight: 2, arbitrary: fc.constantFrom(['small', 0, 100_000], ['large', 0, LARGE.length + 5]) },
) as fc.Arbitrary<[string, number, number]>;

describe('reads from a server that fails', () => {
  it('[O1] [O2] give the right bytes of one version, or a typed error, and touch nothing else', async () => {
    const codes = ['TIERED_SOURCE_CHANGED', 'TIERED_DATA_CORRUPT', 'TIERED_IO', 'TIERED_DEADLINE'];
    const property = fc.asyncProperty(
      fc.array(rule, { minLength: 1, maxLength: 4 }),
      fc.array(read, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      fc.nat(),
      async (faults, reads, weakEtags, seed) => {
        const { server, driver, clock } = await place({ chunk: PART, seed }, { faults, seed, weakEtags });
        for (const [key, [object]] of Object.entries(VERSIONS)) server.put(BUCKET, key, object);
        const one = async ([key, offset, length]: [string, number, number]) => {
          const memory = new Uint8Array(length + 20).fill(0xaa);
          const target = memory.subarray(10, 10 + length);
          const count = await driver.readInto(key, target, { offset }).catch((error: unknown) => {
            if (!isTieredError(error) || !codes.includes(error.code) || error.retryable) throw error;
            return undefined;
          });
          expect(memory.subarray(0, 10).every((byte) => byte === 0xaa)).toBe(true);
          expect(memory.subarray(10 + length).every((byte) => byte === 0xaa)).toBe(true);
          if (count === undefined) return;
          const wanted = VERSIONS[key]?.map((version) => version.subarray(offset, offset + length)) ?? [];
          expect(count).toBe(wanted[0]?.byteLength);
          const isVersion = wanted.map((version) => Buffer.compare(version, target.subarray(0, count)) === 0);
          expect(isVersion).toContain(true);
        };
        await clock.run(Promise.all(reads.map(one)));
        await driver.close();
        await server.close();
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  it('[O2] go on from the byte where they broke, with If-Match, until all is there', async () => {
    const { server, driver, clock } = await place();
    server.put(BUCKET, 'small', SMALL);
    for (const kind of ['truncate', 'shortBody'] as const) {
      server.requests.GetObject = 0;
      server.faults.set([{ times: 5, fault: { kind, bytes: 15_000 } }]);
      const got = await clock.run(driver.read('small', { offset: 0, length: 100_000 }));
      expect(Buffer.compare(got, SMALL)).toBe(0);
      expect(server.requests.GetObject).toBe(6);
    }
  });

  it.each([false, true])(
    '[O1] never mix two versions: a read whose object is replaced is a typed error, weak ETags: %s',
    async (weakEtags) => {
      const { server, driver, clock } = await place({ chunk: PART }, { weakEtags });
      const faults = [{ times: 1, fault: { kind: 'changeMidObject', afterBytes: 60_000 } }] as const;
      for (const [key, [object]] of Object.entries(VERSIONS)) {
        server.put(BUCKET, key, object);
        const { version } = await driver.stat(key, {});
        for (const options of [{}, { version }]) {
          server.put(BUCKET, key, object);
          server.faults.set(faults);
          const reading = driver.read(key, { offset: 10, length: object.length, ...options });
          await expect(clock.run(reading)).rejects.toMatchObject({
            code: 'TIERED_SOURCE_CHANGED',
            cause: { key },
          });
        }
        // Also if the server does not look at If-Match: then the ETag of the answer tells.
        server.faults.set([{ fault: { kind: 'ignoreIfMatch' } }]);
        await expect(clock.run(driver.read(key, { offset: 0, length: 10, version }))).rejects.toMatchObject({
          code: 'TIERED_SOURCE_CHANGED',
        });
      }
    },
  );

  it('[O1] have weak ETags compared, and not sent in If-Match, which no server could grant', async () => {
    const { server, driver, clock } = await place({ chunk: PART }, { weakEtags: true });
    for (const [key, [object, other]] of Object.entries(VERSIONS)) {
      server.put(BUCKET, key, object);
      const { version } = await driver.stat(key, {});
      expect(version).toMatch(/^W\/"/);
      for await (const page of driver.list({ prefix: key })) expect(page[0]?.version).toBe(version);
      for (const offset of [0, 70_000, object.length]) {
        const read = () => clock.run(driver.read(key, { offset, length: object.length, version }));
        server.faults.set([{ times: 2, fault: { kind: 'truncate', bytes: 20_000 } }]);
        expect(Buffer.compare(await read(), object.subarray(offset))).toBe(0);
        server.put(BUCKET, key, other);
        await expect(read()).rejects.toMatchObject({ code: 'TIERED_SOURCE_CHANGED' });
        server.put(BUCKET, key, object);
      }
    }
  });

  it('[O2] never serve a range that was not asked for', async () => {
    const { server, driver, clock } = await place({ attempts: 3 });
    server.put(BUCKET, 'small', SMALL);
    server.faults.set([{ times: 2, fault: { kind: 'wrongRange' } }]);
    const got = await clock.run(driver.read('small', { offset: 500, length: 1000 }));
    expect(Buffer.compare(got, SMALL.subarray(500, 1500))).toBe(0);
    server.faults.set([{ fault: { kind: 'wrongRange' } }]);
    await expect(clock.run(driver.read('small', { offset: 500, length: 1000 }))).rejects.toMatchObject({
      code: 'TIERED_DATA_CORRUPT',
      attempts: 3,
      retryable: false,
    });
  });

  it('[O2] of whole objects are verified, whatever checksum the server sends, and read anew where it does not fit', async () => {
    for (const checksums of ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256'] as const) {
      const { server, driver, clock } = await place({ attempts: 4 }, { checksums, seed: 3 });
      server.put(BUCKET, 'small', SMALL);
      for (const memory of [new Uint8Array(100_000), new Uint8Array(new SharedArrayBuffer(100_000))]) {
        server.faults.set([{ times: 3, fault: { kind: 'corrupt' } }]);
        await clock.run(driver.readInto('small', memory, { offset: 0 }));
        expect(Buffer.compare(memory, SMALL)).toBe(0);
      }
      server.faults.set([{ fault: { kind: 'corrupt' } }]);
      await expect(clock.run(driver.read('small', { offset: 0, length: 100_000 }))).rejects.toMatchObject({
        code: 'TIERED_DATA_CORRUPT',
        attempts: 4,
      });
    }
  });
});
