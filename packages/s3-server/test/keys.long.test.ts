import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, send, sendSigned, startServer } from './helpers.js';

/** Keys that clients and servers like to change on the way. */
const AWKWARD = [
  ...['a+b', 'a b', 'a%20b', '100%', '%2F', 'a//b', 'a/', '?q=1', '#x', 'a&b=c', "it's (a) key!*~", '<x>&"'],
  ...[
    '.',
    '..',
    '../../etc/passwd',
    'a/./b',
    'a/../b',
    'é',
    'e\u0301',
    '日本語',
    '\u{1f600}',
    '\\back',
    '__proto__',
  ],
];

/** As S3 wants them in a request line. */
function encoded(key: string): string {
  return encodeURIComponent(key).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

describe('keys', () => {
  it.each(AWKWARD)('such as %j mean what they are, also to the SDK', async (Key) => {
    const server = await startServer();
    const client = clientOf(server);
    await client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: Key }));
    expect(server.keys(BUCKET)).toEqual([Key]);
    const got = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
    expect(await got.Body?.transformToString()).toBe(Key);
    const { Contents } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET, Prefix: Key }));
    expect(Contents?.map((object) => object.Key)).toEqual([Key]);
    await client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key }));
    expect(server.keys(BUCKET)).toEqual([]);
  });

  it('of any UTF-8 survive put, list, get and delete', async () => {
    const server = await startServer();
    const key = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(key, async (name) => {
        const target = `/${BUCKET}/${encoded(name)}`;
        const body = Buffer.from(name);
        expect((await sendSigned(server, { method: 'PUT', target, body })).status).toBe(200);
        expect(server.keys(BUCKET)).toEqual([name]);
        const list = await sendSigned(server, { target: `/${BUCKET}?list-type=2&encoding-type=url` });
        const listed = /<Key>([^<]*)<\/Key>/.exec(list.body.toString())?.[1]?.replaceAll('+', '%20');
        expect(decodeURIComponent(listed ?? '')).toBe(name);
        expect(Buffer.compare((await sendSigned(server, { target })).body, body)).toBe(0);
        expect((await sendSigned(server, { method: 'DELETE', target })).status).toBe(204);
        expect(server.keys(BUCKET)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it('are taken from the request line as it is', async () => {
    const server = await startServer();
    server.createBucket('open', { public: true });
    server.put('open', 'a/../b//c', Buffer.from('dots'));
    server.put('open', 'b//c', Buffer.from('other'));
    expect((await send(server, { target: '/open/a/../b//c' })).body.toString()).toBe('dots');
    expect((await send(server, { target: '/open/a/%2e%2e/b%2F%2fc' })).body.toString()).toBe('dots');
    expect(codeIn(await send(server, { target: '/open/%ff' }))).toBe('InvalidURI');
  });
});
