import type { ServerResponse } from 'node:http';
import { systemClock } from '@tiered/core';
import { listenersOn, someBytes, type ManualClock } from '@tiered/core/testing';
import type { S3Driver } from '@tiered/s3-adapter';
import { describe, expect, it } from 'vitest';
import { answering, BUCKET, driverOn, keysOf, place } from './helpers.js';

const PART = 5 * 2 ** 20;
const LARGE = someBytes(3 * PART + 1234, 2);

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  const buffer = new Uint8Array(size);
  for (let from = 0; from < bytes.byteLength; from += size) {
    const piece = bytes.subarray(from, from + size);
    buffer.set(piece);
    yield buffer.subarray(0, piece.byteLength);
  }
}

const reason = new Error('no longer wanted');

/** A first part, and then nothing for ever. */
async function* standingStill(): AsyncGenerator<Uint8Array, void, undefined> {
  yield LARGE.subarray(0, PART);
  await new Promise<never>(() => undefined);
}

/** The write of a large object that has got to the first request that waits. */
async function begun(driver: S3Driver, clock: ManualClock) {
  const controller = new AbortController();
  const writing = driver.write('large', LARGE, { size: LARGE.length, signal: controller.signal });
  while (clock.sleeping === 0) await clock.turn();
  return { writing, abort: () => controller.abort(reason) };
}

describe('a large object', () => {
  it('is uploaded in parts, several at a time, from pieces of any size', async () => {
    const { server, driver, clock } = await place({ chunk: PART });
    server.faults.set([{ operation: 'UploadPart', fault: { kind: 'latency', medianMs: 100 } }]);
    const writing = driver.write('large', LARGE, { size: LARGE.length });
    while (clock.sleeping < 4) await clock.turn();
    await clock.run(writing);
    for (const data of [() => LARGE, () => inPieces(LARGE, 777_777), () => inPieces(LARGE, 2 * PART)]) {
      await clock.run(driver.write('large', data(), { size: LARGE.length }));
      expect(Buffer.compare(server.get(BUCKET, 'large') ?? Buffer.alloc(0), LARGE)).toBe(0);
      server.delete(BUCKET, 'large');
    }
    expect(server.requests).toMatchObject({ PutObject: 0, UploadPart: 16, CompleteMultipartUpload: 4 });
    expect(server.mostInFlight).toBe(4);
    expect(server.openUploads).toBe(0);
  });

  it('is one request up to the size of two parts', async () => {
    const { server, driver } = await place({ chunk: PART });
    await driver.write('object', LARGE.subarray(0, 2 * PART), { size: 2 * PART });
    expect(server.requests).toMatchObject({ PutObject: 1, CreateMultipartUpload: 0 });
  });

  it('comes through faults of every request of its upload', async () => {
    const { server, driver, clock } = await place({ chunk: PART });
    const status = { kind: 'status', status: 503, code: 'SlowDown' } as const;
    server.faults.set([
      { operation: 'CreateMultipartUpload', times: 2, fault: status },
      { operation: 'UploadPart', times: 3, fault: status },
      { operation: 'UploadPart', times: 2, after: 1, fault: { kind: 'reset', afterBytes: 0 } },
      { operation: 'CompleteMultipartUpload', times: 2, fault: { kind: 'errorIn200' } },
    ]);
    await clock.run(driver.write('large', LARGE, { size: LARGE.length }));
    expect(Buffer.compare(server.get(BUCKET, 'large') ?? Buffer.alloc(0), LARGE)).toBe(0);
    expect(server.openUploads).toBe(0);
  });

  it('[O6] whose upload fails leaves nothing: no object, no parts', async () => {
    for (const operation of ['CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'] as const) {
      for (const fault of [
        { kind: 'status', status: 403, code: 'AccessDenied' },
        { kind: 'status', status: 500, code: 'InternalError' },
      ] as const) {
        const { server, driver, clock } = await place({ chunk: PART, attempts: 2 });
        server.faults.set([{ operation, after: operation === 'UploadPart' ? 2 : 0, fault }]);
        await expect(clock.run(driver.write('large', LARGE, { size: LARGE.length }))).rejects.toMatchObject({
          code: fault.status === 403 ? 'TIERED_PERMISSION' : 'TIERED_IO',
          operation: 'write',
          key: 'large',
        });
        expect(server.openUploads).toBe(0);
        expect(server.keys(BUCKET)).toEqual([]);
      }
    }
  });

  it('whose upload answers 200 with an error in it is not taken for written', async () => {
    const { server, driver, clock } = await place({ chunk: PART, attempts: 3 });
    server.faults.set([{ fault: { kind: 'errorIn200' } }]);
    await expect(clock.run(driver.write('large', LARGE, { size: LARGE.length }))).rejects.toMatchObject({
      code: 'TIERED_IO',
      attempts: 3,
    });
    expect(server.openUploads).toBe(0);
  });

  it('[O6] that is aborted before it is published leaves nothing', async () => {
    const { server, driver, clock } = await place({ chunk: PART });
    for (const operation of ['CreateMultipartUpload', 'UploadPart'] as const) {
      server.faults.set([{ operation, fault: { kind: 'latency', medianMs: 1000 } }]);
      const { writing, abort } = await begun(driver, clock);
      const ended = expect(writing).rejects.toBe(reason);
      abort();
      // The upload has an id only once it has begun: then it is taken back.
      if (operation === 'CreateMultipartUpload') await clock.advance(1000);
      while (clock.sleeping > 0) await clock.turn();
      await ended;
      expect(server.openUploads).toBe(0);
    }
    expect(server.keys(BUCKET)).toEqual([]);
  });

  it('[O6] that is aborted while it is published waits for that, and succeeds', async () => {
    const { server, driver, clock } = await place({ chunk: PART });
    const operation = 'CompleteMultipartUpload';
    server.faults.set([{ operation, fault: { kind: 'latency', medianMs: 1000 } }]);
    const { writing, abort } = await begun(driver, clock);
    abort();
    await clock.run(writing);
    expect(server.keys(BUCKET)).toEqual(['large']);
    expect(server.openUploads).toBe(0);
  });

  it('[O6] that comes in too few or too many bytes leaves nothing', async () => {
    const { server, driver } = await place({ chunk: PART });
    for (const size of [LARGE.length - 1, LARGE.length + 1]) {
      await expect(driver.write('large', inPieces(LARGE, 1_000_000), { size })).rejects.toMatchObject({
        code: 'TIERED_SIZE_MISMATCH',
      });
      expect(server.openUploads).toBe(0);
    }
    expect(server.keys(BUCKET)).toEqual([]);
  });

  it('[O6] that is aborted, or whose part is refused, does not wait for pieces that do not come', async () => {
    for (const isRefused of [false, true]) {
      const { server, driver, clock } = await place({ chunk: PART });
      const denied = { kind: 'status', status: 403, code: 'AccessDenied' } as const;
      if (isRefused) server.faults.set([{ operation: 'UploadPart', fault: denied }]);
      const controller = new AbortController();
      const { signal } = controller;
      const writing = driver.write('large', standingStill(), { size: LARGE.length, signal });
      const ended = expect(writing).rejects.toMatchObject(isRefused ? { code: 'TIERED_PERMISSION' } : reason);
      while (server.requests.UploadPart === 0) await clock.turn();
      if (!isRefused) controller.abort(reason);
      await ended;
      expect(server.openUploads).toBe(0);
      expect(listenersOn(signal)).toBe(0);
    }
  });
});

