import { TieredError } from '@tiered/core';
import { listenersOn, outcomeOf, settled } from '@tiered/core/testing';
import type { Sample } from '@tiered/prefetch';
import fc from 'fast-check';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import { encodeHead, SERVER_FRAMES } from '../src/wire/protocol.js';
import { connect, drain, range, serve, serving, socketPath, WELCOME, withCode } from './helpers.js';
import { bytesOf, checked, keyOf, ListReader } from './list-reader.js';

const SIZES = [0, 1, 100, 70_000, 3, 0, 500_000, 12];

describe('take', () => {
  it('gives the samples in order with their bytes, as many as are there, and none at the end', async () => {
    const reader = new ListReader(SIZES, { allowed: 3 });
    const client = await connect(await serve(reader));
    expect((await client.take(10)).map(checked)).toEqual([0, 1, 2]);
    reader.allow(Infinity);
    expect((await client.take(4)).map(checked)).toEqual([3, 4, 5, 6]);
    expect((await client.take(4)).map(checked)).toEqual([7]);
    expect(await client.take(4)).toEqual([]);
    expect(await client.take(4)).toEqual([]);
  });

  it('gives key, epoch, position and bytes of its own, all of one epoch', async () => {
    const client = await connect(await serve(new ListReader(SIZES, { epochLength: 3 })));
    const samples = await client.take(10);
    expect(samples.map(({ key, epoch, position }) => ({ key, epoch, position }))).toEqual(
      range(3).map((i) => ({ key: keyOf(i), epoch: 0, position: i })),
    );
    expect((await client.take(10)).map(({ epoch }) => epoch)).toEqual([1, 1, 1]);
    const copy = samples[2]?.data.slice();
    samples[2]?.data.fill(0);
    expect(copy).toEqual(bytesOf(2, 100));
  });

  it('a sample larger than any frame arrives whole', async () => {
    const size = 2 * 16 * 1024 * 1024 + 1;
    const client = await connect(await serve(new ListReader([5, size, 7])));
    const samples = await client.take(3);
    expect(samples.map(({ data }) => data.byteLength)).toEqual([5, size, 7]);
    expect(samples.map(checked)).toEqual([0, 1, 2]);
  });

  it('whatever is taken, by any number of takes at the same time, comes once and in order', async () => {
    const sizes = fc.array(fc.oneof(fc.nat(50), fc.nat(300_000)), { maxLength: 30 });
    const amounts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(sizes, amounts, fc.integer({ min: 1, max: 8 }), async (list, most, maxSamples) => {
        const server = await serve(new ListReader(list), { maxSamples });
        const client = await connect(server);
        const seen: number[] = [];
        for (let more = true; more;) {
          const taken = await Promise.all(most.map((n) => client.take(n)));
          seen.push(...taken.flat().map(checked));
          more = taken.every(({ length }) => length > 0);
        }
        expect(seen).toEqual(range(list.length));
        await server.close();
      }),
      { numRuns: 25 },
    );
  });

  it('several clients share a sequence: each sample goes to one of them', async () => {
    const server = await serve(new ListReader(range(200).map((i) => i * 300)));
    const clients = await Promise.all(range(5).map(() => connect(server)));
    const shares = await Promise.all(clients.map(drain));
    expect(shares.flat().sort((a, b) => a - b)).toEqual(range(200));
  });

  it('keeps no sample that was released', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const client = await connect(await serve(new ListReader(range(50))));
    const kept: WeakRef<Sample>[] = [];
    for await (const sample of client) kept.push(new WeakRef(sample));
    const alive = () => kept.filter((sample) => sample.deref() !== undefined).length;
    // The last may still be on the stack, and what is under way in a busy process keeps others for a moment.
    for (let turns = 0; turns < 1000 && alive() > 1; turns++) {
      await settled();
      collectGarbage();
    }
    expect(alive()).toBeLessThanOrEqual(1);
  });

  it('refuses a number of samples that is none', async () => {
    const client = await connect(await serve(new ListReader(SIZES)));
    for (const most of [0, -1, 1.5, Number.NaN])
      await expect(client.take(most)).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });
});

