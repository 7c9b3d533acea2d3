import { describe, expect, it } from 'vitest';
import type { ChecksumAlgorithm } from '@tiered/s3-server';
import { BUCKET, sendSigned, startServer } from './helpers.js';

/** A checksum that somebody published. */
interface Published {
  readonly origin: string;
  readonly of: string;
  readonly algorithm: ChecksumAlgorithm;
  readonly bytes: Uint8Array;
  /** In hexadecimal, the highest digit first. */
  readonly value: string;
}

const bytesOf = (length: number, byteAt: (index: number) => number) =>
  Uint8Array.from({ length }, (_, index) => byteAt(index));

function published(
  origin: string,
  algorithm: ChecksumAlgorithm,
  values: readonly (readonly [of: string, bytes: Uint8Array, value: string])[],
): Published[] {
  return values.map(([of, bytes, value]) => ({ origin, algorithm, of, bytes, value }));
}

/** The "check" of https://reveng.sourceforge.io/crc-catalogue/all.htm. */
const CATALOGUE = Object.entries({
  crc32: ['CRC-32/ISO-HDLC', 'cbf43926'],
  crc32c: ['CRC-32/ISCSI', 'e3069283'],
  crc64nvme: ['CRC-64/NVME', 'ae8b14860a799888'],
} as const).flatMap(([algorithm, [name, value]]) =>
  published(`the catalogue of CRCs, ${name}`, algorithm as ChecksumAlgorithm, [
    ['123456789', Buffer.from('123456789'), value],
  ]),
);

/** A SCSI Read (10) command PDU of iSCSI. */
const READ_10 =
  '01c00000 00000000 00000000 00000000 14000000 00000400 00000014 00000018 28000000 00000000 02000000 00000000';

/** The RFC prints them as they are sent, the lowest byte first. */
const RFC_3720 = published('RFC 3720, B.4', 'crc32c', [
  ['32 bytes of zeroes', bytesOf(32, () => 0), '8a9136aa'],
  ['32 bytes of ones', bytesOf(32, () => 0xff), '62a8ab43'],
  ['32 bytes that go up', bytesOf(32, (index) => index), '46dd794e'],
  ['32 bytes that go down', bytesOf(32, (index) => 31 - index), '113fdb5c'],
  ['a SCSI Read (10) command PDU', Buffer.from(READ_10.replaceAll(' ', ''), 'hex'), 'd9963a56'],
]);

const NVME = published('NVM Command Set Specification 1.0d, 5.2.1.3.5', 'crc64nvme', [
  ['4 KiB of zeroes', bytesOf(4096, () => 0), '6482d367eb22b64e'],
  ['4 KiB of ones', bytesOf(4096, () => 0xff), 'c0ddba7302eca3ac'],
  ['4 KiB that go up', bytesOf(4096, (index) => index % 256), '3e729f5f6750449c'],
  ['4 KiB that go down', bytesOf(4096, (index) => 255 - (index % 256)), '9a2df64b8e9e517e'],
]);

const ABC = Buffer.from('abc');
const TWO_BLOCKS = Buffer.from('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq');
const MILLION = Buffer.alloc(1_000_000, 'a');

const SHA = [
  ...published('FIPS 180-2, A, and RFC 6234, 8.5', 'sha1', [
    ['abc', ABC, 'a9993e364706816aba3e25717850c26c9cd0d89d'],
    ['two blocks', TWO_BLOCKS, '84983e441c3bd26ebaae4aa1f95129e5e54670f1'],
    ['a million of a', MILLION, '34aa973cd4c4daa4f61eeb2bdbad27316534016f'],
  ]),
  ...published('FIPS 180-2, B, and RFC 6234, 8.5', 'sha256', [
    ['abc', ABC, 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    ['two blocks', TWO_BLOCKS, '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1'],
    ['a million of a', MILLION, 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0'],
  ]),
];

describe('checksums are those that others published', () => {
  it.each([...CATALOGUE, ...RFC_3720, ...NVME, ...SHA])(
    '$algorithm of $of ($origin)',
    async ({ algorithm, bytes, value }) => {
      const server = await startServer({ checksums: algorithm });
      const name = `x-amz-checksum-${algorithm}`;
      const base64 = Buffer.from(value, 'hex').toString('base64');
      const stored = await sendSigned(server, {
        method: 'PUT',
        target: `/${BUCKET}/stored`,
        body: bytes,
        headers: { [name]: base64 },
      });
      expect(stored.status).toBe(200);
      server.put(BUCKET, 'put', bytes);
      const headers = { 'x-amz-checksum-mode': 'ENABLED' };
      const got = await sendSigned(server, { target: `/${BUCKET}/put`, headers });
      expect([got.headers[name], got.headers['x-amz-checksum-type']]).toEqual([base64, 'FULL_OBJECT']);
    },
  );
});
