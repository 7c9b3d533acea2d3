import { MemoryDriver } from '@tiered/core';
import { FaultDriver, ManualClock, someBytes, type Fault } from '@tiered/core/testing';
import { EventEmitter, once } from 'node:events';
import { describe, expect, it } from 'vitest';
import {
  BUCKET,
  codeIn,
  connectionTo,
  gatewayOn,
  hierarchyOn,
  onSource,
  send,
  sourceOf,
  toldOf,
} from './helpers.js';

const MIB = 1024 * 1024;
const LEAST = 256 * 1024;
const LARGE = someBytes(32 * MIB, 1);
const TARGET = `/${BUCKET}/large`;
const HEAD = `GET ${TARGET} HTTP/1.1\r\nhost: localhost\r\n\r\n`;

describe('a client that stops reading', () => {
  it('[X2] holds back nobody else, holds few bytes, and is cut off', async () => {
    const clock = new ManualClock();
    const { onAnswer, count } = toldOf();
    const limits = { memory: '1MiB', stallMs: 1000 } as const;
    const hierarchy = await hierarchyOn(await sourceOf({ large: LARGE }));
    const gateway = await gatewayOn(hierarchy, { clock, limits, onAnswer });
    const stuck = Array.from({ length: 6 }, () => connectionTo(gateway, HEAD));
    await Promise.all(
      stuck.map(async (socket) => {
        await once(socket, 'readable');
        expect(socket.read(20)).not.toBeNull();
      }),
    );
    const { body } = await send(gateway, TARGET);
    expect(Buffer.compare(body, LARGE)).toBe(0);
    await count(1);
    expect(gateway.stats().answering).toBe(6);
    expect(gateway.stats().mostHeldBytes).toBeLessThanOrEqual(MIB + 7 * LEAST);
    await clock.advance(2 * limits.stallMs);
    const entries = await count(7);
    expect(entries.filter(({ isBroken }) => isBroken)).toHaveLength(6);
    expect(gateway.stats()).toMatchObject({ answering: 0, heldBytes: 0 });
    for (const socket of stuck) {
      let bytes = 0;
      socket.on('data', (piece: Buffer) => (bytes += piece.byteLength)).resume();
      if (!socket.closed) await once(socket, 'close');
      expect(bytes).toBeLessThan(LARGE.byteLength);
    }
  });

  it('[X2] that asks for much on one connection is answered one by one', async () => {
    const { onAnswer, count } = toldOf();
    const small = someBytes(100_000, 1);
    const hierarchy = await hierarchyOn(await sourceOf({ small }));
    const gateway = await gatewayOn(hierarchy, { limits: { memory: 1 }, onAnswer });
    const request = `GET /${BUCKET}/small HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    const socket = connectionTo(gateway, request.repeat(100));
    let bytes = 0;
    socket.on('data', (piece: Buffer) => (bytes += piece.byteLength));
    const entries = await count(100);
    expect(entries.every(({ status, isBroken }) => status === 200 && !isBroken)).toBe(true);
    expect(gateway.stats().mostHeldBytes).toBe(small.byteLength);
    socket.end();
    await once(socket, 'close');
    expect(bytes).toBeGreaterThan(100 * small.byteLength);
  });
});

/** A source in memory with the large object, whose reads do something first. */
class HookedDriver extends MemoryDriver {
  beforeRead: (signal: AbortSignal | undefined) => Promise<void> = () => Promise.resolve();

  override async read(...args: Parameters<MemoryDriver['read']>): Promise<Uint8Array> {
    await this.beforeRead(args[1].signal);
    return super.read(...args);
  }

  override async readInto(...args: Parameters<MemoryDriver['readInto']>): Promise<number> {
    await this.beforeRead(args[2].signal);
    return super.readInto(...args);
  }
}

async function hooked(): Promise<HookedDriver> {
  const source = new HookedDriver();
  await source.open({});
  await source.write('large', LARGE, { size: LARGE.byteLength });
  return source;
}

/** A source that holds reads until their signals abort. */
async function hanging() {
  const source = await hooked();
  const events = new EventEmitter();
  const [begun, aborted] = [once(events, 'begun'), once(events, 'aborted')];
  source.beforeRead = async (signal) => {
    events.emit('begun');
    if (signal?.aborted === false) await once(signal, 'abort');
    events.emit('aborted');
    throw signal?.reason as Error;
  };
  return { source, begun, aborted };
}

describe('a client that goes away', () => {
  it('[X2] ends its reads', async () => {
    const { source, begun, aborted } = await hanging();
    const { onAnswer, count } = toldOf();
    const gateway = await gatewayOn(await onSource(source), { onAnswer });
    const socket = connectionTo(gateway, HEAD);
    await begun;
    socket.destroy();
    await aborted;
    const [entry] = await count(1);
    expect(entry).toMatchObject({ isBroken: true, bytes: 0 });
    expect(gateway.stats()).toMatchObject({ answering: 0, heldBytes: 0 });
  });

  it('[X2] leaves nothing behind in the middle of a body', async () => {
    const { onAnswer, count } = toldOf();
    const gateway = await gatewayOn(await onSource(await sourceOf({ large: LARGE })), { onAnswer });
    const socket = connectionTo(gateway, HEAD);
    await once(socket, 'readable');
    socket.destroy();
    const [entry] = await count(1);
    expect(entry?.isBroken).toBe(true);
    expect(gateway.stats()).toMatchObject({ answering: 0, heldBytes: 0 });
  });
});

describe('a source that fails', () => {
  async function failing(nth: number, fault: Fault) {
    const told = toldOf();
    const rules = [{ operations: ['read', 'readInto'] as const, nth, fault }];
    const source = new FaultDriver(await sourceOf({ large: LARGE }), { rules });
    const gateway = await gatewayOn(await onSource(source), told);
    return { gateway, answer: await send(gateway, TARGET), count: told.count };
  }

  it('[X1] in the middle of a body breaks the connection, so that it does not look whole', async () => {
    const { answer, count, gateway } = await failing(3, { kind: 'fail', retryable: false });
    expect([answer.status, answer.headers['content-length']]).toEqual([200, String(LARGE.byteLength)]);
    expect(answer.brokenOffBy).toBe('ECONNRESET');
    const got = answer.body;
    expect(got.byteLength).toBeLessThan(LARGE.byteLength);
    expect(Buffer.compare(got, LARGE.subarray(0, got.byteLength))).toBe(0);
    const [entry] = await count(1);
    expect(entry).toMatchObject({ status: 200, isBroken: true, error: 'InternalError' });
    expect(gateway.stats()).toMatchObject({ answering: 0, heldBytes: 0 });
  });

  it.each([
    [{ kind: 'fail', code: 'TIERED_UNAVAILABLE', retryable: true }, 503, 'SlowDown'],
    [{ kind: 'fail', code: 'TIERED_IO', retryable: false }, 500, 'InternalError'],
    [{ kind: 'fail', code: 'TIERED_PERMISSION' }, 403, 'AccessDenied'],
    [{ kind: 'fail', code: 'TIERED_NOT_FOUND' }, 404, 'NoSuchKey'],
  ] as const)('before the first byte is an error: %o is %i %s', async (fault, status, code) => {
    const { answer, count } = await failing(1, fault);
    expect([answer.status, codeIn(answer), answer.brokenOffBy]).toEqual([status, code, undefined]);
    const [entry] = await count(1);
    expect(entry).toMatchObject({ status, error: code, isBroken: false });
  });
});

describe('an object that changes', () => {
  it('[X1] in the middle of a body breaks the connection: versions are never mixed', async () => {
    const source = await hooked();
    const other = someBytes(LARGE.byteLength, 2);
    let reads = 0;
    source.beforeRead = async () => {
      if (++reads === 3) await source.write('large', other, { size: other.byteLength });
    };
    const gateway = await gatewayOn(await onSource(source));
    const { body, brokenOffBy } = await send(gateway, TARGET);
    expect(brokenOffBy).toBe('ECONNRESET');
    expect(Buffer.compare(body, LARGE.subarray(0, body.byteLength))).toBe(0);
    const again = await send(gateway, TARGET);
    expect(Buffer.compare(again.body, other)).toBe(0);
  });
});

describe('close', () => {
  it('[X2] lets answers end, and cuts off those that take too long', async () => {
    const clock = new ManualClock();
    const { source, begun } = await hanging();
    const { onAnswer, count } = toldOf();
    const gateway = await gatewayOn(await onSource(source), { clock, limits: { closeMs: 500 }, onAnswer });
    const socket = connectionTo(gateway, HEAD);
    await begun;
    const closed = gateway.close();
    await clock.advance(499);
    expect(gateway.stats().answering).toBe(1);
    await clock.advance(1);
    await closed;
    await count(1);
    expect(gateway.stats()).toEqual({
      connections: 0,
      answering: 0,
      heldBytes: 0,
      mostHeldBytes: expect.any(Number) as number,
    });
    if (!socket.closed) await once(socket.resume(), 'close');
  });

  it('[X2] closes connections that wait at once, and says so to those that are answered', async () => {
    const hierarchy = await hierarchyOn(await sourceOf({ large: LARGE }));
    const gateway = await gatewayOn(hierarchy);
    const idle = connectionTo(gateway, `HEAD ${TARGET} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    await once(idle, 'data');
    const answer = send(gateway, TARGET);
    await gateway.close();
    await answer.catch(() => undefined);
    if (!idle.closed) await once(idle.resume(), 'close');
    expect(gateway.stats().connections).toBe(0);
  });
});
