import {
  GetBucketLocationCommand,
  HeadBucketCommand,
  ListBucketsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3';
import { systemClock, type Hierarchy } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SortedIds } from '../src/hierarchy/sorted-ids.js';
import { BUCKET, clientOf, codeIn, gatewayOn, hierarchyOn, send, sourceOf } from './helpers.js';

async function served(keys: readonly string[]) {
  const source = await sourceOf(Object.fromEntries(keys.map((key) => [key, Buffer.from(key)])));
  const hierarchy = await hierarchyOn(source);
  const gateway = await gatewayOn(hierarchy);
  return { source, hierarchy, gateway, client: clientOf(gateway) };
}

/** Keys and common prefixes, as S3 would list them: in the order of their UTF-8. */
function expected(keys: readonly string[], prefix: string, delimiter: string): string[] {
  const found = keys
    .filter((key) => key.startsWith(prefix))
    .map((key) => {
      const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
      return end === -1 ? `key ${key}` : `prefix ${key.slice(0, end + delimiter.length)}`;
    });
  const bytes = (text: string) => Buffer.from(text.replace(/^(key|prefix) /, ''));
  return [...new Set(found)].sort((a, b) => Buffer.compare(bytes(a), bytes(b)));
}

interface Listed {
  readonly Contents?: readonly { readonly Key?: string | undefined }[] | undefined;
  readonly CommonPrefixes?: readonly { readonly Prefix?: string | undefined }[] | undefined;
}

function entriesOf({ Contents = [], CommonPrefixes = [] }: Listed): string[] {
  const decode = (text = '') => decodeURIComponent(text.replaceAll('+', ' '));
  const all = [
    ...Contents.map(({ Key }) => `key ${decode(Key)}`),
    ...CommonPrefixes.map(({ Prefix }) => `prefix ${decode(Prefix)}`),
  ];
  const bytes = (text: string) => Buffer.from(text.replace(/^(key|prefix) /, ''));
  return all.sort((a, b) => Buffer.compare(bytes(a), bytes(b)));
}

const key = fc
  .string({
    minLength: 1,
    maxLength: 6,
    unit: fc.constantFrom('a', 'b', '/', 'é', '\uffee', '\u{1f600}', ' '),
  })
  .filter((text) => text !== '.' && text !== '..');

