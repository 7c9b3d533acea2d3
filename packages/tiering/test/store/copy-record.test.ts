import { loadChecksum } from '@tiered/core/internal';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { copyOf, packSums } from '../../src/index/copy-record.js';
import type { CopyRow } from '../../src/tier/copy-rows.js';

const checksum = await loadChecksum();

const number = fc.nat({ max: 2 ** 40 });
const copies = fc.record({
  key: fc.string({ minLength: 1 }),
  version: fc.string(),
  size: number,
  bytes: number,
  chunk: fc.integer({ min: 1, max: 2 ** 30 }),
  sums: fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 6 }),
});

function rowOf({ sums, ...described }: typeof copies extends fc.Arbitrary<infer T> ? T : never): CopyRow {
  const packed = packSums(described, sums, checksum);
  const rest = { dataset: 1, tag: 7, occupied: 0, member: undefined, seq: 0 };
  return { ...rest, ...described, sums: packed };
}

it('[T2] what is recorded of a copy comes back as it was', () => {
  fc.assert(
    fc.property(copies, (copy) => {
      const { size, bytes, chunk, sums } = copy;
      expect(copyOf(rowOf(copy), 'data', checksum).content).toEqual({ size, bytes, chunkBytes: chunk, sums });
    }),
  );
});

it('[T2] a bit that has turned over in what is recorded of a copy is noticed', () => {
  const field = fc.constantFrom('sums', 'size', 'bytes', 'chunk', 'key', 'version' as const);
  fc.assert(
    fc.property(copies, field, fc.nat(), (copy, turned, which) => {
      const row = rowOf(copy);
      const sums = Uint8Array.from(row.sums);
      const bit = which % (sums.byteLength * 8);
      sums[bit >> 3] = (sums[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const turnedOver = {
        sums,
        size: row.size + 2 ** (which % 40),
        bytes: row.bytes + 2 ** (which % 40),
        chunk: row.chunk + 2 ** (which % 30),
        key: `${row.key}\u0001`,
        version: `${row.version}x`,
      };
      const damaged = { ...row, [turned]: turnedOver[turned] };
      expect(copyOf(damaged, 'data', checksum).content).toBeUndefined();
    }),
  );
});

it('[T2] checksums that were cut off are noticed', () => {
  fc.assert(
    fc.property(copies, fc.nat(), (copy, which) => {
      const row = rowOf(copy);
      const sums = row.sums.subarray(0, which % row.sums.byteLength);
      expect(copyOf({ ...row, sums }, 'data', checksum).content).toBeUndefined();
    }),
  );
});
