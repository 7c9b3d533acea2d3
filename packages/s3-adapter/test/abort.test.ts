import type { ServerResponse } from 'node:http';
import { systemClock } from '@tiered/core';
import { listenersOn, someBytes } from '@tiered/core/testing';
import type { S3Driver } from '@tiered/s3-adapter';
import { describe, expect, it } from 'vitest';
import { answering, BUCKET, driverOn, place } from './helpers.js';

type Call = (driver: S3Driver, signal: AbortSignal) => Promise<unknown>;

const READS: Readonly<Record<string, Call>> = {
  stat: (driver, signal) => driver.stat('object', { signal }),
  read: (driver, signal) => driver.read('object', { offset: 0, length: 100, signal }),
  readInto: (driver, signal) => driver.readInto('object', new Uint8Array(10), { offset: 5, signal }),
  list: async (driver, signal) => {
    for await (const page of driver.list({ signal })) expect(page).toHaveLength(1);
  },
  usage: (driver, signal) => driver.usage({ signal }),
};

const CHANGES: Readonly<Record<string, Call>> = {
  write: (driver, signal) => driver.write('new', someBytes(10, 1), { size: 10, signal }),
  delete: (driver, signal) => driver.delete('object', { signal }),
};

const reason = new Error('no longer wanted');

describe.each(Object.entries(READS))('an abort of %s', (_, call) => {
  it('while the server is at it rejects with the reason, ends the request and leaves no listener', async () => {
    const { server, driver, clock } = await place();
    server.put(BUCKET, 'object', someBytes(100, 1));
    server.faults.set([{ fault: { kind: 'latency', medianMs: 1000 } }]);
    const { signal, abort } = aborting(reason);
    const ended = expect(call(driver, signal)).rejects.toBe(reason);
    while (clock.sleeping === 0) await clock.turn();
    abort();
    await ended;
    while (clock.sleeping > 0) await clock.turn();
    expect(listenersOn(signal)).toBe(0);
    expect(server.keys(BUCKET)).toEqual(['object']);
  });
});

describe.each(Object.entries(CHANGES))('[O6] an abort of %s', (name, call) => {
  it('that is sent waits for the answer, which says that it has happened', async () => {
    const { server, driver, clock } = await place();
    server.put(BUCKET, 'object', someBytes(100, 1));
    server.faults.set([{ fault: { kind: 'latency', medianMs: 1000 } }]);
    const { signal, abort } = aborting(reason);
    const calling = call(driver, signal);
    while (clock.sleeping === 0) await clock.turn();
    abort();
    await clock.run(calling);
    expect(server.keys(BUCKET)).toEqual(name === 'delete' ? [] : ['new', 'object']);
    expect(listenersOn(signal)).toBe(0);
  });

  it('that is sent rejects with the reason if it has not happened, and is not repeated', async () => {
    const answers: ServerResponse[] = [];
    const endpoint = await answering((request, response) => {
      request.resume().on('end', () => answers.push(response));
    });
    const driver = await driverOn(endpoint, { writable: true });
    const { signal, abort } = aborting(reason);
    const ended = expect(call(driver, signal)).rejects.toBe(reason);
    while (answers.length === 0) await systemClock.turn();
    abort();
    answers[0]?.writeHead(503).end();
    await ended;
    expect(answers).toHaveLength(1);
  });
});

describe.each(Object.entries({ ...READS, ...CHANGES }))('an abort of %s', (_, call) => {
  it('while its credentials are fetched rejects with the reason, and sends nothing', async () => {
    let asked = false;
    const credentials = () => {
      asked = true;
      return new Promise<never>(() => undefined);
    };
    const { server, driver, clock } = await place({ credentials });
    const { signal, abort } = aborting(reason);
    const ended = expect(call(driver, signal)).rejects.toBe(reason);
    while (!asked) await clock.turn();
    abort();
    await ended;
    expect(clock.sleeping).toBe(0);
    expect(listenersOn(signal)).toBe(0);
    expect(Object.values(server.requests).every((count) => count === 0)).toBe(true);
  });

  it('that comes after it is over changes nothing', async () => {
    const { server, driver } = await place();
    server.put(BUCKET, 'object', someBytes(100, 1));
    const { signal, abort } = aborting(reason);
    await call(driver, signal);
    expect(listenersOn(signal)).toBe(0);
    const before = server.openSockets;
    abort();
    await driver.stat('object', {}).catch(() => undefined);
    expect(server.openSockets).toBeGreaterThanOrEqual(before);
  });
});

function aborting(reason: Error): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(reason) };
}
