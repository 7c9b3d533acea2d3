import { isTieredError } from '@tiered/core';
import { MemoryRequest, SharedMemory } from '@tiered/native';
import type { Sample } from '@tiered/prefetch';
import fc from 'fast-check';
import fs from 'node:fs';
import type net from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import {
  CLIENT_FRAMES,
  encodeHead,
  PROTOCOL,
  SERVER_FRAMES,
  VERSION,
  type SampleHead,
} from '../src/wire/protocol.js';
import { listedSamples } from '../src/wire/sample-lists.js';
import { describeMemory } from './describe-memory.js';
import { connect, drain, HELLO, range, RawClient, serve, serving, withCode } from './helpers.js';
import { checked, ListReader } from './list-reader.js';

const BYTES = 100_000;
const TOKEN = 'a word';

const end = (id: number) => encodeHead(SERVER_FRAMES.end, id, undefined);
const release = (first: number, count: number) => encodeHead(CLIENT_FRAMES.release, 0, { first, count });
const take = (id: number, most: number) => encodeHead(CLIENT_FRAMES.take, id, { most, memory: true });
const share = (id: number) => encodeHead(CLIENT_FRAMES.share, id, undefined);
const attach = (token: string) => encodeHead(CLIENT_FRAMES.attach, 0, { token });
const sampleAt = (place: Partial<SampleHead>) => (id: number) =>
  encodeHead(SERVER_FRAMES.sample, id, { key: 'a', epoch: 0, position: 0, size: 10, ...place });

interface Listed {
  readonly samples?: number;
  readonly offset?: number;
  readonly size?: number;
  readonly keys?: string;
}

/** A list of samples at the same place. */
const listOf =
  ({ samples = 1, offset = 0, size = 10, keys }: Listed) =>
  (id: number) => {
    const places = Buffer.concat(
      range(samples).map((position) => {
        const record = Buffer.alloc(16);
        record.writeUInt32BE(position, 4);
        record.writeUInt32BE(offset, 8);
        record.writeUInt32BE(size, 12);
        return record;
      }),
    );
    const list = { epoch: 0, piece: 0, keys: keys ?? range(samples).join('\0'), places };
    return encodeHead(SERVER_FRAMES.samples, id, list);
  };

interface Offered {
  /** What it says that it offers. */
  readonly memoryBytes?: number;
  /** What it does on the second connection. */
  readonly give?: (socket: number) => unknown;
  /** What it answers to who asks for memory. */
  readonly onShare?: (id: number) => Buffer;
  /** What it answers to a take. */
  readonly onTake?: (id: number) => Buffer;
}

/** A client of a server that offers memory, and keeps to nothing. */
async function offered({
  memoryBytes = BYTES,
  give,
  onShare = end,
  onTake = end,
}: Offered): Promise<PrefetchClient> {
  let attached = () => {};
  const given = give === undefined ? Promise.resolve() : new Promise<void>((resolve) => (attached = resolve));
  const { path } = await serving(({ type, id }, socket) => {
    if (type === 'hello') {
      const limits = { maxRequests: 4, maxSamples: 4, token: TOKEN, memoryBytes };
      socket.write(encodeHead(SERVER_FRAMES.hello, 0, { protocol: PROTOCOL, version: VERSION, ...limits }));
    }
    if (type === 'attach') {
      give?.((socket as net.Socket & { _handle: { fd: number } })._handle.fd);
      attached();
    }
    if (type === 'share') void given.then(() => socket.write(onShare(id)));
    if (type === 'take') socket.write(onTake(id));
  });
  const client = await PrefetchClient.connect({ path });
  onTestFinished(() => client.close());
  return client;
}

const gives = (socket: number) => SharedMemory.give(socket, BYTES);

