import fc from 'fast-check';
import { once } from 'node:events';
import net from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import { CLIENT_FRAMES, encodeHead, PROTOCOL, SERVER_FRAMES } from '../src/wire/protocol.js';
import { servePrefetcher } from '../src/server/server.js';
import { connect, drain, HELLO, range, RawClient, serve, socketPath, WELCOME, withCode } from './helpers.js';
import { checked, keyOf, ListReader } from './list-reader.js';

const take = (id: number, most: number) => encodeHead(CLIENT_FRAMES.take, id, { most });
const read = (id: number, key: string, length = 1) =>
  encodeHead(CLIENT_FRAMES.read, id, { key, offset: 0, length });

describe('a client that breaks the protocol', () => {
  const breaches: Record<string, readonly Uint8Array[]> = {
    'a stranger': [Buffer.from('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')],
    'a request before hello': [take(1, 1)],
    'a second hello': [HELLO, HELLO],
    'a hello of another protocol': [
      encodeHead({ ...CLIENT_FRAMES.hello, body: CLIENT_FRAMES.abort.body }, 0, undefined),
    ],
    'an id that is in use': [HELLO, read(7, 'slow'), read(7, 'slow')],
    'the id of the connection': [HELLO, take(0, 1)],
    'more requests than are allowed': [HELLO, ...range(5).map((i) => read(i + 1, 'slow'))],
    'more samples than are allowed': [HELLO, take(1, 9)],
    'a frame of the server': [HELLO, encodeHead(SERVER_FRAMES.end, 1, undefined)],
    'a payload': [HELLO, encodeHead(CLIENT_FRAMES.abort, 1, undefined, 1), Buffer.from([1])],
  };

  for (const [what, bytes] of Object.entries(breaches)) {
    it(`is closed alone, and told why if it listens: ${what}`, async () => {
      const reader = new ListReader(range(20).map((i) => i * 100));
      const server = await serve(reader, { concurrency: 4, maxSamples: 8 });
      const errors: unknown[] = [];
      server.on('clientFailed', ({ error }) => errors.push(error));
      const other = await connect(server);
      const waiting = other.readInto('slow', new Uint8Array(1));
      const raw = new RawClient(server).write(...bytes);
      expect(await raw.next('error')).toMatchObject({ id: 0, body: { code: 'TIERED_DATA_CORRUPT' } });
      await raw.closed;
      expect(errors).toEqual([withCode('TIERED_DATA_CORRUPT')]);
      expect(server.failures).toBe(1);
      expect(server.clients).toBe(1);
      expect(await drain(other)).toEqual(range(20));
      await Promise.all([other.close(), expect(waiting).rejects.toEqual(withCode('TIERED_CLOSED'))]);
    });
  }

  it('with any bytes, before or after hello and among requests, neither ends the server nor disturbs another client', async () => {
    const reader = new ListReader(range(3000));
    const server = await serve(reader);
    const other = await connect(server);
    const part = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.constantFrom(HELLO, take(1, 2), take(2, 300), read(3, 'slow'), read(4, keyOf(1)), read(5, 'none')),
      fc.nat(6).map((id) => encodeHead(CLIENT_FRAMES.abort, id, undefined)),
      fc.constant(Buffer.alloc(16)),
    );
    let before = -1;
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(part, { maxLength: 8 }), async (greets, parts) => {
        const raw = new RawClient(server);
        raw.socket.resume();
        if (greets) raw.write(HELLO);
        raw.write(...parts).socket.end();
        const [sample] = await other.take(1);
        if (sample !== undefined) {
          expect(checked(sample)).toBeGreaterThan(before);
          before = checked(sample);
        }
        await raw.closed;
      }),
      { numRuns: 300 },
    );
    expect(before).toBeGreaterThan(0);
    expect(await other.readInto(keyOf(9), new Uint8Array(9))).toBe(9);
  });

  it('of another version is told so', async () => {
    const server = await serve(new ListReader([]));
    const raw = new RawClient(server);
    raw.write(encodeHead(CLIENT_FRAMES.hello, 0, { protocol: PROTOCOL, version: 2 }));
    expect(await raw.next('error')).toMatchObject({ id: 0, body: { code: 'TIERED_VERSION_MISMATCH' } });
    await raw.closed;
    expect(server.failures).toBe(1);
  });
});

