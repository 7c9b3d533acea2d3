import { FaultDriver, HoldingDriver, ManualClock, settled, someBytes } from '@tiered/core/testing';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { batchOf, batchText, entriesOf } from './batch-helpers.js';
import { codeIn, connectionTo, gatewayOn, onSource, sourceOf, toldOf } from './helpers.js';

const KIB = 1024;
const MIB = 1024 * KIB;
/** Items, and bytes of them, that are on their way at the same time. */
const AHEAD = { items: 64, bytes: 16 * MIB };

function sameOf(bytes: Uint8Array, count: number) {
  const names = Array.from({ length: count }, (_, i) => `o${i}`);
  const objects = Object.fromEntries(names.map((name) => [name, bytes]));
  return { objects, items: names.map((objname) => ({ objname })) };
}

/** A source whose reads wait for the test. */
async function holding(bytes: Uint8Array, count: number) {
  const { objects, items } = sameOf(bytes, count);
  const source = new HoldingDriver(await sourceOf(objects), { operations: ['read', 'readInto'] });
  return { source, items };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await settled();
}

/** Lets all reads go until something has happened. */
async function releasedUntil(source: HoldingDriver, happened: Promise<unknown>): Promise<void> {
  let hasHappened = false;
  void happened.then(() => (hasHappened = true));
  while (!hasHappened) await source.releaseAll();
}

describe('a slow source', () => {
  it.each([
    ['small objects', 10 * KIB, AHEAD.items],
    ['objects of 1 MiB', MIB, AHEAD.bytes / MIB],
    ['large objects', 2 * MIB, 1],
  ])('[X2] is asked for many %s of a batch, and no more', async (_, size, most) => {
    const bytes = someBytes(size, 1);
    const { source, items } = await holding(bytes, most + 10);
    const gateway = await gatewayOn(await onSource(source));
    const answer = batchOf(gateway, items);
    await until(() => source.held.length === most);
    await settled();
    expect(source.held).toHaveLength(most);
    expect(gateway.stats().heldBytes).toBe(most * size);
    // The last one comes first: the order of the answer does not follow.
    while (source.held.length > 1) await source.release({ index: source.held.length - 1 });
    await releasedUntil(source, answer);
    const entries = await entriesOf((await answer).body);
    expect(entries).toHaveLength(items.length);
    expect(entries.every((entry) => entry.bytes.equals(bytes))).toBe(true);
    expect(gateway.stats().mostHeldBytes).toBeLessThanOrEqual(AHEAD.bytes + 16 * MIB);
    expect(gateway.stats().heldBytes).toBe(0);
  });
});

describe('the client of a batch', () => {
  it('[X2] that stops reading holds back nobody else, holds few bytes, and is cut off', async () => {
    const clock = new ManualClock();
    const { onAnswer, count } = toldOf();
    const limits = { memory: '1MiB', stallMs: 1000 } as const;
    const { objects, items } = sameOf(someBytes(200 * KIB, 1), 500);
    const gateway = await gatewayOn(await onSource(await sourceOf(objects)), { clock, limits, onAnswer });
    const stuck = Array.from({ length: 6 }, () => connectionTo(gateway, batchText(items)));
    await Promise.all(
      stuck.map(async (socket) => {
        await once(socket, 'readable');
        expect(socket.read(20)).not.toBeNull();
      }),
    );
    const { body } = await batchOf(gateway, items);
    expect(await entriesOf(body)).toHaveLength(items.length);
    await count(1);
    expect(gateway.stats().answering).toBe(6);
    expect(gateway.stats().mostHeldBytes).toBeLessThanOrEqual(MIB + 7 * 256 * KIB);
    await clock.advance(2 * limits.stallMs);
    const entries = await count(7);
    expect(entries.filter(({ isBroken }) => isBroken)).toHaveLength(6);
    expect(gateway.stats()).toMatchObject({ answering: 0, heldBytes: 0 });
  });

  it('[X2] that goes away ends its reads', async () => {
    const { source, items } = await holding(someBytes(10 * KIB, 1), 200);
    const { onAnswer, count } = toldOf();
    const gateway = await gatewayOn(await onSource(source), { onAnswer });
    const socket = connectionTo(gateway, batchText(items));
    await until(() => source.held.length === AHEAD.items);
    socket.destroy();
    await once(socket, 'close');
    const told = count(1);
    await releasedUntil(source, told);
    const [entry] = await told;
    expect(entry).toMatchObject({ isBroken: true, bytes: 0 });
    expect(gateway.stats()).toMatchObject({ answering: 0, heldBytes: 0 });
  });

  it('[X2] that goes away in the middle leaves nothing behind', async () => {
    const { onAnswer, count } = toldOf();
    const { objects, items } = sameOf(someBytes(200 * KIB, 1), 500);
    const gateway = await gatewayOn(await onSource(await sourceOf(objects)), { onAnswer });
    const socket = connectionTo(gateway, batchText(items));
    await once(socket, 'readable');
    socket.destroy();
    const [entry] = await count(1);
    expect(entry?.isBroken).toBe(true);
    expect(gateway.stats()).toMatchObject({ answering: 0, heldBytes: 0 });
  });

  it('[X2] that goes away before its request is whole is no answer', async () => {
    const { onAnswer, count } = toldOf();
    const { objects, items } = sameOf(someBytes(1, 1), 5);
    const gateway = await gatewayOn(await onSource(await sourceOf(objects)), { onAnswer });
    const socket = connectionTo(gateway, batchText(items).slice(0, -5));
    await until(() => gateway.stats().answering === 1);
    socket.destroy();
    const [entry] = await count(1);
    expect(entry?.isBroken).toBe(true);
    expect(gateway.stats()).toMatchObject({ answering: 0, heldBytes: 0 });
  });
});