describeMemory('a client of a server that offers memory', () => {
  it.each<[string, Offered]>([
    ['gives nothing', {}],
    [
      'refuses it',
      {
        onShare: (id) =>
          encodeHead(SERVER_FRAMES.error, id, { code: 'TIERED_IO', message: 'x', retryable: false }),
      },
    ],
    ['gives less than it says', { give: (socket) => SharedMemory.give(socket, BYTES - 1) }],
    ['says that it has more than can be', { memoryBytes: 2 ** 50 }],
  ])('[P12] takes samples through the socket if it %s', async (_, options) => {
    const client = await offered(options);
    expect(client.transport).toBe('socket');
    expect(await client.take(1)).toEqual([]);
  });

  it.each<[string, Partial<SampleHead>]>([
    ['begins behind the memory', { offset: BYTES + 1, piece: 0 }],
    ['ends behind it', { offset: BYTES - 9, piece: 0 }],
    ['lies far away', { offset: Number.MAX_SAFE_INTEGER, piece: 0 }],
    ['is larger than all of it', { size: 2 ** 31, offset: 0, piece: 0 }],
    ['lies nowhere', { piece: 0 }],
  ])('[P12] is told of a sample that %s, and the connection is over', async (_, place) => {
    const client = await offered({ give: gives, onTake: sampleAt(place) });
    expect(client.transport).toBe('memory');
    await expect(client.take(1)).rejects.toEqual(withCode('TIERED_DATA_CORRUPT'));
    await expect(client.take(1)).rejects.toEqual(withCode('TIERED_DATA_CORRUPT'));
  });

  it.each<[string, Listed]>([
    ['ends behind the memory', { offset: BYTES - 9 }],
    ['is larger than all of it', { size: 2 ** 32 - 1 }],
    ['is not in it', { keys: 'a\0b' }],
  ])('[P12] is told of a list with a sample that %s, and the connection is over', async (_, wrong) => {
    const client = await offered({ give: gives, onTake: listOf(wrong) });
    await expect(client.take(4)).rejects.toEqual(withCode('TIERED_DATA_CORRUPT'));
    await expect(client.take(4)).rejects.toEqual(withCode('TIERED_DATA_CORRUPT'));
  });

  it('[P12] is told of a list of more samples than were asked for, and of one in memory that is not shared', async () => {
    const client = await offered({ give: gives, onTake: listOf({ samples: 3 }) });
    await expect(client.take(2)).rejects.toEqual(withCode('TIERED_DATA_CORRUPT'));
    const without = await offered({ onTake: listOf({}) });
    await expect(without.take(1)).rejects.toEqual(withCode('TIERED_DATA_CORRUPT'));
  });

  it('[P12] takes what lies at the very end, and nothing in memory that is not shared', async () => {
    const whole = (id: number) => Buffer.concat([sampleAt({ offset: BYTES - 10, piece: 3 })(id), end(id)]);
    const [sample] = await (await offered({ give: gives, onTake: whole })).take(1);
    expect(sample?.data.byteLength).toBe(10);
    const without = await offered({ onTake: whole });
    await expect(without.take(1)).rejects.toEqual(withCode('TIERED_DATA_CORRUPT'));
  });
});

