import { isTieredError } from '@tiered/core';
import { ManualClock } from '@tiered/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answering, driverOn } from './helpers.js';

const PART = 5 * 2 ** 20;
const MIB = 2 ** 20;

/** What the server does with one request for the object. */
interface Script {
  /** Which content it has. */
  readonly content: Buffer;
  /** How much of the answer goes out before the connection breaks. Default: all of it. */
  readonly breaksAfter?: number | undefined;
  readonly ignoresRange?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server whose object becomes another one under the same ETag, and a driver on it. */
async function changing(scriptOf: (request: number) => Script) {
  let requests = 0;
  const endpoint = await answering(({ method, headers }, response) => {
    const isHead = method === 'HEAD';
    const script = scriptOf(isHead ? Math.max(0, requests - 1) : requests++);
    const { content, breaksAfter = Infinity, ignoresRange = false } = script;
    const [, from, to] = (ignoresRange ? null : /bytes=(\d+)-(\d+)/.exec(headers.range ?? '')) ?? [];
    const [first, last] = [Number(from ?? 0), Math.min(Number(to ?? Infinity), content.length - 1)];
    if (first >= content.length) return response.writeHead(416).end();
    const range = from !== undefined && { 'content-range': `bytes ${first}-${last}/${content.length}` };
    response.writeHead(from === undefined ? 200 : 206, {
      etag: 'W/"1"',
      'content-length': last - first + 1,
      ...range,
      ...script.headers,
    });
    const body = content.subarray(first, last + 1);
    if (isHead || breaksAfter >= body.length) return response.end(isHead ? undefined : body);
    return response.write(body.subarray(0, breaksAfter), () => response.destroy());
  });
  const clock = new ManualClock();
  const driver = await driverOn(endpoint, { clock, chunk: PART, attempts: 3 });
  return { driver, clock, requests: () => requests };
}

describe('an object that becomes another one under the same ETag', () => {
  it('[O1] is never read as complete where it is not: parts that come short', async () => {
    const [before, after] = [Buffer.alloc(4 * PART, 1), Buffer.alloc(PART + MIB, 2)];
    for (const [now, then] of [
      [before, after],
      [after, before],
    ] as const) {
      const { driver, clock } = await changing((request) => ({ content: request === 0 ? now : then }));
      const target = Buffer.alloc(before.length, 0xee);
      await expect(
        clock.run(driver.readInto('object', target, { offset: 0, version: 'W/"1"' })),
      ).rejects.toMatchObject({ code: 'TIERED_SOURCE_CHANGED' });
    }
  });

  it('[O1] is not begun anew once somebody was told that bytes of it are final', async () => {
    const [before, after] = [Buffer.alloc(3 * MIB, 1), Buffer.alloc(2 * MIB, 2)];
    for (const isTold of [true, false]) {
      const { driver, clock, requests } = await changing((request) =>
        request === 0 ? { content: before, breaksAfter: MIB } : { content: after },
      );
      const target = Buffer.alloc(before.length);
      const progress = isTold ? () => undefined : undefined;
      const reading = clock.run(driver.readInto('object', target, { offset: 0, progress }));
      if (isTold) {
        await expect(reading).rejects.toMatchObject({ code: 'TIERED_SOURCE_CHANGED' });
        expect(target.subarray(0, MIB).every((byte) => byte !== 2)).toBe(true);
        expect(requests()).toBe(2);
      } else {
        expect(await reading).toBe(after.length);
        expect(target.subarray(0, after.length).equals(after)).toBe(true);
      }
    }
  });

  it('[O1] is read into memory of its own size where the read begins anew', async () => {
    const [larger, smaller] = [Buffer.alloc(3 * MIB, 1), Buffer.alloc(2 * MIB, 2)];
    for (const [before, after] of [
      [larger, smaller],
      [smaller, larger],
    ] as const)
      for (const offset of [0, MIB, 2 * MIB - 1, 2 * MIB, 2.5 * MIB]) {
        const { driver, clock } = await changing((request) =>
          request === 0 ? { content: before, breaksAfter: 1000 } : { content: after },
        );
        const got = await clock.run(driver.read('object', { offset, length: 4 * MIB }));
        const expected = offset < before.length - 1000 ? after : before;
        expect(got.byteLength).toBe(Math.max(0, expected.length - offset));
        expect(Buffer.compare(got, expected.subarray(offset))).toBe(0);
      }
  });

  it('[O2] is not begun anew for a checksum that came after bytes were told to be final', async () => {
    const content = Buffer.alloc(3 * MIB, 1);
    for (const isTold of [true, false]) {
      const wrong = { 'x-amz-checksum-crc32': 'AAAAAA==' };
      const { driver, clock, requests } = await changing((request) =>
        request === 0 ? { content, breaksAfter: MIB } : { content, ignoresRange: true, headers: wrong },
      );
      const progress = isTold ? () => undefined : undefined;
      const reading = driver.readInto('object', Buffer.alloc(content.length), { offset: 0, progress });
      await expect(clock.run(reading)).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
      expect(requests()).toBe(isTold ? 2 : 4);
    }
  });

  it('[O1] is read as one of the two, or is a typed error, and what was final stays', async () => {
    const size = fc.constantFrom(1000, MIB, PART - 1, PART, PART + 1, 2 * PART + 5, 3 * PART);
    const property = fc.asyncProperty(
      fc.uniqueArray(size, { minLength: 2, maxLength: 2 }),
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.option(fc.constantFrom(1, 1000, MIB, PART - 1), { nil: undefined }), { maxLength: 5 }),
      fc.array(fc.boolean(), { maxLength: 5 }),
      fc.boolean(),
      fc.constantFrom(MIB, PART, 4 * PART),
      async (sizes, changesAt, breaks, ignored, isTold, length) => {
        const contents = sizes.map((bytes, i) => Buffer.alloc(bytes, i + 1));
        const { driver, clock } = await changing((request) => ({
          content: contents[request < changesAt ? 0 : 1] ?? Buffer.alloc(0),
          breaksAfter: breaks[request],
          ignoresRange: ignored[request] ?? false,
        }));
        const target = Buffer.alloc(length, 0xee);
        let final = Buffer.alloc(0);
        const progress = (bytes: number) => {
          if (bytes > final.length) final = Buffer.from(target.subarray(0, bytes));
        };
        const reading = driver.readInto('object', target, { offset: 0, ...(isTold && { progress }) });
        const count = await clock.run(reading).catch((error: unknown) => {
          if (!isTieredError(error) || error.code === 'TIERED_NOT_FOUND') throw error;
          return undefined;
        });
        expect(target.subarray(0, final.length).equals(final)).toBe(true);
        expect(new Set(final).size).toBeLessThanOrEqual(1);
        const got = target.subarray(0, count);
        if (count !== undefined)
          expect(contents.some((content) => content.subarray(0, length).equals(got))).toBe(true);
        await driver.close();
      },
    );
    await fc.assert(property, { numRuns: 60 });
  }, 60_000);
});
