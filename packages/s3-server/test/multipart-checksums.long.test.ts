import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  UploadPartCommand,
  type ChecksumType,
} from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, startServer } from './helpers.js';

const OBJECT = { Bucket: BUCKET, Key: 'k' };

/**
 * What an S3 server says of three parts, 5 MiB of A, of B and of C, by the tests
 * `test_multipart_use_cksum_helper_*` of https://github.com/ceph/s3-tests.
 */
const PARTS = ['A', 'B', 'C'].map((letter) => Buffer.alloc(5 * 1024 * 1024, letter));
const ETAG = '"b2add96cc9702bbf4efb0ccdfc6b7747-3"';
const UPLOADS = [
  {
    name: 'CRC32',
    type: 'FULL_OBJECT',
    parts: ['JRTCyQ==', 'QoZTGg==', 'YAgjqw=='],
    whole: 'WgDhBQ==',
  },
  {
    name: 'CRC32C',
    type: 'FULL_OBJECT',
    parts: ['MDaLrw==', 'TH4EZg==', 'Z7mBIQ=='],
    whole: 'xU+Krw==',
  },
  {
    name: 'CRC64NVME',
    type: 'FULL_OBJECT',
    parts: ['L/E4WYn8v98=', 'xW1l19VobYM=', 'cK5MnNaWrW4='],
    whole: 'i+6LR0y3eFo=',
  },
  {
    name: 'SHA1',
    type: 'COMPOSITE',
    parts: ['iIaTCGbm+vdVjNqIMF2S0T7ibMk=', 'LS/TJ32bAVKEwRu+sE3X7awh/lk=', '6DDwovUaHwrKNXDMzOGbuvj9kxI='],
    whole: 'sizjvY4eud3MrcHdZM3cQ/ol39o=-3',
  },
  {
    name: 'SHA256',
    type: 'COMPOSITE',
    parts: [
      '275VF5loJr1YYawit0XSHREhkFXYkkPKGuoK0x9VKxI=',
      'mrHwOfjTL5Zwfj74F05HOQGLdUb7E5szdCbxgUSq6NM=',
      'Vw7oB/nKQ5xWb3hNgbyfkvDiivl+U+/Dft48nfJfDow=',
    ],
    whole: 'uWBwpe1dxI4Vw8Gf0X9ynOdw/SS6VBzfWm9giiv1sf4=-3',
  },
] as const satisfies readonly { type: ChecksumType; [others: string]: unknown }[];

describe('an upload of three parts', () => {
  it.each(UPLOADS)('has the $name that S3 gives it, $type', async ({ name, type, parts, whole }) => {
    const server = await startServer();
    const client = clientOf(server);
    const { UploadId } = await client.send(
      new CreateMultipartUploadCommand({ ...OBJECT, ChecksumAlgorithm: name, ChecksumType: type }),
    );
    const Parts = [];
    for (const [index, Body] of PARTS.entries()) {
      const part = { ...OBJECT, UploadId, PartNumber: index + 1, Body, [`Checksum${name}`]: parts[index] };
      const { ETag } = await client.send(new UploadPartCommand(part));
      Parts.push({ PartNumber: index + 1, ETag });
    }
    const complete = { ...OBJECT, UploadId, MultipartUpload: { Parts } };
    const { ETag } = await client.send(new CompleteMultipartUploadCommand(complete));
    expect(ETag).toBe(ETAG);
    const head = await client.send(new HeadObjectCommand({ ...OBJECT, ChecksumMode: 'ENABLED' }));
    expect([head[`Checksum${name}`], head.ChecksumType]).toEqual([whole, type]);
  });
});
