import { someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { BUCKET, answering, driverOn, place, readAll } from './helpers.js';

const PART = 5 * 2 ** 20;
const LARGE = someBytes(4 * PART + 1234, 2);

describe('a long read', () => {
  it('is split into parts of one version, fetched at the same time, none of them past the end', async () => {
    const { server, driver, clock } = await place({ chunk: PART });
    server.put(BUCKET, 'large', LARGE);
    for (const [offset, length, requests] of [
      [0, LARGE.length, 5],
      [7, LARGE.length * 2, 5],
      [PART, PART, 1],
      [PART, PART + 1, 2],
      [LARGE.length - 10, PART * 2, 1],
      [LARGE.length, PART * 2, 1],
    ] as const) {
      server.requests.GetObject = 0;
      const got = await clock.run(driver.read('large', { offset, length }));
      expect(Buffer.compare(got, LARGE.subarray(offset, offset + length))).toBe(0);
      expect(server.requests.GetObject).toBe(requests);
    }
    server.faults.set([{ fault: { kind: 'latency', medianMs: 100 } }]);
    const reading = driver.read('large', { offset: 0, length: LARGE.length });
    for (const together of [1, 4]) {
      while (clock.sleeping < together) await clock.turn();
      await clock.advance(100);
    }
    expect(Buffer.compare(await reading, LARGE)).toBe(0);
  });

  it('tells how much is there, in the order of the bytes, whichever part comes first', async () => {
    const { server, driver, clock } = await place({ chunk: PART });
    server.put(BUCKET, 'large', LARGE);
    server.faults.set([{ after: 1, times: 1, fault: { kind: 'latency', medianMs: 1000 } }]);
    const target = Buffer.alloc(LARGE.length);
    const told: number[] = [];
    const progress = (bytes: number) => {
      told.push(bytes);
      expect(target.subarray(0, bytes).equals(LARGE.subarray(0, bytes))).toBe(true);
    };
    await clock.run(driver.readInto('large', target, { offset: 0, progress }));
    expect(Math.min(...told)).toBeLessThan(PART);
    expect(Math.max(...told)).toBe(LARGE.length);
  });

  it('takes memory for what the object has, however much is asked for', async () => {
    const { server, driver, clock } = await place({ chunk: PART });
    server.put(BUCKET, 'large', LARGE);
    server.put(BUCKET, 'small', LARGE.subarray(0, 10));
    for (const [key, bytes] of [
      ['small', LARGE.subarray(0, 10)],
      ['large', LARGE],
    ] as const)
      for (const length of [2 ** 33, 2 ** 40, Number.MAX_SAFE_INTEGER])
        for (const offset of [0, 7, bytes.length - 1, bytes.length, bytes.length + 1]) {
          const got = await clock.run(driver.read(key, { offset, length }));
          expect(Buffer.compare(got, bytes.subarray(offset))).toBe(0);
          expect(got.buffer.byteLength).toBe(got.byteLength);
        }
  });

  it('that is aborted stops every part, and touches nothing afterwards', async () => {
    const { server, driver, clock } = await place({ chunk: PART });
    server.put(BUCKET, 'large', LARGE);
    server.faults.set([{ after: 2, fault: { kind: 'latency', medianMs: 1000 } }]);
    const reason = new Error('no longer wanted');
    const controller = new AbortController();
    const target = new Uint8Array(LARGE.length);
    const reading = driver.readInto('large', target, { offset: 0, signal: controller.signal });
    while (clock.sleeping < 3) await clock.turn();
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    const before = Buffer.from(target);
    while (server.inFlight > 0) await clock.turn();
    expect(Buffer.compare(before, target)).toBe(0);
  });
});

describe('a read', () => {
  it('that is aborted before, at or after the first byte rejects with the reason, and frees its place', async () => {
    const { server, driver, clock } = await place({ concurrency: 1 });
    server.put(BUCKET, 'large', LARGE);
    const reason = new Error('no longer wanted');
    for (const turns of [0, 1, 2, 3, 5, 8, 13]) {
      const controller = new AbortController();
      const target = new Uint8Array(PART);
      const reading = driver.readInto('large', target, { offset: 1, signal: controller.signal });
      const ended = reading.then(
        () => undefined,
        (error: unknown) => error,
      );
      for (let i = 0; i < turns; i++) await clock.turn();
      controller.abort(reason);
      expect([reason, undefined]).toContain(await ended);
      const before = Buffer.from(target);
      expect(await readAll(driver, 'large', 10)).toHaveLength(10);
      expect(Buffer.compare(before, target)).toBe(0);
    }
  });

  it('into memory of its own tells nobody its progress: nobody else has that memory', async () => {
    const { server, driver } = await place();
    server.put(BUCKET, 'object', someBytes(100, 1));
    const told: number[] = [];
    await driver.read('object', { offset: 1, length: 10, progress: (bytes) => told.push(bytes) });
    expect(told).toEqual([]);
  });

  it('of nothing costs no request', async () => {
    const { server, driver } = await place();
    expect(await driver.readInto('missing', new Uint8Array(), { offset: 5 })).toBe(0);
    expect(server.requests.GetObject).toBe(0);
  });

  it('at the end of an object of a version says if the object is another one by now', async () => {
    const { server, driver } = await place();
    server.put(BUCKET, 'object', someBytes(100, 1));
    const { version } = await driver.stat('object', {});
    expect(await driver.read('object', { offset: 100, length: 10, version })).toHaveLength(0);
    server.put(BUCKET, 'object', someBytes(50, 2));
    server.faults.set([{ fault: { kind: 'ignoreIfMatch' } }]);
    await expect(driver.read('object', { offset: 100, length: 10, version })).rejects.toMatchObject({
      code: 'TIERED_SOURCE_CHANGED',
    });
  });

  it('from a server that does not know ranges gives the right bytes', async () => {
    const bytes = someBytes(300_000, 1);
    const endpoint = await answering((_, response) => {
      response.writeHead(200, { etag: '"x"', 'content-length': bytes.length }).end(bytes);
    });
    const driver = await driverOn(endpoint);
    for (const [offset, length] of [
      [0, 300_000],
      [0, 1000],
      [100_000, 50_000],
      [299_999, 10],
      [300_000, 10],
      [0, 400_000],
    ] as const) {
      const got = await driver.read('object', { offset, length });
      expect(Buffer.compare(got, bytes.subarray(offset, offset + length))).toBe(0);
    }
  });

  it('from a server that sends more than it was asked for, or no ETag, fails', async () => {
    const bytes = Buffer.alloc(100);
    for (const headers of [
      { etag: '"x"', 'content-range': 'bytes 10-19/100' },
      { 'content-range': 'bytes 10-109/200' },
      { etag: '"x"' },
    ]) {
      const endpoint = await answering((_, response) => {
        response.writeHead(206, { ...headers, 'content-length': 100 }).end(bytes);
      });
      const driver = await driverOn(endpoint, { attempts: 1 });
      await expect(driver.read('object', { offset: 10, length: 100 })).rejects.toMatchObject({
        code: 'TIERED_DATA_CORRUPT',
      });
    }
  });

  it('from the beginning asks for whole objects, to have their checksums, until one turns out to be longer', async () => {
    const ranges: (string | undefined)[] = [];
    const bytes = Buffer.alloc(1000);
    const endpoint = await answering(({ headers }, response) => {
      ranges.push(headers.range);
      const [, first, last] = (/(\d+)-(\d+)/.exec(headers.range ?? '') ?? []).map(Number);
      const part = bytes.subarray(first ?? 0, (last ?? 999) + 1);
      const range =
        first === undefined ? {} : { 'content-range': `bytes ${first}-${first + part.length - 1}/1000` };
      response
        .writeHead(first === undefined ? 200 : 206, { etag: '"x"', 'content-length': part.length, ...range })
        .end(part);
    });
    const driver = await driverOn(endpoint);
    for (const length of [1000, 2000, 10, 10, 1000, 1000]) await readAll(driver, 'object', length);
    expect(ranges).toEqual([undefined, undefined, undefined, 'bytes=0-9', 'bytes=0-999', undefined]);
  });
});

describe('connections', () => {
  it('are kept, are no more than allowed, and none is open after close()', async () => {
    const { server, driver, clock } = await place({ concurrency: 3 });
    server.put(BUCKET, 'object', someBytes(100, 1));
    server.faults.set([{ fault: { kind: 'latency', medianMs: 100 } }]);
    const reads = Promise.all(Array.from({ length: 30 }, () => readAll(driver, 'object')));
    while (clock.sleeping < 3) await clock.turn();
    await clock.run(reads);
    server.faults.set([]);
    expect(server.mostInFlight).toBe(3);
    expect(server.openSockets).toBe(3);
    await driver.stat('object', {});
    expect(server.openSockets).toBe(3);
    expect(driver.openConnections).toBe(3);
    await driver.close();
    expect(driver.openConnections).toBe(0);
    await driver.open({});
    expect(await readAll(driver, 'object')).toHaveLength(100);
    expect(server.openSockets).toBeLessThan(4);
  });

  it('are none after close() also when requests were aborted, and listings left', async () => {
    const { server, driver, clock } = await place();
    for (let i = 0; i < 20; i++) server.put(BUCKET, `object-${i}`, LARGE);
    server.faults.set([{ after: 5, fault: { kind: 'latency', medianMs: 100 } }]);
    const controller = new AbortController();
    const reads = Array.from({ length: 20 }, (_, i) =>
      driver
        .read(`object-${i}`, { offset: 0, length: PART, signal: controller.signal })
        .catch(() => undefined),
    );
    while (clock.sleeping < 15) await clock.turn();
    controller.abort(new Error('no longer wanted'));
    await Promise.all(reads);
    await driver.close();
    while (server.openSockets > 0) await clock.turn();
    expect(driver.openConnections).toBe(0);
  });
});
