import { ListObjectsV2Command, type ListObjectsV2CommandInput } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, sendSigned, startServer } from './helpers.js';

async function serverWith(keys: readonly string[], pageSize?: number) {
  const server = await startServer(pageSize === undefined ? {} : { pageSize });
  for (const key of keys) server.put(BUCKET, key, Buffer.from(key));
  const client = clientOf(server);
  const page = (input: Partial<ListObjectsV2CommandInput> = {}) =>
    client.send(new ListObjectsV2Command({ Bucket: BUCKET, ...input }));
  return { server, page };
}

describe('listing', () => {
  it('gives every key once, over pages, in the order of UTF-8 and not of UTF-16', async () => {
    const keys = ['a', 'b/1', 'b/2', 'z', '\uffee', '\u{1f600}'];
    const { page, server } = await serverWith([...keys].reverse(), 2);
    const found: (string | undefined)[] = [];
    let token: string | undefined;
    do {
      const { Contents = [], NextContinuationToken } = await page({ ContinuationToken: token });
      expect(Contents.length).toBe(2);
      found.push(...Contents.map(({ Key }) => Key));
      token = NextContinuationToken;
    } while (token !== undefined);
    expect(found).toEqual(keys);
    expect(server.requests.ListObjectsV2).toBe(3);
  });

  it('describes each object as a HEAD does', async () => {
    const { page } = await serverWith(['k']);
    const { Contents, KeyCount, IsTruncated, Name } = await page();
    expect({ KeyCount, IsTruncated, Name }).toEqual({ KeyCount: 1, IsTruncated: false, Name: BUCKET });
    expect(Contents?.[0]).toMatchObject({ Key: 'k', Size: 1, ETag: '"8ce4b16b22b58894aa86c421e8759df3"' });
  });

  it('takes a prefix, and start-after', async () => {
    const { page } = await serverWith(['a', 'b/1', 'b/2', 'b/3', 'c']);
    const keysOf = async (input: Partial<ListObjectsV2CommandInput>) =>
      (await page(input)).Contents?.map(({ Key }) => Key) ?? [];
    expect(await keysOf({ Prefix: 'b/' })).toEqual(['b/1', 'b/2', 'b/3']);
    expect(await keysOf({ Prefix: 'b/', StartAfter: 'b/1' })).toEqual(['b/2', 'b/3']);
    expect(await keysOf({ StartAfter: 'b/3' })).toEqual(['c']);
    expect(await keysOf({ Prefix: 'none' })).toEqual([]);
    expect(await keysOf({ MaxKeys: 0 })).toEqual([]);
  });

  it('rolls up what has a delimiter behind the prefix, also where a page ends', async () => {
    const { page } = await serverWith(['a/1', 'a/2', 'b', 'c/d/1', 'c/d/2', 'c/e'], 1);
    const steps: string[] = [];
    let token: string | undefined;
    do {
      const answer = await page({ Delimiter: '/', ContinuationToken: token });
      steps.push(...(answer.Contents ?? []).map(({ Key }) => `key ${Key}`));
      steps.push(...(answer.CommonPrefixes ?? []).map(({ Prefix }) => `prefix ${Prefix}`));
      token = answer.NextContinuationToken;
    } while (token !== undefined);
    expect(steps).toEqual(['prefix a/', 'key b', 'prefix c/']);
    const below = await page({ Delimiter: '/', Prefix: 'c/' });
    expect(below.CommonPrefixes).toEqual([{ Prefix: 'c/d/' }]);
  });

  it('with encoding-type=url carries keys that XML cannot', async () => {
    const { server } = await serverWith(['a b+c/\u0001é*~&']);
    const encoded = await sendSigned(server, { target: `/${BUCKET}?list-type=2&encoding-type=url` });
    expect(encoded.body.toString()).toContain('<Key>a+b%2Bc/%01%C3%A9*%7E%26</Key>');
    const plain = await sendSigned(server, { target: `/${BUCKET}?list-type=2` });
    expect(plain.body.toString()).toContain('<Key>a b+c/&#x1;é*~&amp;</Key>');
    expect(plain.body.toString()).toMatch(/<ETag>&quot;[0-9a-f]{32}&quot;<\/ETag>/);
  });

  it('refuses what it cannot mean', async () => {
    const { server } = await serverWith([]);
    const codeOf = async (query: string) =>
      codeIn(await sendSigned(server, { target: `/${BUCKET}?${query}` }));
    expect(await codeOf('list-type=2&max-keys=x')).toBe('InvalidArgument');
    expect(await codeOf('list-type=2&continuation-token=%21')).toBe('InvalidArgument');
    expect(await codeOf('list-type=1')).toBe('InvalidArgument');
    expect(await codeOf('versions')).toBe('NotImplemented');
  });
});
