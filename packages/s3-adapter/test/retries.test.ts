import { describe, expect, it } from 'vitest';
import { BUCKET, answering, driverOn, place, readAll } from './helpers.js';
import { ManualClock, outcomeOf, someBytes } from '@tiered/core/testing';

const slowDown = { kind: 'status', status: 503, code: 'SlowDown' } as const;

describe('retries', () => {
  it('[O4] are made for what passes, and counted', async () => {
    const passing = [
      [429, 'TooManyRequests'],
      [500, 'InternalError'],
      [502, 'BadGateway'],
      [503, 'SlowDown'],
      [504, 'GatewayTimeout'],
      [400, 'RequestTimeout'],
    ] as const;
    for (const [status, code] of passing) {
      const { server, driver, clock } = await place({ attempts: 4 });
      server.put(BUCKET, 'object', someBytes(100, 1));
      server.faults.set([{ times: 3, fault: { kind: 'status', status, code } }]);
      expect(await clock.run(readAll(driver, 'object'))).toHaveLength(100);
      server.faults.set([{ fault: { kind: 'status', status, code } }]);
      await expect(clock.run(readAll(driver, 'object'))).rejects.toMatchObject({
        code: 'TIERED_IO',
        retryable: false,
        attempts: 4,
        cause: { name: 'S3ResponseError', bucket: BUCKET, key: 'object', status, code, attempts: 4 },
      });
      expect(server.requests.GetObject).toBe(8);
    }
  });

  it('are made for every operation', async () => {
    const { server, driver, clock } = await place();
    const bytes = someBytes(100, 1);
    const thrice = () => server.faults.set([{ times: 3, fault: slowDown }]);
    thrice();
    await clock.run(driver.write('object', bytes, { size: 100 }));
    thrice();
    expect(await clock.run(driver.stat('object', {}))).toMatchObject({ size: 100 });
    thrice();
    expect(await clock.run(driver.usage({}))).toEqual({ bytes: 100, objects: 1 });
    thrice();
    await clock.run(driver.delete('object', {}));
    expect(server.keys(BUCKET)).toEqual([]);
  });

  it('[O4] are never made for other answers', async () => {
    for (const [status, code, tiered] of [
      [401, 'Unauthorized', 'TIERED_PERMISSION'],
      [403, 'AccessDenied', 'TIERED_PERMISSION'],
      [404, 'NoSuchKey', 'TIERED_NOT_FOUND'],
      [404, 'NoSuchBucket', 'TIERED_UNAVAILABLE'],
      [409, 'OperationAborted', 'TIERED_IO'],
      [501, 'NotImplemented', 'TIERED_IO'],
    ] as const) {
      const { server, driver } = await place();
      server.put(BUCKET, 'object', someBytes(100, 1));
      server.faults.set([{ fault: { kind: 'status', status, code } }]);
      await expect(readAll(driver, 'object')).rejects.toMatchObject({ code: tiered, attempts: 1 });
      expect(server.requests.GetObject).toBe(1);
    }
  });

  it('[O4] keep to Retry-After, in seconds and as a date', async () => {
    const { server, driver, clock } = await place();
    server.put(BUCKET, 'object', someBytes(100, 1));
    server.faults.set([{ times: 1, fault: { ...slowDown, retryAfter: 30 } }]);
    await clock.run(readAll(driver, 'object'));
    expect(clock.now()).toBe(30_000);
    const endpoint = await answering((_, response) => {
      const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
      response.writeHead(503, { date, 'retry-after': 'Wed, 21 Oct 2026 07:28:20 GMT' }).end();
    });
    const dated = new ManualClock();
    const stuck = await driverOn(endpoint, { clock: dated, attempts: 2 });
    await expect(dated.run(readAll(stuck, 'object'))).rejects.toMatchObject({ code: 'TIERED_IO' });
    expect(dated.now()).toBe(20_000);
  });

  it('[O4] end with the deadline, which is not slept through if Retry-After is beyond it', async () => {
    const { server, driver, clock } = await place({ deadlineMs: 10_000, attempts: 1000 });
    server.put(BUCKET, 'object', someBytes(100, 1));
    server.faults.set([{ fault: { ...slowDown, retryAfter: 30 } }]);
    await expect(clock.run(readAll(driver, 'object'))).rejects.toMatchObject({
      code: 'TIERED_DEADLINE',
      attempts: 1,
      cause: { status: 503 },
    });
    expect(clock.now()).toBe(0);
    server.faults.set([{ fault: slowDown }]);
    await expect(clock.run(readAll(driver, 'object'))).rejects.toMatchObject({ code: 'TIERED_DEADLINE' });
    expect(clock.now()).toBeGreaterThan(2_000);
    expect(clock.now()).toBeLessThan(10_000);
  });

  it('are counted anew with every byte that comes: a read that gets on does not end', async () => {
    const { server, driver, clock } = await place({ attempts: 2, deadlineMs: 300 });
    const bytes = someBytes(100_000, 1);
    server.put(BUCKET, 'object', bytes);
    server.faults.set([{ times: 40, fault: { kind: 'truncate', bytes: 2000 } }]);
    const got = await clock.run(driver.read('object', { offset: 0, length: 100_000 }));
    expect(Buffer.compare(got, bytes)).toBe(0);
    expect(server.requests.GetObject).toBe(41);
    expect(clock.now()).toBeGreaterThan(300);
  });

  it('do not look like a storm: the same seed gives the same pauses, another others', async () => {
    const pauses = await Promise.all(
      [1, 1, 2].map(async (seed) => {
        const { server, driver, clock } = await place({ seed });
        server.faults.set([{ times: 4, fault: slowDown }]);
        await clock.run(driver.usage({}));
        return clock.now();
      }),
    );
    expect(pauses[0]).toBe(pauses[1]);
    expect(pauses[0]).not.toBe(pauses[2]);
  });

  it('are left as soon as the signal aborts', async () => {
    const { server, driver, clock } = await place();
    const reason = new Error('no longer wanted');
    const controller = new AbortController();
    server.put(BUCKET, 'object', someBytes(100, 1));
    server.faults.set([{ fault: slowDown }]);
    const outcome = outcomeOf(driver.read('object', { offset: 0, length: 10, signal: controller.signal }));
    while (clock.sleeping === 0) await clock.turn();
    controller.abort(reason);
    await clock.turn();
    expect(outcome.error).toBe(reason);
    expect(clock.sleeping).toBe(0);
  });
});

