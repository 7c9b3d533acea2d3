import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { answering, BUCKET, driverOn, place } from './helpers.js';
import { entryOf } from './tar-entries.js';

const OBJECTS: Readonly<Record<string, Buffer>> = Object.fromEntries(
  ['a', 'b', 'c', 'd'].map((key, i) => [key, Buffer.from(someBytes(1000, i))]),
);
const ETAG = '"1"';
const END = Buffer.alloc(1024);

function entries(of: Readonly<Record<string, Uint8Array>> = OBJECTS): Buffer[] {
  return Object.entries(of).map(([name, bytes]) => entryOf({ name, bytes, etag: ETAG }));
}

/** What the server is asked for: a batch, or a key. */
interface Asked {
  readonly batches: number;
  readonly keys: readonly string[];
}

/**
 * Reads all objects at once from a server that says that it has batches, and answers them in this way.
 * @returns What it was asked for, by each of two calls, and whether the bytes are right.
 */
async function readTwice(
  answerBatch: (response: ServerResponse, request: IncomingMessage) => void,
): Promise<{ readonly asked: readonly Asked[]; readonly areRight: boolean }> {
  let [batches, keys]: [number, string[]] = [0, []];
  const endpoint = await answering((request, response) => {
    response.setHeader('x-tiered-batch', '/v1/ml/moss');
    if (request.url === `/v1/ml/moss/${BUCKET}`) {
      batches += 1;
      answerBatch(response, request);
      return;
    }
    const key = decodeURIComponent(request.url?.slice(BUCKET.length + 2) ?? '');
    if (request.method !== 'HEAD') keys.push(key);
    response.setHeader('etag', ETAG).setHeader('content-length', 1000);
    response.end(OBJECTS[key]);
  });
  const driver = await driverOn(endpoint);
  await driver.stat('a', {});
  const asked: Asked[] = [];
  let areRight = true;
  for (let i = 0; i < 2; i++) {
    const requests = Object.keys(OBJECTS).map((key) => ({ key, offset: 0, target: new Uint8Array(1000) }));
    const outcomes = await driver.readMany(requests, {});
    areRight &&= outcomes.every((one) => 'bytes' in one && one.bytes === 1000);
    areRight &&= requests.every(({ key, target }) => OBJECTS[key]?.equals(target) === true);
    asked.push({ batches, keys: keys.sort() });
    [batches, keys] = [0, []];
  }
  return { asked, areRight };
}

function tar(...pieces: readonly Uint8Array[]) {
  return (response: ServerResponse): void => {
    response.setHeader('content-type', 'application/x-tar').end(Buffer.concat(pieces));
  };
}

const ALL = Object.keys(OBJECTS);
const [A = END, B = END, C = END, D = END] = entries();

describe('a batch', () => {
  it('is one request, in pieces of any size, with its items in order', async () => {
    let body = '';
    const whole = Buffer.concat([A, B, C, D, END]);
    const { asked, areRight } = await readTwice((response, request) => {
      response.setHeader('content-type', 'application/x-tar');
      body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => {
        for (let at = 0; at < whole.byteLength; at += 333) response.write(whole.subarray(at, at + 333));
        response.end();
      });
    });
    expect({ asked, areRight }).toEqual({
      asked: [1, 1].map((batches) => ({ batches, keys: [] })),
      areRight: true,
    });
    expect(JSON.parse(body)).toEqual({
      in: ALL.map((objname) => ({ objname, start: 0, length: 1000 })),
      ...{ strm: true, onob: true, coer: true },
    });
  });

  it.each([
    ['that is missing', [A, entryOf({ name: '__404__/b', bytes: new Uint8Array() }), C, D, END]],
    ['of another length', [A, entryOf({ name: 'b', bytes: new Uint8Array(999), etag: ETAG }), C, D, END]],
    ['without an ETag', [A, entryOf({ name: 'b', bytes: new Uint8Array(1000) }), C, D, END]],
    ['of another name', [A, entryOf({ name: 'e', bytes: new Uint8Array(1000), etag: ETAG }), C, D, END]],
  ])('[O10] has an item %s read singly, and no other', async (_, pieces) => {
    const { asked, areRight } = await readTwice(tar(...pieces));
    expect({ asked, areRight }).toEqual({
      asked: [1, 1].map((batches) => ({ batches, keys: ['b'] })),
      areRight: true,
    });
  });

  it.each([
    ['the answer ends after a few', tar(A, B), ['c', 'd']],
    [
      'the connection breaks within an item',
      (response: ServerResponse) => {
        response.setHeader('content-type', 'application/x-tar');
        response.write(Buffer.concat([A, B, C.subarray(0, 1500)]), () => response.destroy());
      },
      ['c', 'd'],
    ],
    [
      'there are too many requests',
      (response: ServerResponse) => response.writeHead(503, { 'retry-after': '1' }).end(),
      ALL,
    ],
  ])('[O10] is asked for again the next time if %s', async (_, answerBatch, keys) => {
    const { asked, areRight } = await readTwice(answerBatch);
    expect({ asked, areRight }).toEqual({
      asked: [1, 1].map((batches) => ({ batches, keys })),
      areRight: true,
    });
  });

  const wrong = Buffer.from(C).fill('not a header', 1024, 1536);
  it.each([
    ['is refused', (response: ServerResponse) => response.writeHead(400).end(), ALL],
    [
      'is answered with something else',
      (response: ServerResponse) => response.setHeader('content-type', 'text/html').end('<p>Hello'),
      ALL,
    ],
    ['has a wrong header', tar(A, B, wrong, D, END), ['c', 'd']],
    ['is no tar', tar(Buffer.alloc(3000, 'x')), ALL],
    ['is cut off within an item', tar(A, B, C.subarray(0, 1600)), ['c', 'd']],
    ['is compressed', tar(gzipSync(Buffer.concat([A, B, C, D, END]))), ALL],
  ])('[O10] is not asked for again if it %s', async (_, answerBatch, keys) => {
    const { asked, areRight } = await readTwice(answerBatch);
    expect({ asked, areRight }).toEqual({
      asked: [
        { batches: 1, keys },
        { batches: 0, keys: ALL },
      ],
      areRight: true,
    });
  });

  it('is cut off if it does not end', async () => {
    let isClosed = false;
    const { asked, areRight } = await readTwice((response) => {
      response.setHeader('content-type', 'application/x-tar');
      response.on('close', () => (isClosed = true));
      const goOn = () => {
        if (!isClosed) response.write(Buffer.alloc(16 * 1024), goOn);
      };
      response.write(A, goOn);
    });
    expect({ batches: asked.map(({ batches }) => batches), areRight }).toEqual({
      batches: [1, 0],
      areRight: true,
    });
  });
});

it('[O10] servers that do not offer batches are not asked for one', async () => {
  const { server, driver } = await place();
  for (const [key, bytes] of Object.entries(OBJECTS)) server.put(BUCKET, key, bytes);
  await driver.stat('a', {});
  const requests = ALL.map((key) => ({ key, offset: 0, target: new Uint8Array(1000) }));
  await driver.readMany(requests, {});
  const counts = Object.entries(server.requests).filter(([, count]) => count > 0);
  expect(Object.fromEntries(counts)).toEqual({ HeadObject: 1, GetObject: ALL.length });
});
