import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { MemoryDriver } from '@tiered/core';
import { FaultDriver, someBytes } from '@tiered/core/testing';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import {
  BUCKET,
  clientOf,
  codeIn,
  connectionTo,
  CREDENTIALS,
  gatewayOn,
  onSource,
  send,
  toldOf,
} from './helpers.js';
import { WRITTEN, writtenPlace } from './write-helpers.js';

const BYTES = someBytes(300_000, 5);
const NEW = { Bucket: BUCKET, Key: `${WRITTEN}new` };

async function read(client: S3Client, Key = NEW.Key): Promise<Buffer> {
  const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
}

async function listed(client: S3Client, Prefix: string): Promise<(string | undefined)[]> {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET, Prefix }));
  return Contents.map(({ Key }) => Key);
}

describe('writes below a prefix that is named', () => {
  it.each([
    ['at once', () => BYTES],
    [
      'as a stream, with a checksum behind it',
      () => Readable.from([BYTES.subarray(0, 9), BYTES.subarray(9)]),
    ],
  ])('[X7] go to the source, and are seen at once (%s)', async (_, body) => {
    const { server, gateway, hierarchy } = await writtenPlace();
    const client = clientOf(gateway);
    const put = { ...NEW, Body: body(), ContentLength: BYTES.byteLength };
    const { ETag } = await client.send(new PutObjectCommand(put));
    expect(Buffer.compare(server.get(BUCKET, NEW.Key) ?? Buffer.alloc(0), BYTES)).toBe(0);
    expect(Buffer.compare(await read(client), BYTES)).toBe(0);
    expect((await client.send(new HeadObjectCommand(NEW))).ETag).toBe(ETag);
    expect(await listed(client, WRITTEN)).toEqual([NEW.Key, `${WRITTEN}old`]);

    await hierarchy.place(NEW.Key);
    await client.send(new PutObjectCommand({ ...NEW, Body: 'other' }));
    expect((await read(client)).toString()).toBe('other');
    await client.send(new DeleteObjectCommand(NEW));
    await expect(read(client)).rejects.toMatchObject({ name: 'NoSuchKey' });
    expect(await listed(client, WRITTEN)).toEqual([`${WRITTEN}old`]);
  });

  it('[X7] are for the keys of the bucket of the source, with their prefix', async () => {
    const { gateway, keys } = await writtenPlace({ prefix: 'a/b/' });
    const client = clientOf(gateway);
    await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: `a/b/${WRITTEN}x`, Body: 'x' }));
    expect(keys()).toContain(`a/b/${WRITTEN}x`);
    expect(await listed(client, `a/b/${WRITTEN}`)).toContain(`a/b/${WRITTEN}x`);
    const outside = client.send(new PutObjectCommand({ Bucket: BUCKET, Key: `${WRITTEN}x`, Body: 'x' }));
    await expect(outside).rejects.toMatchObject({ name: 'AccessDenied' });
  });

  it('[X7] are made only if there is no object, where that is asked for', async () => {
    const { gateway, server } = await writtenPlace();
    const client = clientOf(gateway);
    const put = (Key: string) =>
      client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: 'x', IfNoneMatch: '*' }));
    await put(NEW.Key);
    const again = put(`${WRITTEN}old`);
    await expect(again).rejects.toMatchObject({
      name: 'PreconditionFailed',
      $metadata: { httpStatusCode: 412 },
    });
    expect(server.get(BUCKET, `${WRITTEN}old`)).toEqual(Buffer.from('old'));
  });

  it('[X7] remove many objects at once, and those alone that may be removed', async () => {
    const { gateway, keys, server } = await writtenPlace();
    for (const key of ['1', '2']) server.put(BUCKET, WRITTEN + key, Buffer.from(key));
    const client = clientOf(gateway);
    expect(await listed(client, WRITTEN)).toEqual([`${WRITTEN}old`]);
    const Objects = [`${WRITTEN}1`, `${WRITTEN}old`, 'data', `${WRITTEN}../data`].map((Key) => ({ Key }));
    const { Deleted = [], Errors = [] } = await client.send(
      new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects } }),
    );
    expect(Deleted.map(({ Key }) => Key)).toEqual([`${WRITTEN}1`, `${WRITTEN}old`]);
    expect(Errors.map(({ Key, Code }) => [Key, Code])).toEqual([
      ['data', 'AccessDenied'],
      [`${WRITTEN}../data`, 'AccessDenied'],
    ]);
    expect(keys()).toEqual([`${WRITTEN}2`, 'data']);
    expect(await listed(client, WRITTEN)).toEqual([]);
  });
});

