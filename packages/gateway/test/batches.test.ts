import { MemoryDriver, type StorageDriver } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BATCH, batchOf, batchText, bodyOf, entriesOf, type Item } from './batch-helpers.js';
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

const KIB = 1024;
const LONG = `${'d/'.repeat(120)}größe`;
const OBJECTS: Readonly<Record<string, Uint8Array>> = {
  empty: someBytes(0, 0),
  one: someBytes(1, 1),
  block: someBytes(512, 2),
  [LONG]: someBytes(700, 3),
  piece: someBytes(256 * KIB, 4),
  behind: someBytes(256 * KIB + 1, 5),
  small: someBytes(1024 * KIB, 6),
  large: someBytes(3000 * KIB, 7),
};
const KEYS = Object.keys(OBJECTS);

/** What an item has to be in the answer, by the source itself. */
async function expected(source: StorageDriver, { objname, start = 0, length = 0 }: Item) {
  const missing = { path: `__404__/${BUCKET}/${objname}`, bytes: Buffer.alloc(0) };
  if (OBJECTS[objname] === undefined) return missing;
  const { size } = await source.stat(objname, {});
  const isAll = start === 0 && length === 0;
  const end = isAll || length === -1 ? size : start + length;
  if (end > size || (start > 0 && start >= size)) return missing;
  const bytes = await source.read(objname, { offset: start, length: end - start });
  return { path: `${BUCKET}/${objname}`, bytes: Buffer.from(bytes) };
}