describe('the number of requests at the same time', () => {
  it('[O4] is halved once for a burst of SlowDown, and grows back with successes', async () => {
    const { server, driver, clock } = await place({ concurrency: 16 });
    server.put(BUCKET, 'object', someBytes(1000, 1));
    const readMany = (count: number) =>
      Promise.all(Array.from({ length: count }, () => readAll(driver, 'object')));
    const latency = { fault: { kind: 'latency', medianMs: 100 } } as const;
    server.faults.set([latency]);
    const full = readMany(64);
    while (clock.sleeping < 16) await clock.turn();
    expect(driver.concurrency).toBe(16);
    await clock.run(full);
    server.faults.set([
      { times: 16, fault: slowDown },
      { ...latency, times: 16 },
    ]);
    const refused = readMany(16);
    while (clock.sleeping < 16) await clock.turn();
    // All 16 are refused at once: that is one burst. Their second tries begin the way back.
    await clock.run(refused);
    expect(driver.concurrency).toBe(9);
    await readMany(1 + 10);
    expect(driver.concurrency).toBe(11);
    await readMany(200);
    expect(driver.concurrency).toBe(16);
  });

  it('never falls below one', async () => {
    const { server, driver, clock } = await place({ concurrency: 4, attempts: 20 });
    server.put(BUCKET, 'object', someBytes(1000, 1));
    server.faults.set([{ times: 12, fault: slowDown }]);
    await clock.run(readAll(driver, 'object'));
    expect(driver.concurrency).toBe(2);
  });

  it('is not used up by pauses: others are served meanwhile', async () => {
    const { server, driver, clock } = await place({ concurrency: 1 });
    server.put(BUCKET, 'object', someBytes(1000, 1));
    server.faults.set([{ times: 1, fault: { ...slowDown, retryAfter: 30 } }]);
    const first = outcomeOf(readAll(driver, 'object'));
    while (clock.sleeping === 0) await clock.turn();
    expect(await readAll(driver, 'object')).toHaveLength(1000);
    expect(first).toEqual({});
    await clock.advance(30_000);
    while (first.value === undefined) await clock.turn();
  });

  it('is waited for no longer than the signal says', async () => {
    const { server, driver, clock } = await place({ concurrency: 1 });
    server.put(BUCKET, 'object', someBytes(1000, 1));
    server.faults.set([{ times: 1, fault: { kind: 'latency', medianMs: 1000 } }]);
    const first = outcomeOf(readAll(driver, 'object'));
    while (clock.sleeping === 0) await clock.turn();
    const reason = new Error('no longer wanted');
    const controller = new AbortController();
    const waiting = driver.read('object', { offset: 0, length: 10, signal: controller.signal });
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await clock.advance(1000);
    while (first.value === undefined) await clock.turn();
    expect(server.requests.GetObject).toBe(1);
  });
});
