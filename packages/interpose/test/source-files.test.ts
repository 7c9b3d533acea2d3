import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { sourceFileOf, type FileFacts } from '../src/daemon/source-files.js';
import { ENTRY_BYTES, HEADER_BYTES, IN_ENTRY } from '../src/table/layout.js';
import { TableWriter } from '../src/table/writer.js';
import { temporaryDirectory } from './helpers.js';

/** Likely at some border. */
const number = fc.oneof(
  fc.constantFrom(0n, 1n, -1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n, 2n ** 63n, -(2n ** 63n)),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  fc.bigInt(0n, 2n ** 32n),
);
/** Nanoseconds of seconds of 64 bits. */
const time = fc.oneof(number, fc.bigInt(-(2n ** 63n) * 10n ** 9n, 2n ** 63n * 10n ** 9n));
const facts: fc.Arbitrary<FileFacts> = fc.record({
  ...{ size: number, ino: number, mtimeNs: time, dev: number, mode: number, uid: number, gid: number },
});

it('whatever a file system says of a file, the table says that or nothing', async () => {
  const file = path.join(temporaryDirectory(), 'table');
  const table = await TableWriter.create({ path: file, roots: ['/data'], tiers: ['/tier'], entries: 1 });
  table.publish();
  const entry = table.add('key', 0);
  const at = fs.readFileSync(file).findIndex((byte, i) => i >= HEADER_BYTES && byte !== 0);
  const begin = at - ((at - HEADER_BYTES) % ENTRY_BYTES);
  try {
    fc.assert(
      fc.property(facts, (said) => {
        const told = sourceFileOf(said);
        if (told === undefined) return;
        table.setFile(entry, told);
        const bytes = fs.readFileSync(file).subarray(begin);
        expect({
          size: bytes.readBigUInt64LE(IN_ENTRY.size),
          ino: BigInt.asIntN(64, bytes.readBigUInt64LE(IN_ENTRY.inode)),
          mtimeNs: bytes.readBigInt64LE(IN_ENTRY.modified),
          mode: BigInt(bytes.readUInt32LE(IN_ENTRY.mode)),
          uid: BigInt(bytes.readUInt32LE(IN_ENTRY.user)),
          gid: BigInt(bytes.readUInt32LE(IN_ENTRY.group)),
          dev: said.dev,
        }).toEqual(said);
      }),
    );
  } finally {
    table.close();
  }
});

it.each([
  ['changed in 2300', { mtimeNs: 10_413_792_000n * 10n ** 9n }],
  ['changed before 1677', { mtimeNs: -10_000_000_000n * 10n ** 9n }],
  ['of no kind', { mode: 0n }],
  ['of a negative size', { size: -1n }],
])('of a file that was %s programs ask the source', (_, said) => {
  const ordinary = { size: 1n, ino: 1n, mtimeNs: 0n, dev: 1n, mode: 0o100644n, uid: 0n, gid: 0n };
  expect(sourceFileOf(ordinary)).toBeDefined();
  expect(sourceFileOf({ ...ordinary, ...said })).toBeUndefined();
});