describe('deletes', () => {
  const fill = async (count: number) => {
    const there = await place();
    const keys = Array.from({ length: count }, (_, i) => `object-${i}`);
    for (const key of keys) there.server.put(BUCKET, key, new Uint8Array(1));
    return { ...there, keys };
  };

  it('of one turn of the event loop go together, up to 1000 in a request', async () => {
    const { server, driver, keys } = await fill(1500);
    await Promise.all(keys.map((key) => driver.delete(key, {})));
    expect(server.keys(BUCKET)).toEqual([]);
    expect(server.requests).toMatchObject({ DeleteObjects: 2, DeleteObject: 0 });
    await driver.delete('missing', {});
    expect(server.requests).toMatchObject({ DeleteObjects: 2, DeleteObject: 1 });
  });

  it('are made one by one where the server does not know better, or XML cannot hold the key', async () => {
    const { server, driver, keys } = await fill(10);
    server.faults.set([
      { operation: 'DeleteObjects', fault: { kind: 'status', status: 501, code: 'NotImplemented' } },
    ]);
    await Promise.all(keys.map((key) => driver.delete(key, {})));
    await Promise.all(keys.map((key) => driver.delete(key, {})));
    expect(server.requests).toMatchObject({ DeleteObjects: 1, DeleteObject: 20 });
    const { server: other, driver: another } = await fill(0);
    await another.write('bell\u0007', new Uint8Array(1), { size: 1 });
    await Promise.all(['bell\u0007', 'other'].map((key) => another.delete(key, {})));
    expect(await keysOf(another)).toEqual([]);
    expect(other.requests.DeleteObject).toBe(2);
  });

  it('of many keys may take the server longer than a connection may be silent', async () => {
    const batch: ServerResponse[] = [];
    const endpoint = await answering(({ method }, response) => {
      if (method === 'POST') batch.push(response);
    });
    const driver = await driverOn(endpoint, { timeoutMs: 100, attempts: 1, writable: true });
    const deleting = Promise.all(Array.from({ length: 100 }, (_, i) => driver.delete(`object-${i}`, {})));
    // Begun later, and given up for its silence.
    while (batch.length === 0) await systemClock.turn();
    await expect(driver.stat('silent', {})).rejects.toMatchObject({ code: 'TIERED_IO' });
    batch[0]?.end('<DeleteResult/>');
    await deleting;
    expect(batch).toHaveLength(1);
  });

  it('that are refused say so, each for its own key', async () => {
    const { server, driver, clock, keys } = await fill(3);
    const denied = { kind: 'status', status: 403, code: 'AccessDenied' } as const;
    server.faults.set([
      { operation: 'DeleteObjects', fault: denied },
      { operation: 'DeleteObject', key: 'object-1', fault: denied },
    ]);
    const outcomes = await clock.run(Promise.allSettled(keys.map((key) => driver.delete(key, {}))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'TIERED_PERMISSION', key: 'object-1' } });
  });

  it('that are aborted before they are sent are not sent', async () => {
    const { server, driver, keys } = await fill(3);
    const controller = new AbortController();
    const { signal } = controller;
    const deleting = keys.map((key) => driver.delete(key, { signal }));
    controller.abort(reason);
    for (const outcome of await Promise.allSettled(deleting))
      expect(outcome).toEqual({ status: 'rejected', reason });
    // They would have been in this turn.
    await systemClock.turn();
    await driver.stat('object-0', {});
    expect(server.keys(BUCKET)).toEqual(keys);
    expect(server.requests).toMatchObject({ DeleteObjects: 0, DeleteObject: 0 });
    expect(listenersOn(signal)).toBe(0);
  });

  it('that are aborted before others come leave those to be made', async () => {
    const { server, driver, keys } = await fill(3);
    const controller = new AbortController();
    const [first = '', ...others] = keys;
    const aborted = driver.delete(first, { signal: controller.signal });
    controller.abort(reason);
    const deleting = others.map((key) => driver.delete(key, {}));
    await expect(aborted).rejects.toBe(reason);
    await Promise.all(deleting);
    expect(server.keys(BUCKET)).toEqual([first]);
    expect(server.requests).toMatchObject({ DeleteObjects: 1, DeleteObject: 0 });
  });

  it('that are aborted while others are not leave the others to be made, also between two tries', async () => {
    for (const tries of [0, 1]) {
      const { server, driver, clock, keys } = await fill(3);
      const busy = { kind: 'status', status: 503, code: 'SlowDown' } as const;
      server.faults.set([{ operation: 'DeleteObjects', times: tries, fault: busy }]);
      const controller = new AbortController();
      const { signal } = controller;
      const deleting = keys.map((key, i) => driver.delete(key, i === 1 ? { signal } : {}));
      while (tries === 1 && clock.sleeping === 0) await clock.turn();
      controller.abort(reason);
      await expect(deleting[1]).rejects.toBe(reason);
      server.put(BUCKET, 'object-1', new Uint8Array(2));
      await clock.run(Promise.allSettled(deleting));
      expect(server.keys(BUCKET)).toEqual(['object-1']);
    }
  });

  it('that are aborted once they are sent wait until nothing can be deleted any more', async () => {
    const { server, driver, clock, keys } = await fill(3);
    server.faults.set([{ operation: 'DeleteObjects', fault: { kind: 'latency', medianMs: 1000 } }]);
    const controller = new AbortController();
    const { signal } = controller;
    const deleting = Promise.all(keys.map((key) => driver.delete(key, { signal })));
    while (clock.sleeping === 0) await clock.turn();
    controller.abort(reason);
    await clock.run(deleting);
    expect(server.keys(BUCKET)).toEqual([]);
    expect(server.requests).toMatchObject({ DeleteObjects: 1, DeleteObject: 0 });
    expect(listenersOn(signal)).toBe(0);
  });
});