describeMemory('a server that offers memory to a client', () => {
  it.each([true, false])(
    '[P15] gives it a list of what is there if it knows lists (%s), else a frame each',
    async (lists) => {
      const reader = new ListReader([10, 20, 0, 30, 40]);
      const server = await serve(reader);
      const raw = new RawClient(server).write(HELLO);
      const frames = raw.frames();
      const hello = await frames.next();
      const { token = '' } = (hello.value as { body: { token?: string } }).body;
      using request = new MemoryRequest(server.path, attach(token));
      raw.write(share(1));
      expect((await frames.next()).value).toMatchObject({ type: 'end', id: 1 });
      const buffer = Buffer.from(request.receive(64 * 2 ** 20).buffer);
      raw.write(encodeHead(CLIENT_FRAMES.take, 2, { most: 5, memory: true, lists }));
      const types: string[] = [];
      const seen: number[] = [];
      for (let frame = await frames.next(); frame.value?.type !== 'end'; frame = await frames.next()) {
        types.push(frame.value?.type ?? '');
        if (frame.value?.type === 'payload') continue;
        const heads =
          frame.value?.type === 'samples'
            ? listedSamples(frame.value.body)
            : [(frame.value as { body: SampleHead }).body];
        for (const { offset = 0, size, ...head } of heads)
          seen.push(checked({ ...head, data: buffer.subarray(offset, offset + size) } as unknown as Sample));
      }
      const [one, many] = [['sample'], ['samples']];
      expect(types).toEqual(
        lists ? [...many, ...one, ...many] : ['sample', 'sample', 'sample', 'sample', 'sample'],
      );
      expect(seen).toEqual(range(5));
      raw.socket.destroy();
    },
  );

  /** A client in another language that has been told the word. */
  async function greeted(server: { readonly path: string }): Promise<{ raw: RawClient; token: string }> {
    const raw = new RawClient(server).write(HELLO);
    const hello = await raw.frames().next();
    const { token = '' } = (hello.value as { body: { token?: string } }).body;
    expect(token).not.toBe('');
    return { raw: new RawClient(server), token };
  }

  it.each<[string, readonly Buffer[]]>([
    ['gives back what it does not have', [HELLO, release(0, 1)]],
    ['gives back as much as there is not', [HELLO, release(0, Number.MAX_SAFE_INTEGER)]],
    ['says more behind attach', [attach(TOKEN), HELLO]],
    ['attaches though it is a client', [HELLO, attach(TOKEN)]],
  ])('[P12] closes one that %s, and no other', async (_, frames) => {
    const server = await serve(new ListReader(range(20)));
    const other = await connect(server);
    const raw = new RawClient(server).write(...frames);
    raw.socket.resume();
    await raw.closed;
    expect(await drain(other)).toEqual(range(20));
  });

  it('[P12] closes a connection that says a word that nobody was told, or one that was used', async () => {
    const server = await serve(new ListReader(range(20)));
    const { raw, token } = await greeted(server);
    raw.write(attach('no word'));
    raw.socket.resume();
    await raw.closed;
    const [first, second] = [new RawClient(server).write(attach(token)), new RawClient(server)];
    await connect(server);
    second.write(attach(token)).socket.resume();
    await second.closed;
    expect(first.socket.destroyed).toBe(false);
    expect(server.failures).toBe(0);
  });

  it('[P12] answers with an error where nobody attaches, and goes on', async () => {
    const server = await serve(new ListReader(range(20)));
    const raw = new RawClient(server).write(HELLO, share(1), share(2), take(3, 1));
    const types: string[] = [];
    for await (const frame of raw.frames()) {
      types.push(frame.type);
      if (types.filter((type) => type === 'error').length === 2 && types.includes('sample')) break;
    }
    expect(server.failures).toBe(0);
    raw.socket.destroy();
  });

  it('[P12] survives frames about memory in any order', async () => {
    const reader = new ListReader(range(2000));
    const server = await serve(reader);
    const other = await connect(server);
    const number = fc.oneof(fc.nat(5), fc.constant(Number.MAX_SAFE_INTEGER));
    const frames = fc.oneof(
      fc.tuple(number, fc.integer({ min: 1, max: 5 })).map(([first, count]) => release(first, count)),
      fc.nat(5).map(share),
      fc.integer({ min: 1, max: 5 }).map((id) => take(id, 2)),
      fc.constantFrom(HELLO, attach(''), attach(TOKEN)),
    );
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(frames, { maxLength: 8 }), async (greets, list) => {
        const raw = new RawClient(server).write(...(greets ? [HELLO] : []), ...list);
        raw.socket.resume();
        raw.socket.end();
        await raw.closed;
        for (const sample of await other.take(1)) sample.release();
      }),
      { numRuns: 200 },
    );
    expect(
      isTieredError(await other.readInto('none', new Uint8Array(1)).catch((error: unknown) => error)),
    ).toBe(true);
    expect(fs.readdirSync('/proc/self/fd').length).toBeLessThan(200);
  });
});