describe('a client that does not read', () => {
  it('holds the samples of one take, and nobody else waits for it', async () => {
    const reader = new ListReader(range(24).map(() => 1_000_000));
    const server = await serve(reader, { maxSamples: 4 });
    const raw = new RawClient(server).write(HELLO, take(1, 4), take(2, 4), take(3, 4), read(4, 'slow'));
    await reader.until(() => reader.lent === 4 && reader.reading === 1);
    const other = await connect(server);
    expect(await drain(other)).toEqual(range(24).slice(4));
    expect(reader.held).toBe(4);
    raw.socket.destroy();
    await reader.until(() => reader.held === 0 && reader.reading === 0);
  });

  it('gives a sample back as soon as the socket has it, and not with the last of its take', async () => {
    const reader = new ListReader(range(3).map(() => 1_000_000));
    const raw = new RawClient(await serve(reader)).write(HELLO, take(1, 3));
    const frames = raw.frames();
    for (let bytes = 0; bytes < 1_000_000;) {
      const { value: frame } = await frames.next();
      if (frame?.type === 'payload') bytes += frame.bytes.byteLength;
    }
    await reader.until(() => reader.held === 2);
    raw.socket.destroy();
  });

  it('is not read from either, however much it asks for', async () => {
    const reader = new ListReader([1]);
    const server = await serve(reader, { concurrency: 100_000 });
    const other = await connect(server);
    new RawClient(server).write(HELLO, ...range(50_000).map((i) => read(i + 1, 'none')));
    for (let i = 0; i < 1000; i++) await other.readInto(keyOf(0), new Uint8Array(1));
    expect(reader.failedReads).toBeGreaterThan(0);
    expect(reader.failedReads).toBeLessThan(50_000);
  });

  it('gets everything when it reads again, whatever it asked for meanwhile', async () => {
    const reader = new ListReader([...range(12).map(() => 1_000_000), 100_000], { allowed: 12 });
    const server = await serve(reader, { concurrency: 1000 });
    const ids = range(900).map((i) => i + 10);
    const raw = new RawClient(server).write(
      HELLO,
      take(1, 6),
      ...ids.map((id) => read(id, keyOf(12), 100_000)),
    );
    await reader.until(() => reader.lent === 6);
    raw.write(take(2, 6), read(3, 'none'));
    const last = new Set([1, 2, 3, ...ids]);
    let bytes = 0;
    for await (const frame of raw.frames()) {
      if (frame.type === 'payload') bytes += frame.bytes.byteLength;
      if (frame.type === 'end' || frame.type === 'error') last.delete(frame.id);
      if (last.size === 0) break;
    }
    expect(bytes).toBe(12_000_000 + 900 * 100_000);
    expect(reader.held).toBe(0);
  });
});

describe('a client that goes away', () => {
  it('frees what it held, and what it waited for is taken by others', async () => {
    const reader = new ListReader(range(10), { allowed: 0 });
    const server = await serve(reader);
    const raw = new RawClient(server).write(HELLO, take(1, 5), take(2, 5), read(3, 'slow'), read(4, 'slow'));
    await reader.until(() => reader.waiting === 1 && reader.reading === 2);
    raw.socket.destroy();
    await reader.until(() => reader.waiting === 0 && reader.reading === 0);
    reader.allow(Infinity);
    expect(server.clients).toBe(0);
    expect(server.failures).toBe(0);
    expect(await drain(await connect(server))).toEqual(range(10));
  });

  it('by closing its side only is gone too', async () => {
    const reader = new ListReader([1], { allowed: 0 });
    const server = await serve(reader);
    const raw = new RawClient(server, { allowHalfOpen: true }).write(HELLO, take(1, 1));
    await reader.until(() => reader.waiting === 1);
    raw.socket.resume().end();
    await reader.until(() => reader.waiting === 0);
    await raw.closed;
  });
});

describe('an abort', () => {
  it('ends the request with one last frame; the id is free again, and an unknown one is passed over', async () => {
    const reader = new ListReader([3], { allowed: 0 });
    const server = await serve(reader);
    const abort = encodeHead(CLIENT_FRAMES.abort, 1, undefined);
    const raw = new RawClient(server).write(HELLO, abort, take(1, 1), abort);
    const frames = raw.frames();
    expect((await frames.next()).value).toMatchObject({ type: 'hello' });
    expect((await frames.next()).value).toMatchObject({ type: 'error', id: 1 });
    reader.allow(1);
    raw.write(abort, take(1, 1));
    expect((await frames.next()).value).toMatchObject({ type: 'sample', id: 1, body: { size: 3 } });
    expect((await frames.next()).value).toMatchObject({ type: 'payload' });
    expect((await frames.next()).value).toMatchObject({ type: 'end', id: 1 });
  });
});

