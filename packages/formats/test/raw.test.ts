import { rawRecords } from '@tiered/formats/raw';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readObject, samplesOf } from './read-object.js';

describe('records of a fixed size', () => {
  it('are found without a read, behind what is before them', () => {
    const sizes = fc.record({
      records: fc.nat(20),
      record: fc.integer({ min: 1, max: 9 }),
      header: fc.nat(9),
    });
    return fc.assert(
      fc.asyncProperty(sizes, async ({ records, record, header }) => {
        const bytes = Uint8Array.from({ length: header + records * record }, (_, i) => i);
        const { samples, damage, reads } = await readObject(
          rawRecords({ recordBytes: record, headerBytes: header }),
          bytes,
        );
        expect(Buffer.concat(samples)).toEqual(Buffer.from(bytes.subarray(header)));
        expect(samples.every(({ byteLength }) => byteLength === record)).toBe(true);
        expect({ damage, reads }).toEqual({ damage: [], reads: [] });
      }),
    );
  });

  it('tell of bytes behind the last whole record, and of a header that is cut off', async () => {
    const format = rawRecords({ recordBytes: 4, headerBytes: 2 });
    const { samples, damage } = await readObject(format, new Uint8Array(9), 'shard');
    expect(samples).toHaveLength(1);
    expect(damage.map(({ message }) => message)).toEqual([expect.stringContaining('shard, byte 6: ')]);
    expect((await readObject(format, new Uint8Array(1))).damage).toHaveLength(1);
    await expect(samplesOf(format, new Uint8Array(5))).rejects.toThrow('3 of 4 bytes');
  });
});
