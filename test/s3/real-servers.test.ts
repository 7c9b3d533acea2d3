import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Random } from '@tiered/core';
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RealServer } from '../../tools/servers/real-server.js';
import { clientOf, describeServer, realServers } from './real-servers.js';

const Bucket = 'bucket';
const MIB = 2 ** 20;

/** Swift asks for Content-MD5 where S3 takes any checksum. */
function sendContentMd5(client: S3Client): void {
  client.middlewareStack.add(
    (next, context) => (args) => {
      const request = args.request as { body: string; headers: Record<string, string> };
      if (context.commandName === 'DeleteObjectsCommand')
        request.headers['content-md5'] = createHash('md5').update(request.body).digest('base64');
      return next(args);
    },
    { step: 'build' },
  );
}

function bytesOf(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  const random = new Random(seed);
  for (let i = 0; i < length; i++) bytes[i] = random.below(256);
  return bytes;
}

const failed = (name: string, status: number) => ({
  name,
  $metadata: expect.objectContaining({ httpStatusCode: status }),
});

function promises(server: () => RealServer): void {
  let client: S3Client;

  beforeAll(async () => {
    client = clientOf(server());
    sendContentMd5(client);
    await client.send(new CreateBucketCommand({ Bucket }));
  });
  afterAll(() => client.destroy());

  const put = (Key: string, Body: Uint8Array) => client.send(new PutObjectCommand({ Bucket, Key, Body }));
  const read = async (Key: string, condition: { Range?: string; IfMatch?: string } = {}) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, ...condition }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };
  const keys = async (Prefix: string) => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix }));
    return Contents.map(({ Key }) => Key);
  };

  it('refuses a request that was signed with another secret', async () => {
    const stranger = clientOf(server(), 'another secret');
    const request = stranger.send(new ListObjectsV2Command({ Bucket }));
    await expect(request).rejects.toMatchObject(failed('SignatureDoesNotMatch', 403));
    stranger.destroy();
  });

  it('gives back what was put, whole and by range', async () => {
    const bytes = bytesOf(100_000, 1);
    await put('a/b c+d%.bin', bytes);
    expect(bytes.equals(await read('a/b c+d%.bin'))).toBe(true);
    const range = await read('a/b c+d%.bin', { Range: 'bytes=1000-1999' });
    expect(bytes.subarray(1000, 2000).equals(range)).toBe(true);
  });

  it('answers 412 to a read of a version that was replaced', async () => {
    const { ETag = '' } = await put('versions', bytesOf(10, 2));
    expect(await read('versions', { IfMatch: ETag })).toEqual(bytesOf(10, 2));
    await put('versions', bytesOf(10, 3));
    const request = read('versions', { IfMatch: ETag });
    await expect(request).rejects.toMatchObject(failed('PreconditionFailed', 412));
  });

  it('lists in pages, in the order of keys', async () => {
    const all = Array.from({ length: 25 }, (_, i) => `pages/${String(i).padStart(2, '0')}`);
    await Promise.all(all.map((key) => put(key, bytesOf(1, 4))));
    const pages: unknown[][] = [];
    let ContinuationToken: string | undefined;
    do {
      const request = { Bucket, Prefix: 'pages/', MaxKeys: 10, ContinuationToken };
      const page = await client.send(new ListObjectsV2Command(request));
      pages.push((page.Contents ?? []).map(({ Key }) => Key));
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken !== undefined);
    expect(pages).toEqual([all.slice(0, 10), all.slice(10, 20), all.slice(20)]);
  });

  it('deletes objects, one by one and many at once', async () => {
    for (const key of ['delete/1', 'delete/2', 'delete/3']) await put(key, bytesOf(1, 5));
    await client.send(new DeleteObjectCommand({ Bucket, Key: 'delete/1' }));
    expect(await keys('delete/')).toEqual(['delete/2', 'delete/3']);
    const Objects = [{ Key: 'delete/2' }, { Key: 'delete/3' }];
    await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    expect(await keys('delete/')).toEqual([]);
    await expect(read('delete/1')).rejects.toMatchObject(failed('NoSuchKey', 404));
  });

  it('puts an object together from parts', async () => {
    const upload = { Bucket, Key: 'parts' };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(upload));
    const Parts = [];
    const bodies = [bytesOf(5 * MIB, 6), bytesOf(1000, 7)];
    for (const [index, Body] of bodies.entries()) {
      const PartNumber = index + 1;
      const { ETag } = await client.send(new UploadPartCommand({ ...upload, UploadId, PartNumber, Body }));
      Parts.push({ PartNumber, ETag });
    }
    const MultipartUpload = { Parts };
    await client.send(new CompleteMultipartUploadCommand({ ...upload, UploadId, MultipartUpload }));
    const head = await client.send(new HeadObjectCommand(upload));
    expect(head).toMatchObject({ ContentLength: 5 * MIB + 1000, ETag: expect.stringMatching(/-2"$/) });
    expect(Buffer.concat(bodies).equals(await read('parts'))).toBe(true);
  });
}

describe('a real S3 server', () => {
  for (const offer of realServers()) describeServer(offer, promises);
});