describe('batches', () => {
  it('[X1] give the bytes of the source, in order, for any list of keys and ranges', async () => {
    const source = await sourceOf(OBJECTS);
    const gateways = [await gatewayOn(await hierarchyOn(source)), await gatewayOn(await onSource(source))];
    const range = fc.oneof(
      fc.constant({}),
      fc.record({ start: fc.nat({ max: 1000 }), length: fc.integer({ min: 1, max: 1000 }) }),
      fc.record({ start: fc.nat({ max: 300 * KIB }), length: fc.constantFrom(-1, 1, 500 * KIB) }),
    );
    const item = fc
      .tuple(fc.constantFrom(...KEYS, 'missing', `${LONG}/missing`), range)
      .map(([objname, of]): Item => ({ objname, ...of }));
    const any = fc.record({
      gateway: fc.constantFrom(...gateways),
      items: fc.array(item, { minLength: 1, maxLength: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(any, async ({ gateway, items }) => {
        const answer = await batchOf(gateway, items);
        expect([answer.status, answer.headers['content-type'], answer.brokenOffBy]).toEqual([
          200,
          'application/x-tar',
          undefined,
        ]);
        const wanted = await Promise.all(items.map((one) => expected(source, one)));
        const found = await entriesOf(answer.body);
        expect(found.map(({ path }) => path)).toEqual(wanted.map(({ path }) => path));
        const isSame = found.map(({ bytes }, i) => bytes.equals(wanted[i]?.bytes ?? Buffer.alloc(1)));
        expect(isSame).not.toContain(false);
      }),
      { numRuns: 40 },
    );
    for (const gateway of gateways) expect(gateway.stats().heldBytes).toBe(0);
  });

  it('[X1] give thousands of objects in one answer, and one line of the log', async () => {
    const objects = Object.fromEntries(
      Array.from({ length: 1000 }, (_, i) => [`o${i}`, someBytes(i % 50, i)]),
    );
    const { onAnswer, count } = toldOf();
    const gateway = await gatewayOn(await onSource(await sourceOf(objects)), { onAnswer });
    const answer = await batchOf(
      gateway,
      Object.keys(objects).map((objname) => ({ objname })),
    );
    const entries = await entriesOf(answer.body);
    expect(entries).toHaveLength(1000);
    expect(entries.every(({ bytes }, i) => bytes.equals(objects[`o${i}`] ?? Buffer.alloc(1)))).toBe(true);
    const told = await count(1);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({
      operation: 'GetBatch',
      bucket: BUCKET,
      key: '',
      status: 200,
      bytes: answer.body.byteLength,
      from: 'source',
      isBroken: false,
    });
  });

  it('[X1] name entries as AIStore does, also of other buckets', async () => {
    const gateway = await gatewayOn(await hierarchyOn(await sourceOf({ k: someBytes(1, 1) })), {
      buckets: {
        [BUCKET]: { hierarchy: await hierarchyOn(await sourceOf({ k: someBytes(1, 1) })) },
        other: { hierarchy: await hierarchyOn(await sourceOf({ k: someBytes(2, 2) })), prefix: 'p/' },
      },
    });
    const items = [{ objname: 'k' }, { objname: 'p/k', bucket: 'other' }, { objname: 'k', bucket: 'other' }];
    const named = async (path: string, options: Readonly<Record<string, unknown>>) => {
      const { body } = await send(gateway, path, { body: bodyOf(items, options) });
      return (await entriesOf(body)).map((entry) => [entry.path, entry.bytes.byteLength]);
    };
    expect(await named(`${BATCH}?provider=ais`, { mime: '.tar', coloc: 1 })).toEqual([
      [`${BUCKET}/k`, 1],
      ['other/p/k', 2],
      ['__404__/other/k', 0],
    ]);
    expect(await named(BATCH, { onob: true })).toEqual([
      ['k', 1],
      ['p/k', 2],
      ['__404__/k', 0],
    ]);
  });

  it('[X1] reach no object outside of the prefix of the bucket', async () => {
    const source = await sourceOf({ k: someBytes(3, 1), 'p/k': someBytes(4, 2) });
    const gateway = await gatewayOn({ hierarchy: await hierarchyOn(source), prefix: 'data/' });
    const keys = ['data/k', 'k', 'data/', 'data', '/data/k', 'data/../k', 'data//k', 'data/p/../k', '\0'];
    const answer = await batchOf(
      gateway,
      keys.map((objname) => ({ objname })),
    );
    const entries = await entriesOf(answer.body);
    expect(entries.map(({ bytes }) => bytes.byteLength)).toEqual([3, ...keys.slice(1).map(() => 0)]);
    expect(entries.slice(1).every(({ path }) => path.startsWith('__404__/'))).toBe(true);
  });

  it('[X4] say where the first bytes are from, and in the log the slowest', async () => {
    const { onAnswer, count } = toldOf();
    const hierarchy = await hierarchyOn(await sourceOf(OBJECTS), {
      tiers: [{ driver: new MemoryDriver(), quota: '1MiB' }],
    });
    const gateway = await gatewayOn(hierarchy, { onAnswer });
    await hierarchy.place('one');
    const first = async (...names: string[]) =>
      (
        await batchOf(
          gateway,
          names.map((objname) => ({ objname })),
        )
      ).headers['x-tiered-from'];
    expect(await first('one', 'large')).toBe('ram');
    expect(await first('large', 'one')).toBe('source');
    expect(await first('missing')).toBeUndefined();
    expect((await count(3)).map(({ from }) => from)).toEqual(['source', 'source', undefined]);
  });

  it('[X4] have only what is on a tier, if no more is asked for', async () => {
    const hierarchy = await hierarchyOn(await sourceOf(OBJECTS), {
      tiers: [{ driver: new MemoryDriver(), quota: '1MiB' }],
    });
    const gateway = await gatewayOn(hierarchy);
    await hierarchy.place('one');
    const before = hierarchy.stats().source.reads;
    const headers = { 'cache-control': 'only-if-cached' };
    const items = [{ objname: 'large' }, { objname: 'one' }, { objname: 'unknown' }];
    const { body } = await batchOf(gateway, items, {}, { headers });
    expect((await entriesOf(body)).map(({ path }) => path)).toEqual([
      `__404__/${BUCKET}/large`,
      `${BUCKET}/one`,
      `__404__/${BUCKET}/unknown`,
    ]);
    expect(hierarchy.stats().source.reads).toBe(before);
    expect((await batchOf(gateway, items, { coer: false }, { headers })).status).toBe(504);
  });
});

describe('batches that are refused', () => {
  const item = { objname: 'one' };

  it.each([
    ['no JSON', Buffer.from('{"in":')],
    ['no items', bodyOf([])],
    ['an item without a name', bodyOf([{ objname: '' }])],
    ['another archive', bodyOf([item], { mime: '.zip' })],
    ['an answer in parts', bodyOf([item], { strm: false })],
    ['a file of a shard', bodyOf([{ ...item, archpath: 'a' } as Item])],
    ['a start without a length', bodyOf([{ ...item, start: 1 }])],
    ['a negative start', bodyOf([{ ...item, start: -1, length: 1 }])],
    ['too many items', bodyOf([item, item, item])],
  ])('[X2] for %s', async (_, body) => {
    const gateway = await gatewayOn(await onSource(await sourceOf(OBJECTS)), { limits: { batchItems: 2 } });
    const answer = await send(gateway, BATCH, { body });
    expect([answer.status, codeIn(answer)]).toEqual([400, 'InvalidRequest']);
  });

  it('[X2] for too many items, before any of them is looked at', async () => {
    const gateway = await gatewayOn(await onSource(await sourceOf(OBJECTS)));
    const items = `${'0,'.repeat(1_000_000)}0`;
    const answer = await send(gateway, BATCH, { body: Buffer.from(`{"in":[${items}],"strm":true}`) });
    expect([answer.status, codeIn(answer)]).toEqual([400, 'InvalidRequest']);
    expect(answer.body.toString()).toContain('may have 16384 items');
    const wrong = await batchOf(gateway, [item, { ...item, start: 1 }]);
    expect(wrong.body.toString()).toContain('in.1.');
  });

  it('[X2] for a body that is too large, however it comes', async () => {
    const limits = { batchBytes: 1000 };
    const gateway = await gatewayOn(await onSource(await sourceOf(OBJECTS)), { limits });
    const body = Buffer.alloc(1001, ' ');
    bodyOf([item]).copy(body);
    const isChunked = { 'transfer-encoding': 'chunked' };
    for (const headers of [{}, isChunked]) {
      const answer = await send(gateway, BATCH, { body, headers });
      expect([answer.status, codeIn(answer)]).toEqual([400, 'EntityTooLarge']);
      const fits = await send(gateway, BATCH, { body: body.subarray(0, 1000), headers });
      expect(fits.status).toBe(200);
    }
  });

  it('for buckets that are not served, and items without one', async () => {
    const gateway = await gatewayOn(await onSource(await sourceOf(OBJECTS)));
    const other = await batchOf(gateway, [item, { ...item, bucket: 'elsewhere' }]);
    expect([other.status, codeIn(other)]).toEqual([404, 'NoSuchBucket']);
    const none = await send(gateway, '/v1/ml/moss', { body: bodyOf([item]) });
    expect([none.status, codeIn(none)]).toEqual([400, 'InvalidRequest']);
    const each = await send(gateway, '/v1/ml/moss', { body: bodyOf([{ ...item, bucket: BUCKET }]) });
    expect(await entriesOf(each.body)).toHaveLength(1);
  });

  it('for a missing item, if it is to be an error of the answer', async () => {
    const gateway = await gatewayOn(await onSource(await sourceOf(OBJECTS)));
    const first = await batchOf(gateway, [{ objname: 'missing' }, item], { coer: false });
    expect([first.status, codeIn(first)]).toEqual([404, 'NoSuchKey']);
    const later = await batchOf(gateway, [item, { objname: 'missing' }], { coer: false });
    expect([later.status, later.brokenOffBy]).toEqual([200, 'ECONNRESET']);
  });

  it('for other methods and paths', async () => {
    const gateway = await gatewayOn(await onSource(await sourceOf(OBJECTS)));
    const asked = (method: string, path: string) => send(gateway, path, { method, body: bodyOf([item]) });
    expect((await asked('POST', BATCH)).status).toBe(403);
    expect((await asked('HEAD', BATCH)).status).toBe(404);
    expect((await asked('GET', `${BATCH}/more`)).status).toBe(404);
    expect((await asked('GET', '/v1/ml')).status).toBe(404);
  });

  it('[X1] for HTTP/1.0, where an answer that breaks off would look whole', async () => {
    const gateway = await gatewayOn(await onSource(await sourceOf(OBJECTS)));
    const text = batchText([item]);
    const socket = connectionTo(gateway, text.replace('HTTP/1.1', 'HTTP/1.0'));
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    await once(socket, 'close');
    expect(Buffer.concat(pieces).toString()).toMatch(/^HTTP\/1\.1 505 /);
  });

  it('are not, if the client waits before it sends the body', async () => {
    const gateway = await gatewayOn(await onSource(await sourceOf(OBJECTS)));
    const answer = await batchOf(gateway, [item], {}, { headers: { expect: '100-continue' } });
    expect(await entriesOf(answer.body)).toHaveLength(1);
  });
});
