import { isTieredError } from '@tiered/core';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PrefetchClient } from '../src/client/client.js';
import {
  CLIENT_FRAMES,
  encodeHead,
  HEADER_BYTES,
  PROTOCOL,
  SERVER_FRAMES,
  VERSION,
} from '../src/wire/protocol.js';
import { connect, HELLO, range, RawClient, serve, serving, WELCOME, withCode } from './helpers.js';
import { keyOf, ListReader } from './list-reader.js';

const MIB = 2 ** 20;

/** Lengths as the other side may claim them. */
const lengths = fc.oneof(
  fc.nat(100),
  fc.constantFrom(MIB, MIB + 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 50, Number.MAX_SAFE_INTEGER),
);

const headers = fc
  .record({ type: fc.nat(20), length: fc.nat(0xffffffff), body: fc.nat(0xffffffff), id: fc.nat(3) })
  .map(({ type, length, body, id }) => {
    const bytes = Buffer.alloc(HEADER_BYTES);
    bytes.writeUInt32BE(length, 0);
    bytes.writeUInt32BE(body, 4);
    bytes.writeUInt32BE(id, 8);
    bytes.writeUInt8(type, 12);
    return bytes;
  });

type Say = (id: number) => Uint8Array;

function sampleOf(size: number, payload = new Uint8Array()): Say {
  const body = { key: 'a', epoch: 0, position: 0, size };
  return (id) => Buffer.concat([encodeHead(SERVER_FRAMES.sample, id, body, payload.byteLength), payload]);
}

function dataOf(bytes: Uint8Array): Say {
  return (id) => Buffer.concat([encodeHead(SERVER_FRAMES.data, id, undefined, bytes.byteLength), bytes]);
}

const end: Say = (id) => encodeHead(SERVER_FRAMES.end, id, undefined);
const whole = sampleOf(2, Uint8Array.of(1, 2));

/** What a server may say in answer to the request of this id. */
const answers: fc.Arbitrary<Say> = fc.oneof(
  fc.tuple(lengths, fc.uint8Array({ maxLength: 100 })).map(([size, payload]) => sampleOf(size, payload)),
  fc.constantFrom<Say>(whole, whole, end, () => WELCOME),
  fc.uint8Array({ maxLength: 100 }).map(dataOf),
  fc.constant<Say>((id) =>
    encodeHead(SERVER_FRAMES.error, id, { code: 'TIERED_IO', message: 'x', retryable: false }),
  ),
  headers.map<Say>((bytes) => () => bytes),
  fc.uint8Array({ maxLength: 50 }).map<Say>((bytes) => () => bytes),
);

interface AnsweredOptions {
  readonly hangsUp?: boolean;
  readonly welcome?: Uint8Array;
  readonly maxSampleBytes?: number;
}

/** A client of a server that answers each request so, and may hang up then. */
async function answered(
  says: readonly Say[],
  { hangsUp = false, welcome = WELCOME, ...options }: AnsweredOptions = {},
): Promise<PrefetchClient> {
  const { path } = await serving(({ type, id }, socket) => {
    if (type === 'hello') socket.write(welcome);
    if (type !== 'take' && type !== 'read') return;
    for (const say of says) socket.write(say(id));
    if (hangsUp) socket.end();
  });
  const client = await PrefetchClient.connect({ path, ...options });
  onTestFinished(() => client.close());
  return client;
}