describe('nothing is written', () => {
  const target = (key: string) => `/${BUCKET}/${key}`;
  const body = Buffer.from('x');

  it.each([
    'data',
    'checkpoints',
    'other/checkpoints/x',
    `${WRITTEN}../data`,
    `${WRITTEN}%2e%2e/data`,
    `${WRITTEN}./x`,
    `${WRITTEN}x/..`,
    `${WRITTEN}a%00b`,
  ])('[X3] [X7] under the key %s, which is not below the prefix', async (key) => {
    const { gateway, keys } = await writtenPlace();
    const before = keys();
    for (const [method, query] of [
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '?uploads'],
      ['PUT', '?uploadId=1&partNumber=1'],
      ['POST', '?uploadId=1'],
      ['DELETE', '?uploadId=1'],
    ] as const) {
      const answer = await send(gateway, target(key) + query, { method, body });
      expect([answer.status, codeIn(answer)], method + query).toEqual([403, 'AccessDenied']);
    }
    expect(keys()).toEqual(before);
  });

  it('[X7] of what would be left out: copies, ACLs, tags, conditions', async () => {
    const { gateway, keys } = await writtenPlace();
    for (const [headers, query] of [
      [{ 'x-amz-copy-source': `${BUCKET}/data` }, ''],
      [{ 'x-amz-acl': 'public-read' }, ''],
      [{ 'x-amz-tagging': 'a=b' }, ''],
      [{ 'if-match': '"x"' }, ''],
      [{ 'x-amz-server-side-encryption': 'aws:kms' }, ''],
      [{}, '?acl'],
      [{}, '?tagging'],
    ] as const) {
      const answer = await send(gateway, target(NEW.Key) + query, {
        method: 'PUT',
        body,
        headers: { ...headers },
      });
      expect([answer.status, codeIn(answer)]).toEqual([501, 'NotImplemented']);
    }
    const plain = { 'x-amz-acl': 'private', 'x-amz-storage-class': 'STANDARD' };
    expect((await send(gateway, target(NEW.Key), { method: 'PUT', body, headers: plain })).status).toBe(200);
    expect(keys()).toHaveLength(3);
  });

  it('[X7] of a body that is not what its hashes say, or is too short, or has no length', async () => {
    const { gateway, keys } = await writtenPlace();
    const wrong = createHash('md5').update('other').digest('base64');
    const put = (headers: Record<string, string>, bytes = body) =>
      send(gateway, target(NEW.Key), { method: 'PUT', body: bytes, headers });
    const sha256 = createHash('sha256').update('other').digest('hex');
    const chunked = { 'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' };
    expect(codeIn(await put({ 'content-md5': wrong }))).toBe('BadDigest');
    expect(codeIn(await put({ 'x-amz-checksum-crc32': 'AAAAAA==' }))).toBe('BadDigest');
    expect(codeIn(await put({ 'x-amz-content-sha256': sha256 }))).toBe('XAmzContentSHA256Mismatch');
    const short = { ...chunked, 'x-amz-decoded-content-length': '5' };
    expect(codeIn(await put(short, Buffer.from('1\r\nx\r\n0\r\n\r\n')))).toBe('IncompleteBody');
    expect(codeIn(await put({ 'transfer-encoding': 'chunked' }))).toBe('MissingContentLength');
    expect(codeIn(await put(chunked, Buffer.from('0\r\n\r\n')))).toBe('MissingContentLength');
    expect(keys()).toHaveLength(2);
  });

  it('[X7] if the client goes away before all has come', async () => {
    const { onAnswer, count } = toldOf();
    const { gateway, keys, server } = await writtenPlace({ options: { onAnswer } });
    const head = `PUT ${target(NEW.Key)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000000\r\n\r\n`;
    const socket = connectionTo(gateway, head);
    // So much that the source gets parts.
    const part = Buffer.alloc(9 * 2 ** 20);
    for (let sent = 0; sent < 4; sent++) await new Promise((resolve) => socket.write(part, resolve));
    socket.destroy();
    const [entry] = await count(1);
    expect(entry).toMatchObject({ operation: 'PutObject', isBroken: true });
    expect([keys().length, server.openUploads]).toEqual([2, 0]);
    expect(gateway.stats().answering).toBe(0);
  });

  it('[X7] if the source fails, and the error is told', async () => {
    const { gateway, keys, server } = await writtenPlace();
    server.faults.set([
      { operation: 'PutObject', fault: { kind: 'status', status: 500, code: 'InternalError' } },
    ]);
    const failed = await send(gateway, target(NEW.Key), { method: 'PUT', body });
    expect([failed.status, codeIn(failed)]).toEqual([500, 'InternalError']);
    server.faults.set([
      { operation: 'PutObject', fault: { kind: 'status', status: 403, code: 'AccessDenied' } },
    ]);
    expect(codeIn(await send(gateway, target(NEW.Key), { method: 'PUT', body }))).toBe('AccessDenied');
    expect(keys()).toHaveLength(2);
    server.faults.set([]);
    // The connection goes on.
    expect((await send(gateway, target(NEW.Key), { method: 'PUT', body })).status).toBe(200);
  });

  it('[X3] for pages of the Web, which a browser may send without credentials', async () => {
    const { gateway, keys } = await writtenPlace();
    const headers = { origin: 'https://example.com' };
    const answer = await send(gateway, target(NEW.Key), { method: 'PUT', body, headers });
    expect([answer.status, codeIn(answer)]).toEqual([403, 'AccessDenied']);
    const xml = Buffer.from(`<Delete><Object><Key>${WRITTEN}old</Key></Object></Delete>`);
    const deleted = await send(gateway, `/${BUCKET}?delete`, { method: 'POST', body: xml });
    expect([deleted.status, codeIn(deleted)]).toEqual([400, 'InvalidRequest']);
    expect(keys()).toHaveLength(2);
  });

  it('[X3] without the signature that a gateway with credentials asks for', async () => {
    const { gateway, keys } = await writtenPlace({ options: { credentials: CREDENTIALS } });
    expect((await send(gateway, target(NEW.Key), { method: 'PUT', body })).status).toBe(403);
    expect(keys()).toHaveLength(2);
    await clientOf(gateway).send(new PutObjectCommand({ ...NEW, Body: 'x' }));
    expect(keys()).toHaveLength(3);
  });

  it('[X3] in a bucket that names no prefix', async () => {
    const { gateway, keys } = await writtenPlace({ bucket: { writes: undefined } });
    expect(codeIn(await send(gateway, target(NEW.Key), { method: 'PUT', body }))).toBe('AccessDenied');
    expect(keys()).toHaveLength(2);
  });
});

