import { isTieredError } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import type { Fault, FaultRule } from '@tiered/s3-server';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKET, place } from './helpers.js';

const PART = 5 * 2 ** 20;
const LARGE = 2 * PART + 1;
const EXISTS = { code: 'TIERED_EXISTS', operation: 'write', key: 'object', retryable: false };
const LOST = { times: 1, fault: { kind: 'reset', afterBytes: 0 } } as const;

describe('a write with ifAbsent', () => {
  it('[O9] is made by one of several, the others are told, in one request however large', async () => {
    for (const size of [0, 1000, LARGE]) {
      const { server, driver } = await place({ chunk: PART });
      const versions = [1, 2, 3, 4].map((seed) => someBytes(size, seed));
      const write = (bytes: Uint8Array) => driver.write('object', bytes, { size, ifAbsent: true });
      const outcomes = await Promise.allSettled(versions.map(write));
      const made = outcomes.findIndex(({ status }) => status === 'fulfilled');
      for (const [i, outcome] of outcomes.entries())
        if (i !== made) expect(outcome).toMatchObject({ status: 'rejected', reason: EXISTS });
      expect(
        Buffer.compare(server.get(BUCKET, 'object') ?? Buffer.alloc(1), versions[made] ?? Buffer.alloc(2)),
      ).toBe(0);
      expect(server.requests).toMatchObject({ CreateMultipartUpload: 0 });
    }
  });

  it('[O9] of more than one request can hold is not supported, and sends nothing', async () => {
    const { server, driver } = await place({ chunk: PART });
    const size = 64 * 2 ** 20 + 1;
    const write = driver.write('object', new Uint8Array(size), { size, ifAbsent: true });
    await expect(write).rejects.toMatchObject({ code: 'TIERED_UNSUPPORTED', retryable: false });
    expect(Object.values(server.requests).every((count) => count === 0)).toBe(true);
  });

  it('of a large object that is there sends nothing of it', async () => {
    const { server, driver } = await place({ chunk: PART });
    server.put(BUCKET, 'object', someBytes(1, 1));
    const write = driver.write('object', new Uint8Array(LARGE), { size: LARGE, ifAbsent: true });
    await expect(write).rejects.toMatchObject({ ...EXISTS, attempts: 1 });
    expect(server.requests).toMatchObject({ HeadObject: 1, PutObject: 0, CreateMultipartUpload: 0 });
  });

  it('[O9] knows its own object when an answer was lost, and that of another', async () => {
    for (const size of [1000, LARGE]) {
      const operation = 'PutObject';
      const { server, driver, clock } = await place({ chunk: PART });
      const bytes = someBytes(size, 1);
      const write = () => clock.run(driver.write('object', bytes, { size, ifAbsent: true }));
      server.faults.set([{ operation, ...LOST }]);
      await write();
      expect(Buffer.compare(server.get(BUCKET, 'object') ?? Buffer.alloc(1), bytes)).toBe(0);
      // The same bytes, but not by this write.
      await expect(write()).rejects.toMatchObject(EXISTS);
      server.delete(BUCKET, 'object');
      // Somebody else's comes while this one pauses after a try that failed.
      server.faults.set([{ operation, times: 1, fault: { kind: 'status', status: 503, code: 'SlowDown' } }]);
      const writing = driver.write('object', bytes, { size, ifAbsent: true });
      const ended = expect(writing).rejects.toMatchObject(EXISTS);
      while (server.faults.injected.status !== 1) await clock.turn();
      server.put(BUCKET, 'object', bytes);
      await clock.run(ended);
      expect(server.openUploads).toBe(0);
    }
  });

  it('is not supported where the server does not know it', async () => {
    for (const size of [1000, LARGE]) {
      const operation = 'PutObject';
      const { server, driver } = await place({ chunk: PART });
      server.faults.set([{ operation, fault: { kind: 'status', status: 501, code: 'NotImplemented' } }]);
      const write = driver.write('object', new Uint8Array(size), { size, ifAbsent: true });
      await expect(write).rejects.toMatchObject({ code: 'TIERED_UNSUPPORTED', attempts: 1 });
      expect(server.openUploads).toBe(0);
      // Without the condition it is another error.
      const replacing = driver.write('object', new Uint8Array(1000), { size: 1000 });
      await expect(replacing).rejects.toMatchObject({ code: 'TIERED_IO' });
    }
  });

  it('is repeated while another write of the object is under way', async () => {
    const { server, driver, clock } = await place();
    const conflict = { kind: 'status', status: 409, code: 'ConditionalRequestConflict' } as const;
    server.faults.set([{ operation: 'PutObject', times: 2, fault: conflict }]);
    await clock.run(driver.write('object', someBytes(9, 1), { size: 9, ifAbsent: true }));
    expect(server.requests.PutObject).toBe(3);
  });

  it('[O9] succeeds for one at most, whatever goes wrong, and for the one whose object is there', async () => {
    const fault: fc.Arbitrary<Fault> = fc.constantFrom<Fault>(
      { kind: 'status', status: 503, code: 'SlowDown' },
      { kind: 'status', status: 409, code: 'ConditionalRequestConflict' },
      { kind: 'reset', afterBytes: 0 },
      { kind: 'latency', medianMs: 50, p99OverMedian: 20 },
    );
    const rule: fc.Arbitrary<FaultRule> = fc
      .tuple(fault, fc.constantFrom(0.1, 0.4, 0.8), fc.integer({ min: 1, max: 12 }))
      .map(([one, probability, times]) => ({ fault: one, probability, times }));
    const property = fc.asyncProperty(
      fc.array(rule, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 2, max: 6 }),
      fc.nat(),
      async (faults, writers, seed) => {
        const { server, driver, clock } = await place({ seed }, { faults, seed });
        const versions = Array.from({ length: writers }, (_, i) => someBytes(1000 + i, i));
        const write = (bytes: Uint8Array) =>
          driver.write('object', bytes, { size: bytes.byteLength, ifAbsent: true });
        const outcomes = await clock.run(Promise.allSettled(versions.map(write)));
        const made = versions.filter((_, i) => outcomes[i]?.status === 'fulfilled');
        expect(made.length).toBeLessThanOrEqual(1);
        const there = server.get(BUCKET, 'object');
        if (made[0] !== undefined) expect(Buffer.compare(there ?? Buffer.alloc(0), made[0])).toBe(0);
        const errors = outcomes.flatMap((o) => (o.status === 'rejected' ? [o.reason as unknown] : []));
        for (const error of errors) {
          const known = ['TIERED_EXISTS', 'TIERED_IO', 'TIERED_DEADLINE'];
          expect(isTieredError(error) && known.includes(error.code)).toBe(true);
          // Who is told so can rely on it that there is one.
          if (isTieredError(error, 'TIERED_EXISTS')) expect(there).toBeDefined();
        }
        await driver.close();
        await server.close();
      },
    );
    await fc.assert(property, { numRuns: 80 });
  });
});
