import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32, crc32c } from '@node-rs/crc32';
import { createCRC64 } from 'hash-wasm';
import { headerOf } from './answers.js';

type Algorithm = (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/** CRC-64/NVME, as its polynomial is written for a reflected CRC; compiled once. */
let crc64nvme: ReturnType<typeof createCRC64> | undefined;

async function loadCrc64Nvme() {
  crc64nvme ??= createCRC64('9a6c9329ac4bc9b5');
  return crc64nvme;
}

/** What can be verified, the cheapest first. */
const ALGORITHMS: readonly (readonly [name: string, sum: Algorithm])[] = [
  ['crc32c', (bytes) => bigEndian(crc32c(bytes))],
  ['crc32', (bytes) => bigEndian(crc32(bytes))],
  ['crc64nvme', async (bytes) => (await loadCrc64Nvme()).init().update(bytes).digest('binary')],
  ['sha1', (bytes) => createHash('sha1').update(bytes).digest()],
  ['sha256', (bytes) => createHash('sha256').update(bytes).digest()],
];

/** The checksum of an object that an answer holds. */
export interface Checksum {
  /** Whether the object's bytes have it. */
  matches(bytes: Uint8Array): Promise<boolean>;
}

/** The checksum in an answer's headers; undefined if there is none of the whole object's bytes. */
export function checksumIn(headers: IncomingHttpHeaders): Checksum | undefined {
  // A checksum of the checksums of parts, whose bounds nobody knows any more.
  if (headerOf(headers, 'x-amz-checksum-type') === 'COMPOSITE') return undefined;
  for (const [name, sum] of ALGORITHMS) {
    const value = headerOf(headers, `x-amz-checksum-${name}`);
    if (value === undefined || /-\d+$/.test(value)) continue;
    return { matches: async (bytes) => Buffer.from(await sum(bytes)).toString('base64') === value };
  }
  return undefined;
}

function bigEndian(sum: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(sum);
  return bytes;
}