describe('iteration', () => {
  it('gives samples one by one, and in batches, each released when the next is asked for', async () => {
    const server = await serve(new ListReader(SIZES, { epochLength: 5 }));
    const [one, other] = [await connect(server), await connect(server)];
    const iterator = one[Symbol.asyncIterator]();
    const first = await iterator.next();
    if (first.done === true) throw new Error('there is no sample');
    const sample: Sample = first.value;
    expect(sample.position).toBe(0);
    await iterator.next();
    expect(() => sample.data).toThrow(withCode('TIERED_CLOSED'));
    const batches: number[][] = [];
    for await (const batch of other.batches(2)) batches.push(batch.map(checked));
    expect(batches).toEqual([[2, 3], [4], [5, 6], [7]]);
  });
});

describe('read', () => {
  it('reads as pread does: short only at the end of the object, 0 behind it', async () => {
    const client = await connect(await serve(new ListReader([5_000_000, 20])));
    const size = fc.integer({ min: 0, max: 5_000_010 });
    await fc.assert(
      fc.asyncProperty(size, size, async (offset, length) => {
        const target = new Uint8Array(length).fill(254);
        const expected = bytes.subarray(offset, offset + length);
        expect(await client.readInto(keyOf(0), target, { offset })).toBe(expected.byteLength);
        expect(Buffer.compare(target.subarray(0, expected.byteLength), expected)).toBe(0);
        expect(target.subarray(expected.byteLength).find((byte) => byte !== 254)).toBeUndefined();
      }),
      {
        numRuns: 10,
        examples: [
          [0, 5_000_010],
          [5_000_000, 5],
          [0, 0],
        ],
      },
    );
  });

  const bytes = bytesOf(0, 5_000_000);

  it('many at the same time, more than the server serves at once, each get their own', async () => {
    const sizes = range(100).map((i) => i * 50);
    const client = await connect(await serve(new ListReader(sizes), { concurrency: 3 }));
    const targets = sizes.map((size) => new Uint8Array(size));
    await Promise.all(targets.map((target, i) => client.readInto(keyOf(i), target)));
    for (const [i, target] of targets.entries()) expect(target).toEqual(bytesOf(i, i * 50));
  });

  it('is answered while a take waits', async () => {
    const client = await connect(await serve(new ListReader([9], { allowed: 0 })));
    const signal = new AbortController();
    const taking = client.take(1, { signal: signal.signal });
    expect(await client.readInto(keyOf(0), new Uint8Array(9))).toBe(9);
    signal.abort(new Error('enough'));
    await expect(taking).rejects.toThrow('enough');
  });

  it('refuses keys and offsets that cannot be', async () => {
    const client = await connect(await serve(new ListReader(SIZES)));
    const target = new Uint8Array(1);
    await expect(client.readInto('\ud800', target)).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
    await expect(client.readInto('k'.repeat(100_000), target)).rejects.toEqual(
      withCode('TIERED_KEY_INVALID'),
    );
    await expect(client.readInto('a', target, { offset: -1 })).rejects.toEqual(
      withCode('TIERED_RANGE_INVALID'),
    );
    await expect(client.readInto('a', target, { offset: 0.5 })).rejects.toEqual(
      withCode('TIERED_RANGE_INVALID'),
    );
    expect(await client.readInto(keyOf(1), target)).toBe(1);
  });
});

