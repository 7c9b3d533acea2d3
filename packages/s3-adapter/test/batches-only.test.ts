import { loadChecksum } from '@tiered/core/internal';
import { someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { answering, BUCKET, driverOn } from './helpers.js';
import { entryOf } from './tar-entries.js';

const BYTES = 1000;
const OBJECTS = new Map(['a', 'b', 'c'].map((key, i) => [key, someBytes(BYTES, i)]));
const ETAG = '"1"';

/** An entry with its ETag and its checksum, or those of other bytes. */
async function entry(key: string, { etag = ETAG, of = key }: { etag?: string; of?: string } = {}) {
  const checksum = await loadChecksum();
  const [bytes, others] = [OBJECTS.get(key), OBJECTS.get(of)].map((one) => one ?? new Uint8Array());
  if (bytes === undefined || others === undefined) throw new Error('no bytes');
  return entryOf({ name: key, bytes, etag: `${etag} ${checksum.bytes(others).toString(16)}` });
}

const absent = (key: string, status: string) =>
  entryOf({ name: `__404__/${key}`, bytes: new Uint8Array(), etag: status });

/** What came of reading these keys, and which requests the server was sent. */
async function readOnly(pieces: readonly Uint8Array[], keys = [...OBJECTS.keys()], bytes = BYTES) {
  const asked: string[] = [];
  const endpoint = await answering((request, response) => {
    asked.push(`${request.url} ${String(request.headers['x-tiered-sums'])}`);
    response.setHeader('content-type', 'application/x-tar').end(Buffer.concat(pieces));
  });
  const driver = await driverOn(endpoint, { batches: 'only' });
  const requests = keys.map((key) => ({ key, offset: 0, target: new Uint8Array(bytes), version: ETAG }));
  const outcomes = await driver.readMany(requests, {});
  const said = outcomes.map((outcome, at) => {
    if ('error' in outcome) return (outcome.error as { code: string }).code;
    const { key = '', target = new Uint8Array() } = requests[at] ?? {};
    return Buffer.compare(target, OBJECTS.get(key) ?? new Uint8Array()) === 0 ? 'right' : 'wrong';
  });
  return { said, asked };
}

const END = new Uint8Array(1024);
const ONCE = [`/v1/ml/moss/${BUCKET} 1`];

describe('batches alone', () => {
  it('[O10] are one request, also for a single range, and have their checksums compared', async () => {
    const [a, b, c] = await Promise.all([...OBJECTS.keys()].map((key) => entry(key)));
    if (a === undefined || b === undefined || c === undefined) throw new Error('no entry');
    expect(await readOnly([a, b, c, END])).toEqual({ said: ['right', 'right', 'right'], asked: ONCE });
    expect(await readOnly([a, END], ['a'])).toEqual({ said: ['right'], asked: ONCE });
  });

  it.each([
    ['is missing', () => absent('b', '404'), 'TIERED_NOT_FOUND'],
    ['has no such range', () => absent('b', '416'), 'TIERED_SOURCE_CHANGED'],
    ['has changed', () => absent('b', '412'), 'TIERED_SOURCE_CHANGED'],
    ['fails', () => absent('b', '500'), 'TIERED_IO'],
    ['is of another version', () => entry('b', { etag: '"2"' }), 'TIERED_SOURCE_CHANGED'],
    ['has another checksum', () => entry('b', { of: 'c' }), 'TIERED_DATA_CORRUPT'],
    [
      'has no checksum',
      () => entryOf({ name: 'b', bytes: OBJECTS.get('b') ?? END, etag: ETAG }),
      'TIERED_DATA_CORRUPT',
    ],
    ['is that of another object', () => entry('c'), 'TIERED_IO'],
  ] as const)('[O10] say of an item that it %s, and read nothing singly', async (_, make, code) => {
    const pieces = [await entry('a'), await make(), await entry('c'), END];
    expect(await readOnly(pieces)).toEqual({ said: ['right', code, 'right'], asked: ONCE });
  });

  it('[O10] say of no object that it is missing where the endpoint is', async () => {
    const endpoint = await answering((_, response) => response.writeHead(404).end());
    const driver = await driverOn(endpoint, { batches: 'only' });
    const outcomes = await driver.readMany([{ key: 'a', offset: 0, target: new Uint8Array(1) }], {});
    expect(outcomes).toMatchObject([{ error: { code: 'TIERED_UNSUPPORTED', cause: { status: 404 } } }]);
  });

  it('[O10] say what failed of all that did not come', async () => {
    const cut = await entry('b');
    const { said } = await readOnly([await entry('a'), cut.subarray(0, cut.byteLength - 600)]);
    expect(said[0]).toBe('right');
    expect(said.slice(1)).not.toContain('right');
  });

  it('refuse what cannot be in a batch, without a request', async () => {
    expect(await readOnly([END], ['a/'])).toEqual({ said: ['TIERED_IO'], asked: [] });
    expect(await readOnly([END], ['a'], 2 ** 20 + 1)).toEqual({ said: ['TIERED_IO'], asked: [] });
  });
});
