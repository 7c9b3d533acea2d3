import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, sendSigned, startServer } from './helpers.js';

describe('objects', () => {
  it('come back as they were put, with their metadata', async () => {
    const server = await startServer();
    const client = clientOf(server);
    const body = someBytes(100_000, 1);
    const put = await client.send(
      new PutObjectCommand({
        Bucket: BUCKET,
        Key: 'a/b',
        Body: body,
        ContentType: 'image/x',
        Metadata: { a: '1' },
      }),
    );
    const got = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'a/b' }));
    expect(Buffer.compare((await got.Body?.transformToByteArray()) ?? Buffer.alloc(0), body)).toBe(0);
    expect(got).toMatchObject({
      ETag: put.ETag,
      ContentLength: 100_000,
      ContentType: 'image/x',
      Metadata: { a: '1' },
    });
    expect(server.get(BUCKET, 'a/b')).toEqual(Buffer.from(body));
    expect(server.requests).toMatchObject({ PutObject: 1, GetObject: 1, refused: 0 });
  });

  it('have the MD5 of their bytes as ETag, and a HEAD says all but the bytes', async () => {
    const server = await startServer();
    server.put(BUCKET, 'k', Buffer.from('hello'));
    const client = clientOf(server);
    const head = await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'k' }));
    expect(head).toMatchObject({ ETag: '"5d41402abc4b2a76b9719d911017c592"', ContentLength: 5 });
    expect(head.LastModified).toBeInstanceOf(Date);
    await client.send(new HeadBucketCommand({ Bucket: BUCKET }));
    expect(server.requests).toMatchObject({ HeadObject: 1, HeadBucket: 1 });
  });

  it('that are missing are NoSuchKey, and to HEAD just 404', async () => {
    const server = await startServer();
    const client = clientOf(server);
    await expect(client.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'no' }))).rejects.toMatchObject({
      name: 'NoSuchKey',
    });
    await expect(client.send(new GetObjectCommand({ Bucket: 'none', Key: 'no' }))).rejects.toMatchObject({
      name: 'NoSuchBucket',
    });
    const head = await sendSigned(server, { method: 'HEAD', target: `/${BUCKET}/no` });
    expect(head).toMatchObject({ status: 404, body: Buffer.alloc(0) });
    expect(head.headers['x-amz-request-id']).toMatch(/^[0-9A-F]{16}$/);
  });

  it('are gone after a delete, and a second delete is no error', async () => {
    const server = await startServer();
    server.put(BUCKET, 'k', Buffer.from('x'));
    const client = clientOf(server);
    await client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'k' }));
    await client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'k' }));
    expect(server.keys(BUCKET)).toEqual([]);
  });

  it('obey If-Match and If-None-Match', async () => {
    const server = await startServer();
    server.put(BUCKET, 'k', Buffer.from('hello'));
    const etag = '"5d41402abc4b2a76b9719d911017c592"';
    const get = (headers: Record<string, string>) => sendSigned(server, { target: `/${BUCKET}/k`, headers });
    expect((await get({ 'if-match': etag })).status).toBe(200);
    const other = await get({ 'if-match': '"other"' });
    expect([other.status, codeIn(other)]).toEqual([412, 'PreconditionFailed']);
    const same = await get({ 'if-none-match': etag });
    expect([same.status, same.headers.etag, same.body.byteLength]).toEqual([304, etag, 0]);
    expect((await get({ 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('are not overwritten by a PUT that wants a new or another one', async () => {
    const server = await startServer();
    const client = clientOf(server);
    const put = (more: object) =>
      client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'k', Body: 'x', ...more }));
    const { ETag } = await put({ IfNoneMatch: '*' });
    await expect(put({ IfNoneMatch: '*' })).rejects.toMatchObject({ name: 'PreconditionFailed' });
    await expect(put({ IfMatch: '"other"' })).rejects.toMatchObject({ name: 'PreconditionFailed' });
    await put({ IfMatch: ETag });
  });
});