describe('small items', () => {
  it('[X1] that are there are sent, and wait for none that is not', async () => {
    const { source, items } = await holding(someBytes(10 * KIB, 1), 3);
    const gateway = await gatewayOn(await onSource(source));
    const socket = connectionTo(gateway, batchText(items));
    let got = 0;
    socket.on('data', ({ byteLength }: Buffer) => (got += byteLength));
    await until(() => source.held.length === items.length);
    await source.release({ index: 0 });
    await source.release({ index: 0 });
    await until(() => got > 2 * 10 * KIB);
    expect(source.held).toHaveLength(1);
    await source.releaseAll();
    await until(() => got > 3 * 10 * KIB);
  });
});

describe('the source of a batch', () => {
  async function failing(nth: number, code: 'TIERED_UNAVAILABLE' | 'TIERED_NOT_FOUND') {
    const fault = { kind: 'fail', code, retryable: code === 'TIERED_UNAVAILABLE' } as const;
    const rules = [{ operations: ['read', 'readInto'] as const, nth, fault }];
    const { objects, items } = sameOf(someBytes(10 * KIB, 1), 100);
    const gateway = await gatewayOn(await onSource(new FaultDriver(await sourceOf(objects), { rules })));
    return { gateway, items, answer: await batchOf(gateway, items) };
  }

  it('[X1] that fails in the middle breaks the connection, so that it does not look whole', async () => {
    const { gateway, items, answer } = await failing(90, 'TIERED_UNAVAILABLE');
    expect([answer.status, answer.brokenOffBy]).toEqual([200, 'ECONNRESET']);
    const got = answer.body;
    const whole = (await batchOf(gateway, items)).body;
    expect(got.byteLength).toBeLessThan(whole.byteLength);
    expect(Buffer.compare(got, whole.subarray(0, got.byteLength))).toBe(0);
    expect(gateway.stats()).toMatchObject({ answering: 0, heldBytes: 0 });
  });

  it('[X1] that fails before the first byte is an error', async () => {
    const { gateway, answer } = await failing(1, 'TIERED_UNAVAILABLE');
    expect([answer.status, codeIn(answer), answer.brokenOffBy]).toEqual([503, 'SlowDown', undefined]);
    expect(gateway.stats()).toMatchObject({ answering: 0, heldBytes: 0 });
  });

  it('[X1] that has an object no more has a missing item', async () => {
    const { answer } = await failing(90, 'TIERED_NOT_FOUND');
    const entries = await entriesOf(answer.body);
    expect(entries.flatMap(({ path }, i) => (path.startsWith('__404__/') ? [i] : []))).toEqual([89]);
    expect(entries).toHaveLength(100);
  });

  it('[X1] whose object changes breaks the connection: versions are never mixed', async () => {
    const [before, after] = [someBytes(3 * MIB, 1), someBytes(3 * MIB, 2)];
    const inner = await sourceOf({ a: before });
    const source = new HoldingDriver(inner, { operations: ['read', 'readInto'] });
    const gateway = await gatewayOn(await onSource(source), { limits: { memory: 1 } });
    const answer = batchOf(gateway, [{ objname: 'a' }]);
    await until(() => source.held.length === 1);
    await source.release();
    await until(() => source.held.length === 1);
    await inner.write('a', after, { size: after.byteLength });
    await releasedUntil(source, answer);
    const { body, brokenOffBy } = await answer;
    expect(brokenOffBy).toBe('ECONNRESET');
    const got = body.subarray(512);
    expect(Buffer.compare(got, before.subarray(0, got.byteLength))).toBe(0);
  });
});

describe('close', () => {
  it('[X2] ends batches that take too long', async () => {
    const clock = new ManualClock();
    const { onAnswer, count } = toldOf();
    const { source, items } = await holding(someBytes(10 * KIB, 1), 200);
    const gateway = await gatewayOn(await onSource(source), { clock, limits: { closeMs: 500 }, onAnswer });
    connectionTo(gateway, batchText(items));
    await until(() => source.held.length === AHEAD.items);
    const closed = gateway.close();
    await clock.advance(500);
    await releasedUntil(source, closed);
    await count(1);
    expect(gateway.stats()).toMatchObject({ connections: 0, answering: 0, heldBytes: 0 });
  });
});