describe('errors', () => {
  it('cross the socket with code, message and whether to try again', async () => {
    const client = await connect(await serve(new ListReader(SIZES)));
    const error: unknown = await client.readInto('none', new Uint8Array(1)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(TieredError);
    expect(error).toMatchObject({
      code: 'TIERED_NOT_FOUND',
      retryable: true,
      message: 'There is no none.',
    });
  });

  it('of a take reach the one who took, and the next may succeed', async () => {
    const reader = new ListReader(SIZES);
    const client = await connect(await serve(reader));
    reader.failure = new TieredError('TIERED_IO', 'The disk is gone.');
    await expect(client.take(1)).rejects.toMatchObject({ code: 'TIERED_IO', retryable: false });
    reader.failure = new Error(`anything else, ${'at length '.repeat(20_000)}`);
    await expect(client.take(1)).rejects.toEqual(withCode('TIERED_IO'));
    reader.failure = undefined;
    expect((await client.take(1)).map(checked)).toEqual([0]);
  });
});

/**
 * A server that answers the first take and the first read of a client in one piece, and then is at the end.
 */
async function answeringBoth(): Promise<{ path: string }> {
  const sample = { key: keyOf(1), epoch: 0, position: 1, size: 1 };
  const end = (id: number) => encodeHead(SERVER_FRAMES.end, id, undefined);
  const head = (id: number) => encodeHead(SERVER_FRAMES.sample, id, sample, 1);
  const ids = { take: 0, read: 0 };
  return serving(({ type, id }, socket) => {
    if (type === 'hello') Object.assign(ids, { take: 0, read: 0 });
    if (type === 'hello') socket.write(WELCOME);
    if (type !== 'take' && type !== 'read') return;
    const answered = ids.take > 0 && ids.read > 0;
    ids[type] = id;
    // The answers to the first take and to the read come in one piece; then the sequence is at its end.
    if (answered) socket.write(end(id));
    else if (ids.take > 0 && ids.read > 0)
      socket.write(Buffer.concat([head(ids.take), bytesOf(1, 1), end(ids.take), end(ids.read)]));
  });
}

describe('abort', () => {
  it('of a waiting take rejects with the reason, takes nothing and reaches the server', async () => {
    const reader = new ListReader(SIZES, { allowed: 0 });
    const client = await connect(await serve(reader));
    const controller = new AbortController();
    const taking = client.take(4, { signal: controller.signal });
    const behind = client.take(1, { signal: controller.signal });
    await reader.until(() => reader.waiting === 1);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(taking).rejects.toBe(reason);
    await expect(behind).rejects.toBe(reason);
    await reader.until(() => reader.waiting === 0);
    expect(listenersOn(controller.signal)).toBe(0);
    reader.allow(Infinity);
    expect(await drain(client)).toEqual(range(SIZES.length));
  });

  it('of a take whose samples are on their way loses none: the next take gets them', async () => {
    const reader = new ListReader(range(40).map(() => 100_000));
    const client = await connect(await serve(reader));
    const seen: number[] = [];
    for (let i = 0; seen.length < 40; i++) {
      const controller = new AbortController();
      const taking = outcomeOf(client.take(3, { signal: controller.signal }));
      if (i % 2 === 0) await reader.until(() => reader.lent > seen.length);
      controller.abort(new Error('enough'));
      const samples = await client.take(3);
      expect(taking.value).toBeUndefined();
      seen.push(...samples.map(checked));
    }
    expect(seen).toEqual(range(40));
  });

  it('of a take in any moment after its sample has come gives it to one of two takes', async () => {
    const server = await answeringBoth();
    const gotFirst: number[] = [];
    for (let turns = 0; turns < 20; turns++) {
      const client = await connect(server);
      const controller = new AbortController();
      const first = outcomeOf(client.take(1, { signal: controller.signal }));
      await client.readInto('a', new Uint8Array(1));
      for (let i = 0; i < turns; i++) await Promise.resolve();
      controller.abort(new Error('enough'));
      const second = await client.take(1);
      expect([...(first.value ?? []), ...second].map(checked)).toEqual([1]);
      if (first.value !== undefined) gotFirst.push(turns);
    }
    expect(gotFirst.length).toBeGreaterThan(0);
  });

  it('that does not come leaves no listener behind', async () => {
    const client = await connect(await serve(new ListReader(SIZES)));
    const { signal } = new AbortController();
    await client.take(1, { signal });
    await client.readInto(keyOf(1), new Uint8Array(1), { signal });
    await settled();
    expect(listenersOn(signal)).toBe(0);
  });

  it('of a read rejects with the reason, ends the read in the server, and leaves the target alone', async () => {
    const reader = new ListReader([9_000_000]);
    const client = await connect(await serve(reader));
    const controller = new AbortController();
    const reason = new Error('enough');
    const slow = client.readInto('slow', new Uint8Array(1), { signal: controller.signal });
    const target = new Uint8Array(9_000_000);
    const fast = client.readInto(keyOf(0), target, { signal: controller.signal });
    await reader.until(() => reader.reading === 2);
    controller.abort(reason);
    target.fill(253);
    await expect(slow).rejects.toBe(reason);
    await expect(fast).rejects.toBe(reason);
    await reader.until(() => reader.reading === 0);
    await client.readInto(keyOf(0), new Uint8Array(1));
    expect(target.find((byte) => byte !== 253)).toBeUndefined();
    expect(listenersOn(controller.signal)).toBe(0);
  });

  it('before the call: nothing is asked for', async () => {
    const reader = new ListReader(SIZES);
    const client = await connect(await serve(reader));
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(client.take(1, { signal })).rejects.toThrow('enough');
    await expect(client.readInto(keyOf(1), new Uint8Array(1), { signal })).rejects.toThrow('enough');
    expect(reader.lent).toBe(0);
  });
});

describe('the end', () => {
  it('of a client: what waits rejects, samples are released, and calls are refused', async () => {
    const reader = new ListReader(SIZES, { allowed: 2 });
    const server = await serve(reader);
    const client = await connect(server);
    const [, sample] = await client.take(2);
    const waiting = [client.take(1), client.take(1), client.readInto('slow', new Uint8Array(1))];
    await reader.until(() => reader.waiting === 1 && reader.reading === 1);
    const outcomes = Promise.allSettled(waiting);
    await Promise.all([client.close(), client.close()]);
    for (const outcome of await outcomes)
      expect(outcome).toEqual({ status: 'rejected', reason: withCode('TIERED_CLOSED') });
    expect(() => sample?.data).toThrow(withCode('TIERED_CLOSED'));
    sample?.release();
    await expect(client.take(1)).rejects.toEqual(withCode('TIERED_CLOSED'));
    await expect(client.readInto('a', new Uint8Array(1))).rejects.toEqual(withCode('TIERED_CLOSED'));
    await reader.until(() => reader.waiting === 0 && reader.reading === 0);
    expect(reader.closed).toBe(false);
  });

  it('of the server: what waits rejects with TIERED_UNAVAILABLE, and what was received stays', async () => {
    const reader = new ListReader(SIZES, { allowed: 4 });
    const server = await serve(reader);
    const client = await connect(server);
    const samples = await client.take(4);
    const waiting = Promise.allSettled([
      client.take(1),
      client.take(1),
      client.readInto('slow', new Uint8Array(1)),
    ]);
    await reader.until(() => reader.waiting === 1 && reader.reading === 1);
    await server.close();
    for (const outcome of await waiting)
      expect(outcome).toEqual({ status: 'rejected', reason: withCode('TIERED_UNAVAILABLE') });
    await expect(client.take(1)).rejects.toEqual(withCode('TIERED_UNAVAILABLE'));
    expect(samples.map(checked)).toEqual([0, 1, 2, 3]);
  });

  it('`await using` closes both', async () => {
    const reader = new ListReader(SIZES);
    const server = await serve(reader);
    {
      await using client = await PrefetchClient.connect(server);
      await client.take(1);
    }
    await server[Symbol.asyncDispose]();
    await expect(PrefetchClient.connect(server)).rejects.toMatchObject({
      code: 'TIERED_UNAVAILABLE',
      retryable: true,
    });
  });

  it('of a connection that is aborted leaves nothing behind', async () => {
    const reader = new ListReader(SIZES);
    const server = await serve(reader);
    const controller = new AbortController();
    const connecting = PrefetchClient.connect({ path: server.path, signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(connecting).rejects.toThrow('enough');
    expect(listenersOn(controller.signal)).toBe(0);
    const late = AbortSignal.abort(new Error('late'));
    await expect(PrefetchClient.connect({ path: socketPath(), signal: late })).rejects.toThrow('late');
    await expect(PrefetchClient.connect({ path: socketPath() })).rejects.toEqual(
      withCode('TIERED_UNAVAILABLE'),
    );
  });
});
