import { loadChecksum } from '@tiered/core/internal';
import { FaultDriver, someBytes } from '@tiered/core/testing';
import type { ReadEntry } from 'tar/read-entry';
import { list } from 'tar/list';
import { describe, expect, it } from 'vitest';
import { batchOf } from './batch-helpers.js';
import { BUCKET, gatewayOn, hierarchyOn, onSource, send, sourceOf } from './helpers.js';

const LONG = 'é'.repeat(100);
const OBJECTS = { a: someBytes(10, 1), [LONG]: someBytes(600, 2), empty: someBytes(0, 0) };
const ITEMS = ['a', LONG, 'missing', 'empty', 'a'].map((objname) => ({ objname }));
const ASKED = { headers: { 'x-tiered-etags': '1' } };

function served() {
  return sourceOf(OBJECTS)
    .then(onSource)
    .then((hierarchy) => gatewayOn(hierarchy));
}

/** The names of a tar's entries, with what is said beside them. */
async function commentsOf(tar: Uint8Array): Promise<(readonly [string, string | undefined])[]> {
  const found: (readonly [string, string | undefined])[] = [];
  const onReadEntry = ({ path, extended }: ReadEntry) => found.push([path, extended?.comment]);
  const parser = list({ strict: true, onReadEntry: (entry) => void onReadEntry(entry) });
  await new Promise((resolve, reject) => {
    parser.on('error', reject);
    parser.on('end', resolve).end(Buffer.from(tar));
  });
  return found;
}

describe('the ETags of a batch', () => {
  it('[X1] are those of the objects, for who asks', async () => {
    const gateway = await served();
    const etagOf = async (key: string) =>
      (await send(gateway, `/${BUCKET}/${encodeURIComponent(key)}`)).headers.etag;
    const { body } = await batchOf(gateway, ITEMS, { onob: true }, ASKED);
    const [a, long, empty] = await Promise.all(['a', LONG, 'empty'].map(etagOf));
    expect(await commentsOf(body)).toEqual([
      ['a', a],
      [LONG, long],
      ['__404__/missing', '404'],
      ['empty', empty],
      ['a', a],
    ]);
  });

  it('are all that a header of pax says of a name that is not long', async () => {
    const said: unknown[] = [];
    const { body } = await batchOf(await served(), [{ objname: 'a' }], { onob: true }, ASKED);
    const onReadEntry = ({ path, size, extended }: ReadEntry) =>
      void said.push(path, size, Object.keys(JSON.parse(JSON.stringify(extended)) as object));
    list({ strict: true, sync: true, onReadEntry }).end(body);
    expect(said).toEqual(['a', 10, ['comment', 'global']]);
  });

  it('cost those 1024 bytes an entry, and nobody else', async () => {
    const gateway = await served();
    const bytesOf = async (request: typeof ASKED | undefined) =>
      (await batchOf(gateway, ITEMS, {}, request)).body.byteLength;
    // The long name needs a header of pax anyway. What is missing has one with its status.
    expect((await bytesOf(ASKED)) - (await bytesOf(undefined))).toBe(4 * 1024);
    const { body } = await batchOf(gateway, ITEMS, {});
    expect((await commentsOf(body)).map(([, comment]) => comment)).toEqual(ITEMS.map(() => undefined));
  });
});

describe('the checksums of a batch', () => {
  it('[X1] stand behind the ETags, for who asks: XXH64 of the bytes, or of the range', async () => {
    const gateway = await served();
    const checksum = await loadChecksum();
    const items = [{ objname: 'a' }, { objname: LONG, start: 100, length: 50 }, { objname: 'empty' }];
    const asked = { headers: { ...ASKED.headers, 'x-tiered-sums': '1' } };
    const { body } = await batchOf(gateway, items, { onob: true }, asked);
    const sums = (await commentsOf(body)).map(([, comment]) => comment?.split(' ')[1]);
    const expected = [OBJECTS.a, OBJECTS[LONG]?.subarray(100, 150)].map((bytes) =>
      checksum.bytes(bytes ?? new Uint8Array()).toString(16),
    );
    expect(sums).toEqual([...expected, undefined]);
  });

  it('[X1] come with what can be read, also where the source fails for an object before', async () => {
    const rules = [{ key: /^a$/, operations: ['read', 'readInto'], fault: { kind: 'fail' } }] as const;
    const source = new FaultDriver(await sourceOf(OBJECTS), { rules });
    const gateway = await gatewayOn(await onSource(source));
    const items = [{ objname: 'a' }, { objname: LONG }];
    const asked = { headers: { ...ASKED.headers, 'x-tiered-sums': '1' } };
    const { body } = await batchOf(gateway, items, { onob: true }, asked);
    expect(await commentsOf(body)).toMatchObject([
      ['__404__/a', '503'],
      [LONG, expect.stringMatching(/^".*" [0-9a-f]+$/)],
    ]);
  });
});

describe('an item whose object has changed', () => {
  it('[X1] says so to who asks for checksums, and the others come', async () => {
    const source = await sourceOf(OBJECTS);
    const gateway = await gatewayOn(
      await hierarchyOn(source, { tiers: [], placement: undefined, versions: 'pin' }),
    );
    const changed = someBytes(10, 3);
    await source.write('a', changed, { size: changed.byteLength });
    const asked = { headers: { ...ASKED.headers, 'x-tiered-sums': '1' } };
    const { body } = await batchOf(gateway, [{ objname: 'a' }, { objname: LONG }], { onob: true }, asked);
    expect(await commentsOf(body)).toMatchObject([
      ['__404__/a', '412'],
      [LONG, expect.stringMatching(/^".*" [0-9a-f]+$/)],
    ]);
  });
});

describe('each answer', () => {
  it.each(['/', `/${BUCKET}?list-type=2`, `/${BUCKET}/a`, `/${BUCKET}/missing`, '/unknown'])(
    'says where batches are: that to %s',
    async (target) => {
      expect((await send(await served(), target)).headers['x-tiered-batch']).toBe('/v1/ml/moss');
    },
  );
});