describe('the server', () => {
  it('takes so many clients and tells one more that it may try again', async () => {
    const reader = new ListReader([5], { allowed: 0 });
    const server = await serve(reader, { maxClients: 2 });
    const [first] = [await connect(server), await connect(server)];
    const taking = first.take(1);
    await reader.until(() => reader.waiting === 1);
    expect(server.clients).toBe(2);
    await expect(PrefetchClient.connect(server)).rejects.toMatchObject({
      code: 'TIERED_UNAVAILABLE',
      retryable: true,
    });
    expect(server.failures).toBe(1);
    await Promise.all([first.close(), expect(taking).rejects.toEqual(withCode('TIERED_CLOSED'))]);
    await reader.until(() => reader.waiting === 0);
    const third = await connect(server);
    reader.allow(1);
    expect((await third.take(1)).map(checked)).toEqual([0]);
  });

  it('closes with its signal, and does not begin if that has aborted', async () => {
    const reader = new ListReader([5], { allowed: 0 });
    const controller = new AbortController();
    const server = await serve(reader, { signal: controller.signal });
    const client = await connect(server);
    const taking = client.take(1);
    await reader.until(() => reader.waiting === 1);
    controller.abort(new Error('enough'));
    await expect(taking).rejects.toEqual(withCode('TIERED_UNAVAILABLE'));
    await server.close();
    expect(server.clients).toBe(0);
    const options = { path: socketPath(), signal: controller.signal };
    await expect(servePrefetcher(reader, options)).rejects.toThrow('enough');
    const later = new AbortController();
    const starting = servePrefetcher(reader, { path: socketPath(), signal: later.signal });
    later.abort(new Error('enough'));
    await expect(starting).rejects.toThrow('enough');
  });

  it('closes with clients that read nothing, say nothing, or are in the middle of a frame', async () => {
    const reader = new ListReader(range(9).map(() => 1_000_000));
    const server = await serve(reader);
    const raws = [
      new RawClient(server).write(HELLO, take(1, 9)),
      new RawClient(server).write(HELLO.subarray(0, 20)),
      new RawClient(server),
    ];
    await reader.until(() => reader.lent === 9);
    await server.close();
    expect(reader.held).toBe(0);
    for (const { socket } of raws) socket.resume();
    await Promise.all(raws.map(({ closed }) => closed));
  });

  it('refuses limits that allow nothing', async () => {
    for (const limits of [{ maxClients: 0 }, { maxSamples: 0.5 }, { concurrency: -1 }])
      await expect(servePrefetcher(new ListReader([]), { path: socketPath(), ...limits })).rejects.toEqual(
        withCode('TIERED_CONFIG_INVALID'),
      );
  });
});

describe('a client of a server that is none', () => {
  /** A program that answers whoever connects with these bytes, and hangs up. */
  async function saying(bytes: Uint8Array): Promise<{ path: string }> {
    const path = socketPath();
    const listener = net.createServer((socket) => {
      socket.on('error', () => undefined).resume();
      socket.write(bytes);
      socket.on('data', () => socket.end());
    });
    listener.listen(path);
    await once(listener, 'listening');
    onTestFinished(() => void listener.close());
    return { path };
  }

  it('rejects, whatever the bytes are', async () => {
    const sample = encodeHead(SERVER_FRAMES.sample, 1, { key: 'a', epoch: 0, position: 0, size: 9 }, 4);
    const huge = { key: 'a', epoch: 0, position: 0, size: Number.MAX_SAFE_INTEGER };
    const parts = [
      WELCOME,
      Buffer.alloc(4),
      sample,
      encodeHead(SERVER_FRAMES.sample, 1, huge),
      encodeHead(SERVER_FRAMES.data, 1, undefined, 4),
      encodeHead(SERVER_FRAMES.end, 1, undefined),
      encodeHead(SERVER_FRAMES.error, 0, { code: 'TIERED_FUTURE', message: 'x', retryable: true }),
      encodeHead(SERVER_FRAMES.error, 1, { code: 'TIERED_FUTURE', message: 'x', retryable: true }),
    ];
    const bytes = fc.array(fc.oneof(fc.constantFrom(...parts), fc.uint8Array({ maxLength: 50 })), {
      maxLength: 6,
    });
    const codes = ['TIERED_DATA_CORRUPT', 'TIERED_UNAVAILABLE', 'TIERED_IO'];
    await fc.assert(
      fc.asyncProperty(bytes, fc.boolean(), async (list, greets) => {
        const { path } = await saying(Buffer.concat(greets ? [WELCOME, ...list] : list));
        const reading = (async () => {
          await using client = await PrefetchClient.connect({ path });
          await client.take(1);
          await client.readInto('a', new Uint8Array(4));
        })();
        const error: unknown = await reading.catch((e: unknown) => e);
        expect(codes).toContain((error as { code?: string }).code);
      }),
      { numRuns: 100 },
    );
  });
});
