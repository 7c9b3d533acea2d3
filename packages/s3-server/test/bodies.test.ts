import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3';
import { someBytes } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { BUCKET, clientOf, codeIn, sendSigned, startServer } from './helpers.js';

const TARGET = `/${BUCKET}/k`;
const CHECKED = { Bucket: BUCKET, Key: 'k', ChecksumMode: 'ENABLED' } as const;

/** Of "123456789", as the catalogues of checksums give them. */
const NINE_DIGITS = Buffer.from('123456789');
const CHECKSUMS = {
  crc32: Buffer.from('cbf43926', 'hex').toString('base64'),
  crc32c: Buffer.from('e3069283', 'hex').toString('base64'),
  crc64nvme: Buffer.from('ae8b14860a799888', 'hex').toString('base64'),
  sha1: createHash('sha1').update(NINE_DIGITS).digest('base64'),
  sha256: createHash('sha256').update(NINE_DIGITS).digest('base64'),
};

describe('bodies', () => {
  it.each(Object.entries(CHECKSUMS))(
    'with x-amz-checksum-%s are verified, and it comes back',
    async (name, value) => {
      const server = await startServer();
      const put = (body: Uint8Array) =>
        sendSigned(server, {
          method: 'PUT',
          target: TARGET,
          body,
          headers: { [`x-amz-checksum-${name}`]: value },
        });
      const refused = await put(Buffer.from('123456780'));
      expect([refused.status, codeIn(refused)]).toEqual([400, 'BadDigest']);
      expect(server.get(BUCKET, 'k')).toBeUndefined();
      expect((await put(NINE_DIGITS)).headers[`x-amz-checksum-${name}`]).toBe(value);
      const got = await sendSigned(server, { target: TARGET, headers: { 'x-amz-checksum-mode': 'ENABLED' } });
      expect(got.headers[`x-amz-checksum-${name}`]).toBe(value);
      expect(got.headers['x-amz-checksum-type']).toBe('FULL_OBJECT');
    },
  );

  it('with a Content-MD5 are verified', async () => {
    const server = await startServer();
    const put = (md5: string) =>
      sendSigned(server, {
        method: 'PUT',
        target: TARGET,
        body: NINE_DIGITS,
        headers: { 'content-md5': md5 },
      });
    expect(codeIn(await put(createHash('md5').digest('base64')))).toBe('BadDigest');
    expect(codeIn(await put('short'))).toBe('InvalidDigest');
    expect((await put(createHash('md5').update(NINE_DIGITS).digest('base64'))).status).toBe(200);
  });

  it('are those whose hash was signed', async () => {
    const server = await startServer();
    const other = createHash('sha256').update('other').digest('hex');
    const headers = { 'x-amz-content-sha256': other };
    const answer = await sendSigned(server, { method: 'PUT', target: TARGET, body: NINE_DIGITS, headers });
    expect(codeIn(answer)).toBe('XAmzContentSHA256Mismatch');
    const unsigned = { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' };
    const taken = await sendSigned(server, {
      method: 'PUT',
      target: TARGET,
      body: NINE_DIGITS,
      headers: unsigned,
    });
    expect(taken.status).toBe(200);
  });

  it('are taken in chunks with a checksum behind them, as the SDK streams', async () => {
    const server = await startServer();
    const client = clientOf(server);
    const bytes = someBytes(200_000, 7);
    const input: PutObjectCommandInput = {
      Bucket: BUCKET,
      Key: 'k',
      Body: Readable.from([bytes.subarray(0, 70_000), bytes.subarray(70_000)]),
      ContentLength: bytes.byteLength,
      ChecksumAlgorithm: 'CRC32C',
    };
    const { ChecksumCRC32C } = await client.send(new PutObjectCommand(input));
    expect(server.get(BUCKET, 'k')).toEqual(Buffer.from(bytes));
    const head = await client.send(new HeadObjectCommand(CHECKED));
    expect([head.ChecksumCRC32C, head.ContentEncoding]).toEqual([ChecksumCRC32C, undefined]);
    expect(ChecksumCRC32C).toMatch(/^[A-Za-z0-9+/]{6}==$/);
  });

  it('in chunks are refused if the checksum behind them is wrong or missing, or they are too short', async () => {
    const server = await startServer();
    const put = (body: string, length = '9') =>
      sendSigned(server, {
        method: 'PUT',
        target: TARGET,
        body: Buffer.from(body),
        headers: {
          'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
          'x-amz-decoded-content-length': length,
          'x-amz-trailer': 'x-amz-checksum-crc32',
          'content-encoding': 'aws-chunked',
        },
      });
    const trailer = `x-amz-checksum-crc32:${CHECKSUMS.crc32}\r\n\r\n`;
    expect((await put(`4\r\n1234\r\n5\r\n56789\r\n0\r\n${trailer}`)).status).toBe(200);
    expect(codeIn(await put(`9\r\n123456780\r\n0\r\n${trailer}`))).toBe('BadDigest');
    expect(codeIn(await put('9\r\n123456789\r\n0\r\n\r\n'))).toBe('MalformedTrailerError');
    expect(codeIn(await put(`9\r\n123456789\r\n0\r\n${trailer}`, '10'))).toBe('IncompleteBody');
    expect(codeIn(await put('9\r\n1234'))).toBe('IncompleteBody');
  });

  it('need a length', async () => {
    const server = await startServer();
    const headers = { 'transfer-encoding': 'chunked' };
    const answer = await sendSigned(server, { method: 'PUT', target: TARGET, headers, body: NINE_DIGITS });
    expect([answer.status, codeIn(answer)]).toEqual([411, 'MissingContentLength']);
  });

  it('of objects stored without a checksum come with crc64nvme, or what the server was told, or none', async () => {
    for (const [checksums, value, type] of [
      [true, CHECKSUMS.crc64nvme, 'FULL_OBJECT'],
      ['crc32c', CHECKSUMS.crc32c, 'FULL_OBJECT'],
      [false, undefined, undefined],
    ] as const) {
      const server = await startServer({ checksums });
      server.put(BUCKET, 'k', NINE_DIGITS);
      const client = clientOf(server, { responseChecksumValidation: 'WHEN_REQUIRED' });
      const whole = await client.send(new GetObjectCommand(CHECKED));
      expect([whole.ChecksumCRC64NVME ?? whole.ChecksumCRC32C, whole.ChecksumType]).toEqual([value, type]);
      const range = await client.send(new GetObjectCommand({ ...CHECKED, Range: 'bytes=0-3' }));
      expect(range.ChecksumType).toBeUndefined();
    }
  });
});
