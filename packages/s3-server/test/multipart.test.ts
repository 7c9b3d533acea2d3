import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  UploadPartCommand,
  type CompletedPart,
  type CreateMultipartUploadCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { createHash } from 'node:crypto';
import { someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, sendSigned, startServer } from './helpers.js';

const OBJECT = { Bucket: BUCKET, Key: 'big file' };

async function begin(client: S3Client, more: Partial<CreateMultipartUploadCommandInput> = {}) {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ ...OBJECT, ...more }));
  return {
    part: async (PartNumber: number, Body: Uint8Array): Promise<CompletedPart> => {
      const { ETag } = await client.send(new UploadPartCommand({ ...OBJECT, UploadId, PartNumber, Body }));
      return { PartNumber, ETag };
    },
    complete: (Parts: CompletedPart[], IfNoneMatch?: string) =>
      client.send(
        new CompleteMultipartUploadCommand({ ...OBJECT, UploadId, MultipartUpload: { Parts }, IfNoneMatch }),
      ),
    abort: () => client.send(new AbortMultipartUploadCommand({ ...OBJECT, UploadId })),
  };
}

describe('multipart uploads', () => {
  it('become an object of their parts in their order, with an ETag that says how many they were', async () => {
    const server = await startServer({ minPartBytes: 1000 });
    const client = clientOf(server);
    const [one, two] = [someBytes(1000, 1), someBytes(10, 2)];
    const upload = await begin(client, { ContentType: 'image/x' });
    const second = await upload.part(2, two);
    const first = await upload.part(1, one);
    expect([server.openUploads, server.keys(BUCKET)]).toEqual([1, []]);
    const { ETag } = await upload.complete([first, second]);
    const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest();
    expect(ETag).toBe(`"${md5(Buffer.concat([md5(one), md5(two)])).toString('hex')}-2"`);
    expect(server.get(BUCKET, OBJECT.Key)).toEqual(Buffer.concat([one, two]));
    expect(await client.send(new GetObjectCommand(OBJECT))).toMatchObject({ ETag, ContentType: 'image/x' });
    expect(server.openUploads).toBe(0);
    expect(server.requests).toMatchObject({
      CreateMultipartUpload: 1,
      UploadPart: 2,
      CompleteMultipartUpload: 1,
    });
    await expect(upload.complete([first])).rejects.toMatchObject({ name: 'NoSuchUpload' });
  });

  it('refuse parts that are out of order, unknown, other ones, or too small', async () => {
    const server = await startServer();
    const upload = await begin(clientOf(server));
    const small = await upload.part(1, Buffer.from('x'));
    const other = await upload.part(3, Buffer.from('y'));
    const codeOf = async (parts: CompletedPart[]) =>
      upload.complete(parts).then(
        () => 'ok',
        (error: unknown) => (error as Error).name,
      );
    expect(await codeOf([other, small])).toBe('InvalidPartOrder');
    expect(await codeOf([small, small])).toBe('InvalidPartOrder');
    expect(await codeOf([small, { ...other, PartNumber: 2 }])).toBe('InvalidPart');
    expect(await codeOf([{ ...small, ETag: other.ETag }])).toBe('InvalidPart');
    expect(await codeOf([small, other])).toBe('EntityTooSmall');
    expect(await codeOf([])).toBe('MalformedXML');
    expect(server.openUploads).toBe(1);
    expect(await codeOf([other])).toBe('ok');
  });

  it('leave nothing when they are aborted', async () => {
    const server = await startServer();
    const upload = await begin(clientOf(server));
    await upload.part(1, Buffer.from('x'));
    await upload.abort();
    expect([server.openUploads, server.keys(BUCKET)]).toEqual([0, []]);
    await expect(upload.part(2, Buffer.from('x'))).rejects.toMatchObject({ name: 'NoSuchUpload' });
    await expect(upload.abort()).rejects.toMatchObject({ name: 'NoSuchUpload' });
  });

  it('are completed once, however many ask for it at the same time', async () => {
    const server = await startServer();
    const upload = await begin(clientOf(server), { ChecksumAlgorithm: 'SHA256' });
    const part = await upload.part(1, Buffer.from('x'));
    const asked = await Promise.allSettled([1, 2, 3].map(() => upload.complete([part])));
    expect(asked.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect([server.openUploads, String(server.get(BUCKET, OBJECT.Key))]).toEqual([0, 'x']);
  });

  it('do not overwrite if they must not', async () => {
    const server = await startServer();
    server.put(BUCKET, OBJECT.Key, Buffer.from('old'));
    const upload = await begin(clientOf(server));
    const part = await upload.part(1, Buffer.from('new'));
    await expect(upload.complete([part], '*')).rejects.toMatchObject({ name: 'PreconditionFailed' });
    expect([server.openUploads, String(server.get(BUCKET, OBJECT.Key))]).toEqual([1, 'old']);
  });

  it('have a checksum over the checksums of their parts, or over the whole object, as was asked', async () => {
    const server = await startServer({ minPartBytes: 1 });
    const client = clientOf(server, { responseChecksumValidation: 'WHEN_REQUIRED' });
    const checksumOf = async (more: Partial<CreateMultipartUploadCommandInput>) => {
      const upload = await begin(client, more);
      await upload.complete([
        await upload.part(1, Buffer.from('1234')),
        await upload.part(2, Buffer.from('56789')),
      ]);
      const { ChecksumType, ChecksumCRC32, ChecksumCRC64NVME } = await client.send(
        new GetObjectCommand({ ...OBJECT, ChecksumMode: 'ENABLED' }),
      );
      return [ChecksumType, ChecksumCRC32 ?? ChecksumCRC64NVME];
    };
    const whole = Buffer.from('cbf43926', 'hex').toString('base64');
    expect(await checksumOf({ ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' })).toEqual([
      'FULL_OBJECT',
      whole,
    ]);
    expect(await checksumOf({ ChecksumAlgorithm: 'CRC32' })).toEqual([
      'COMPOSITE',
      expect.stringMatching(/^[A-Za-z0-9+/]{6}==-2$/),
    ]);
    const nvme = Buffer.from('ae8b14860a799888', 'hex').toString('base64');
    expect(await checksumOf({})).toEqual(['FULL_OBJECT', nvme]);
  });

  it('have parts numbered from 1 to 10000', async () => {
    const server = await startServer();
    for (const number of ['0', '10001', 'x', '1.5']) {
      const created = await sendSigned(server, { method: 'POST', target: `/${BUCKET}/k?uploads=` });
      const id = /<UploadId>(\w+)</.exec(created.body.toString())?.[1] ?? '';
      const target = `/${BUCKET}/k?partNumber=${number}&uploadId=${id}`;
      expect(codeIn(await sendSigned(server, { method: 'PUT', target, body: Buffer.from('x') }))).toBe(
        'InvalidArgument',
      );
    }
  });
});
