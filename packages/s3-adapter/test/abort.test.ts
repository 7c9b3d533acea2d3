import { listenersOn, someBytes } from '@tiered/core/testing';
import type { S3Driver } from '@tiered/s3-adapter';
import { describe, expect, it } from 'vitest';
import { BUCKET, place } from './helpers.js';

type Call = (driver: S3Driver, signal: AbortSignal) => Promise<unknown>;

const CALLS: Readonly<Record<string, Call>> = {
  stat: (driver, signal) => driver.stat('object', { signal }),
  read: (driver, signal) => driver.read('object', { offset: 0, length: 100, signal }),
  readInto: (driver, signal) => driver.readInto('object', new Uint8Array(10), { offset: 5, signal }),
  list: async (driver, signal) => {
    for await (const page of driver.list({ signal })) expect(page).toHaveLength(1);
  },
  usage: (driver, signal) => driver.usage({ signal }),
  write: (driver, signal) => driver.write('new', someBytes(10, 1), { size: 10, signal }),
  delete: (driver, signal) => driver.delete('object', { signal }),
};

describe.each(Object.entries(CALLS))('an abort of %s', (_, call) => {
  const reason = new Error('no longer wanted');

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

  it('while its credentials are fetched rejects with the reason, and sends nothing', async () => {
    let fetched: (() => void) | undefined;
    const credentials = () =>
      new Promise<{ accessKeyId: string; secretAccessKey: string }>((resolve) => {
        fetched = () =>
          resolve({ accessKeyId: 'TIEREDTESTINGKEY', secretAccessKey: 'tiered/testing/secret' });
      });
    const { server, driver, clock } = await place({ credentials });
    const { signal, abort } = aborting(reason);
    const ended = expect(call(driver, signal)).rejects.toBe(reason);
    while (fetched === undefined) await clock.turn();
    abort();
    fetched();
    await ended;
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