describe('listings', () => {
  it('[X1] give every key once, in the order of UTF-8, whatever the page, prefix and delimiter', async () => {
    const any = fc.record({
      keys: fc.uniqueArray(key, { maxLength: 12 }),
      Prefix: fc.constantFrom('', 'a', 'a/', 'é'),
      Delimiter: fc.constantFrom('', '/', 'b'),
      MaxKeys: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(any, async ({ keys, Prefix, Delimiter, MaxKeys }) => {
        const { client, gateway } = await served(keys);
        const input = { Bucket: BUCKET, Prefix, Delimiter, MaxKeys, EncodingType: 'url' } as const;
        const wanted = expected(keys, Prefix, Delimiter);
        const second: string[] = [];
        let ContinuationToken: string | undefined;
        do {
          const page = await client.send(new ListObjectsV2Command({ ...input, ContinuationToken }));
          second.push(...entriesOf(page));
          ContinuationToken = page.NextContinuationToken;
          expect(page.IsTruncated).toBe(ContinuationToken !== undefined);
        } while (ContinuationToken !== undefined);
        expect(second).toEqual(wanted);
        const first: string[] = [];
        let Marker: string | undefined;
        do {
          const page = await client.send(new ListObjectsCommand({ ...input, Marker }));
          first.push(...entriesOf(page));
          Marker = page.NextMarker && decodeURIComponent(page.NextMarker.replaceAll('+', ' '));
        } while (Marker !== undefined);
        expect(first).toEqual(wanted);
        await gateway.close();
      }),
      { numRuns: 40 },
    );
  });

  it('[X1] show what came, and not what is gone', async () => {
    const { source, hierarchy, client } = await served(['a', 'c']);
    const keys = async () => {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET }));
      return Contents.map(({ Key }) => Key);
    };
    expect(await keys()).toEqual(['a', 'c']);
    await source.write('b', Buffer.from('b'), { size: 1 });
    await source.delete('a', {});
    await hierarchy.rescan();
    expect(await keys()).toEqual(['b', 'c']);
  });

  it('describe objects as HEAD does', async () => {
    const { client, gateway } = await served(['k']);
    const { Contents } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET }));
    const { headers } = await send(gateway, `/${BUCKET}/k`, { method: 'HEAD' });
    expect(Contents?.[0]).toMatchObject({
      ETag: headers['etag'],
      Size: Number(headers['content-length']),
      LastModified: new Date(headers['last-modified'] ?? ''),
    });
  });

  it('[X1] of a hierarchy that was not scanned are refused, since they would not be whole', async () => {
    const hierarchy = await hierarchyOn(await sourceOf({ k: Buffer.from('k') }), { scan: false });
    const gateway = await gatewayOn({ hierarchy });
    const listed = await send(gateway, `/${BUCKET}?list-type=2`);
    expect([listed.status, codeIn(listed)]).toEqual([501, 'NotImplemented']);
    expect((await send(gateway, `/${BUCKET}/k`)).body.toString()).toBe('k');
  });

  it('refuse what they cannot mean', async () => {
    const { gateway } = await served([]);
    const codeOf = async (query: string) => codeIn(await send(gateway, `/${BUCKET}?${query}`));
    expect(await codeOf('list-type=2&max-keys=x')).toBe('InvalidArgument');
    expect(await codeOf('list-type=2&continuation-token=%21')).toBe('InvalidArgument');
    expect(await codeOf('versions')).toBe('NotImplemented');
    expect(await codeOf('acl')).toBe('NotImplemented');
  });
});

describe('buckets', () => {
  it('are told, each with its region', async () => {
    const { client } = await served([]);
    const { Buckets } = await client.send(new ListBucketsCommand({}));
    expect(Buckets?.map(({ Name }) => Name)).toEqual([BUCKET]);
    const { BucketRegion } = await client.send(new HeadBucketCommand({ Bucket: BUCKET }));
    expect(BucketRegion).toBe('us-east-1');
    expect(await client.send(new GetBucketLocationCommand({ Bucket: BUCKET }))).toBeDefined();
    const missing = client.send(new HeadBucketCommand({ Bucket: 'other' }));
    await expect(missing).rejects.toMatchObject({ $metadata: { httpStatusCode: 404 } });
  });
});

describe('sorted ids', () => {
  const sortedKeys = async ({ namespace }: Hierarchy, ids: SortedIds) =>
    [...(await ids.all())].map((id) => namespace.keyOf(id));

  it('are in order over many runs, and after more objects have come', async () => {
    const names = Array.from({ length: 20_000 }, (_, i) => Buffer.from(someBytes(8, i)).toString('hex'));
    const source = await sourceOf({});
    for (const name of names.slice(0, 17_000)) await source.write(name, Buffer.alloc(0), { size: 0 });
    const hierarchy = await hierarchyOn(source);
    const ids = new SortedIds(hierarchy.namespace, systemClock, () => undefined);
    expect(await sortedKeys(hierarchy, ids)).toEqual(names.slice(0, 17_000).sort());
    for (const name of names.slice(17_000)) await source.write(name, Buffer.alloc(0), { size: 0 });
    await hierarchy.rescan();
    const [one, other] = await Promise.all([ids.all(), ids.all()]);
    expect(one).toBe(other);
    expect(await sortedKeys(hierarchy, ids)).toEqual(names.sort());
  });

  it('end with the gateway', async () => {
    const hierarchy = await hierarchyOn(await sourceOf({ k: Buffer.alloc(0) }));
    const ids = new SortedIds(hierarchy.namespace, systemClock, () => {
      throw new Error('ended');
    });
    await expect(ids.all()).rejects.toThrow('ended');
  });
});