describe('a client of a server that keeps to nothing', () => {
  it('[P12] gives what was asked for, or an error that says what is wrong, and takes no memory that is only claimed', async () => {
    const limits = fc.record({ maxRequests: lengths, maxSamples: lengths });
    const maxSampleBytes = MIB;
    await fc.assert(
      fc.asyncProperty(
        fc.array(answers, { maxLength: 6 }),
        limits,
        fc.boolean(),
        async (says, { maxRequests, maxSamples }, takes) => {
          const welcome = encodeHead(SERVER_FRAMES.hello, 0, {
            protocol: PROTOCOL,
            version: VERSION,
            maxRequests: Math.max(1, maxRequests),
            maxSamples: Math.max(1, maxSamples),
          });
          const client = await answered(says, { hangsUp: true, welcome, maxSampleBytes });
          const target = new Uint8Array(10);
          const first = takes ? client.take(3) : client.readInto('a', target);
          const outcomes = [
            ...(await Promise.allSettled([first])),
            ...(await Promise.allSettled([client.take(3)])),
          ];
          for (const outcome of outcomes) {
            if (outcome.status === 'rejected') {
              expect(isTieredError(outcome.reason), String(outcome.reason)).toBe(true);
            } else if (typeof outcome.value === 'number') expect(outcome.value).toBeLessThanOrEqual(10);
            else {
              expect(outcome.value.length).toBeLessThanOrEqual(3);
              for (const { data } of outcome.value)
                expect(data.byteLength).toBeLessThanOrEqual(maxSampleBytes);
            }
          }
          await client.close();
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each<[string, readonly Say[], AnsweredOptions, string]>([
    ['a sample of 2^50 bytes', [sampleOf(2 ** 50)], {}, 'TIERED_TOO_LARGE'],
    ['a sample larger than was allowed', [sampleOf(101)], { maxSampleBytes: 100 }, 'TIERED_TOO_LARGE'],
    [
      'a sample for which there is no memory',
      [sampleOf(2 ** 52)],
      { maxSampleBytes: 2 ** 53 - 1 },
      'TIERED_TOO_LARGE',
    ],
    ['more samples than were asked for', [whole, whole, whole], {}, 'TIERED_DATA_CORRUPT'],
    ['a second hello', [() => WELCOME], {}, 'TIERED_DATA_CORRUPT'],
    ['bytes of no sample', [dataOf(Uint8Array.of(1))], {}, 'TIERED_DATA_CORRUPT'],
  ])('[P12] is told of %s, and the connection is over', async (_, says, options, code) => {
    const client = await answered(says, options);
    const failure: unknown = await client.take(2).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code });
    // What had come whole before that is given out first.
    const rest = async () => {
      while (true) await client.take(1);
    };
    await expect(rest()).rejects.toBe(failure);
    await expect(client.readInto('a', new Uint8Array(1))).rejects.toBe(failure);
  });

  it('takes samples up to the limit', async () => {
    const client = await answered([whole, end], { maxSampleBytes: 2 });
    expect((await client.take(1)).map(({ data }) => [...data])).toEqual([[1, 2]]);
  });

  it('refuses a limit that is none', async () => {
    const options = { path: '/nowhere', maxSampleBytes: -1 };
    await expect(PrefetchClient.connect(options)).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });
});

describe('a server of clients that keep to nothing', () => {
  it('[P12] answers or closes them, whatever lengths they claim, and disturbs nobody else', async () => {
    const reader = new ListReader(range(40));
    const server = await serve(reader);
    const failures: unknown[] = [];
    server.on('clientFailed', ({ error }) => failures.push(error));
    const other = await connect(server);
    const ids = fc.integer({ min: 1, max: 20 });
    const requests = fc.oneof(
      fc
        .tuple(ids, lengths, lengths)
        .map(([id, offset, length]) => encodeHead(CLIENT_FRAMES.read, id, { key: keyOf(9), offset, length })),
      fc
        .tuple(ids, lengths)
        .map(([id, most]) => encodeHead(CLIENT_FRAMES.take, id, { most: Math.max(1, most) })),
      headers,
    );
    await fc.assert(
      fc.asyncProperty(fc.array(requests, { maxLength: 8 }), async (list) => {
        const raw = new RawClient(server).write(HELLO, ...list);
        raw.socket.resume();
        raw.socket.end();
        await raw.closed;
        expect(await other.readInto(keyOf(9), new Uint8Array(20))).toBe(9);
      }),
      { numRuns: 200 },
    );
    expect(failures.length).toBeGreaterThan(0);
    for (const error of failures) expect(isTieredError(error), String(error)).toBe(true);
  });
});