it('[X7] readers see what a failed write has made all the same', async () => {
  // The object is written, and the answer is lost.
  const rules = [{ operations: ['write' as const], fault: { kind: 'fail-after' as const } }];
  const source = new MemoryDriver();
  const hierarchy = await onSource(source);
  const driver = new FaultDriver(source, { rules });
  const gateway = await gatewayOn({ hierarchy, writes: { driver, prefixes: [WRITTEN] } });
  const put = await send(gateway, `/${BUCKET}/${NEW.Key}`, { method: 'PUT', body: Buffer.from('x') });
  expect(put.status).toBe(503);
  expect(await listed(clientOf(gateway), WRITTEN)).toEqual([NEW.Key]);
});

describe('writes are refused at the start', () => {
  it.each([
    ['a driver that does not write', { prefixes: [WRITTEN] }, 'writes.driver'],
    ['no prefix', { driver: new MemoryDriver(), prefixes: [] }, 'writes.prefixes'],
    ['a prefix of all keys', { driver: new MemoryDriver(), prefixes: [''] }, 'writes.prefixes'],
    [
      'a prefix that is none of a directory',
      { driver: new MemoryDriver(), prefixes: ['a'] },
      'writes.prefixes',
    ],
    [
      'a prefix that leads elsewhere',
      { driver: new MemoryDriver(), prefixes: ['a/../b/'] },
      'writes.prefixes',
    ],
  ])('with %s', async (_, writes, field) => {
    const readOnly = new MemoryDriver();
    Object.assign(readOnly, { capabilities: { ...readOnly.capabilities, write: false } });
    const hierarchy = await onSource(new MemoryDriver());
    await expect(gatewayOn({ hierarchy, writes: { driver: readOnly, ...writes } })).rejects.toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
      message: expect.stringContaining(field) as string,
    });
  });
});
