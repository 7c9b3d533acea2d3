import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { MemoryDriver } from '@tiered/core';
import { HoldingDriver, ManualClock, settled, someBytes } from '@tiered/core/testing';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, connectionTo, gatewayOn, onSource, send, toldOf } from './helpers.js';
import { WRITTEN, writtenPlace } from './write-helpers.js';

const BYTES = someBytes(100, 5);
const NEW = { Bucket: BUCKET, Key: `${WRITTEN}new` };

async function begun(client: S3Client) {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(NEW));
  const send = async (PartNumber: number, Body: Uint8Array) => {
    const { ETag } = await client.send(new UploadPartCommand({ ...NEW, UploadId, PartNumber, Body }));
    return { PartNumber, ETag };
  };
  const complete = (Parts: { PartNumber: number; ETag?: string | undefined }[]) =>
    client.send(new CompleteMultipartUploadCommand({ ...NEW, UploadId, MultipartUpload: { Parts } }));
  const abort = () => client.send(new AbortMultipartUploadCommand({ ...NEW, UploadId }));
  return { send, complete, abort };
}

describe('uploads in parts', () => {
  it('[X7] are those of the source, and seen when they are completed', async () => {
    const { gateway, server } = await writtenPlace();
    const client = clientOf(gateway);
    const upload = await begun(client);
    const later = await upload.send(2, BYTES.subarray(60));
    const first = await upload.send(1, BYTES.subarray(0, 60));
    const list = async () => (await client.send(new ListObjectsV2Command({ Bucket: BUCKET }))).KeyCount;
    expect([await list(), server.openUploads]).toEqual([2, 1]);
    const { ETag } = await upload.complete([first, later]);
    expect(server.get(BUCKET, NEW.Key)).toEqual(Buffer.from(BYTES));
    const got = await client.send(new GetObjectCommand(NEW));
    expect([got.ETag, await got.Body?.transformToByteArray()]).toEqual([ETag, BYTES]);
    expect([await list(), server.openUploads]).toEqual([3, 0]);
  });

  it('[X7] leave nothing when they are aborted', async () => {
    const { gateway, server, keys } = await writtenPlace();
    const upload = await begun(clientOf(gateway));
    await upload.send(1, BYTES);
    await upload.abort();
    expect([keys().length, server.openUploads]).toEqual([2, 0]);
    await expect(upload.abort()).rejects.toMatchObject({ name: 'NoSuchUpload' });
  });

  it('[X7] tell what the source refuses, and make no object then', async () => {
    const { gateway, keys } = await writtenPlace();
    const upload = await begun(clientOf(gateway));
    const part = await upload.send(1, BYTES);
    const other = { ...part, ETag: '"00000000000000000000000000000000"' };
    await expect(upload.complete([other])).rejects.toMatchObject({ name: 'InvalidPart' });
    const small = [await upload.send(2, BYTES.subarray(0, 3)), await upload.send(3, BYTES)];
    await expect(upload.complete([part, ...small])).rejects.toMatchObject({ name: 'EntityTooSmall' });
    expect(keys()).toHaveLength(2);
    await upload.complete([part]);
    expect(keys()).toHaveLength(3);
  });

  it('[X7] refuse parts that are not what their hashes say, or are too large', async () => {
    const { gateway, server } = await writtenPlace();
    const target = `/${BUCKET}/${NEW.Key}?partNumber=1&uploadId=x`;
    const put = (headers: Record<string, string>, path = target) =>
      send(gateway, path, { method: 'PUT', body: Buffer.from('x'), headers });
    expect(codeIn(await put({ 'x-amz-checksum-crc32c': 'AAAAAA==' }))).toBe('BadDigest');
    expect(codeIn(await put({}))).toBe('NoSuchUpload');
    expect(codeIn(await put({}, target.replace('=1', '=0')))).toBe('InvalidArgument');
    const large = {
      'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      'x-amz-decoded-content-length': String(2 ** 26 + 1),
    };
    expect(codeIn(await put(large))).toBe('EntityTooLarge');
    expect(server.requests.UploadPart).toBe(1);
  });

  it('[X7] are 501 where the storage has none, and objects are written at once', async () => {
    const source = new MemoryDriver();
    const hierarchy = await onSource(source);
    const gateway = await gatewayOn({ hierarchy, writes: { driver: source, prefixes: [WRITTEN] } });
    const client = clientOf(gateway);
    await expect(client.send(new CreateMultipartUploadCommand(NEW))).rejects.toMatchObject({
      name: 'NotImplemented',
    });
    await client.send(new PutObjectCommand({ ...NEW, Body: BYTES }));
    expect(await hierarchy.read(NEW.Key)).toEqual(BYTES);
    // The hierarchy has it open.
    await gateway.close();
    expect(await hierarchy.read(NEW.Key)).toEqual(BYTES);
  });
});

describe('the bounds of writes', () => {
  const target = `/${BUCKET}/${NEW.Key}`;
  const put = (length: number) =>
    `PUT ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`;

  it('[X2] so many are under way at the same time, and others wait', async () => {
    const source = new MemoryDriver();
    const hierarchy = await onSource(source);
    const driver = new HoldingDriver(source, { operations: ['write'] });
    const writes = { driver, prefixes: [WRITTEN] };
    const gateway = await gatewayOn({ hierarchy, writes }, { limits: { writes: 2 } });
    const sent = [1, 2, 3].map((i) =>
      send(gateway, `${target}${i}`, { method: 'PUT', body: Buffer.from('x') }),
    );
    while (gateway.stats().answering < 3 || driver.held.length < 2) await settled();
    expect(driver.held).toHaveLength(2);
    await driver.release();
    while (driver.held.length < 2) await settled();
    await driver.releaseAll();
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('[X2] a client that sends too little is cut off, and nothing is written', async () => {
    const clock = new ManualClock();
    const { onAnswer, count } = toldOf();
    const options = { clock, onAnswer, limits: { stallMs: 1000 } };
    const { gateway, keys } = await writtenPlace({ options });
    const socket = connectionTo(gateway, `${put(100)}some`);
    const closed = once(socket, 'close');
    while (clock.sleepingInBackground === 0) await settled();
    await clock.advance(2000);
    await closed;
    const [entry] = await count(1);
    expect(entry).toMatchObject({ operation: 'PutObject', isBroken: true });
    expect(keys()).toHaveLength(2);
  });

  it('[X2] a client that has been answered has to end its request in time', async () => {
    const clock = new ManualClock();
    const { onAnswer, count } = toldOf();
    const options = { clock, onAnswer, limits: { requestMs: 1000, headersMs: 1000 } };
    const { gateway } = await writtenPlace({ options });
    const head = `PUT /${BUCKET}/data HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n`;
    const socket = connectionTo(gateway, head);
    const closed = once(socket, 'close');
    socket.resume();
    expect((await count(1))[0]).toMatchObject({ status: 403 });
    await clock.advance(1000);
    await closed;
  });
});
