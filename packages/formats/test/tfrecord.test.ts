import { isTieredError, type ErrorCode } from '@tiered/core';
import { encodeRecords, frameRecord, readRecords, type ReadRecordsOptions } from '@tiered/formats/tfrecord';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concat, flipBit, hex, inSharedMemory } from './bytes.js';

const HEADER = 12;
const FRAMING = 16;

// The checksums below come from a bit-by-bit CRC-32C (polynomial 0x82f63b78) outside this repository, masked
// as the TFRecord format says: ((crc >>> 15) | (crc << 17)) + 0xa282ead8.
const NINE_DIGITS = hex(`
  09 00 00 00 00 00 00 00     // length 9
  37 f9 71 39                 // its masked CRC
  31 32 33 34 35 36 37 38 39  // '123456789', whose CRC-32C is the well-known e3069283
  e5 b0 8a c7                 // masked: c78ab0e5
`);
const EMPTY_RECORD = hex(`
  00 00 00 00 00 00 00 00  29 03 98 07
  d8 ea 82 a2                 // the CRC of nothing is 0, masked: a282ead8
`);

interface Outcome {
  readonly records: readonly Uint8Array[];
  readonly code: ErrorCode | undefined;
}

/** All records up to the end or the first error. What is not a TieredError is a crash and fails the test. */
function drain(bytes: Uint8Array, options?: ReadRecordsOptions): Outcome {
  const records: Uint8Array[] = [];
  try {
    for (const record of readRecords(bytes, options)) records.push(record);
  } catch (error) {
    if (!isTieredError(error)) throw error;
    return { records, code: error.code };
  }
  return { records, code: undefined };
}

/** The byte where each record ends. */
function boundaries(records: readonly Uint8Array[]): number[] {
  let end = 0;
  return records.map((record) => (end += FRAMING + record.byteLength));
}

const anyRecord = fc.uint8Array({ maxLength: 200 });
const anyRecords = fc.array(anyRecord, { maxLength: 8 });
const someRecords = fc.array(anyRecord, { minLength: 1, maxLength: 8 });

describe('TFRecord, known bytes', () => {
  it('frames a record as the format says', () => {
    expect(frameRecord(hex('31 32 33 34 35 36 37 38 39'))).toEqual(NINE_DIGITS);
    expect(frameRecord(new Uint8Array(0))).toEqual(EMPTY_RECORD);
  });

  it('has the checksums of RFC 3720 (iSCSI), masked', () => {
    expect(frameRecord(new Uint8Array(32)).subarray(HEADER + 32)).toEqual(hex('fa ff d7 0f')); // 8a9136aa
    expect(frameRecord(new Uint8Array(32).fill(0xff)).subarray(HEADER + 32)).toEqual(hex('29 b0 09 f9')); // 62a8ab43
  });

  it('starts a record of 24 bytes as every TensorBoard event file starts', () => {
    expect(frameRecord(new Uint8Array(24)).subarray(0, HEADER)).toEqual(
      hex('18 00 00 00 00 00 00 00  a3 7f 4b 22'),
    );
  });

  it('reads known bytes', () => {
    const { records, code } = drain(concat(NINE_DIGITS, EMPTY_RECORD, NINE_DIGITS));
    expect(code).toBeUndefined();
    expect(records.map((record) => new TextDecoder().decode(record))).toEqual(['123456789', '', '123456789']);
  });
});

describe('TFRecord, whole shards', () => {
  it('gives back any records, in order', () => {
    fc.assert(
      fc.property(anyRecords, fc.boolean(), (records, verify) => {
        expect(drain(encodeRecords(records), { verify })).toEqual({ records, code: undefined });
      }),
    );
  });

  it('makes a shard of the frames of its records, one behind the other, from any iterable', () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        expect(encodeRecords(new Set(records))).toEqual(concat(...records.map(frameRecord)));
      }),
    );
  });

  it('copies nothing: records are views into the shard, wherever it lies', () => {
    const shard = encodeRecords([Uint8Array.of(1, 2, 3), Uint8Array.of(4)]);
    for (const bytes of [shard, inSharedMemory(shard), Buffer.from(shard)]) {
      const { records } = drain(bytes);
      expect(records.map((record) => [...record])).toEqual([[1, 2, 3], [4]]);
      expect(records.map((record) => record.buffer === bytes.buffer)).toEqual([true, true]);
      expect(records.map((record) => record.byteOffset - bytes.byteOffset)).toEqual([HEADER, 31]);
    }
  });
});

describe('TFRecord, damage', () => {
  it('notices every single flipped bit of a shard, and gives the records before it', () => {
    const records = [Uint8Array.of(7, 0, 255), new Uint8Array(0), Uint8Array.of(1)];
    const shard = encodeRecords(records);
    const ends = boundaries(records);
    for (let bit = 0; bit < shard.byteLength * 8; bit++) {
      const before = ends.filter((end) => end <= bit >> 3).length;
      expect(drain(flipBit(shard, bit)), `bit ${bit}`).toEqual({
        records: records.slice(0, before),
        code: 'TIERED_DATA_CORRUPT',
      });
    }
  });

  it('notices any flipped bit of any shard', () => {
    fc.assert(
      fc.property(someRecords, fc.nat(), (records, at) => {
        const shard = encodeRecords(records);
        const damaged = flipBit(shard, at % (shard.byteLength * 8));
        expect(drain(damaged).code).toBe('TIERED_DATA_CORRUPT');
      }),
    );
  });

  it('notices any cut that is not exactly between two records', () => {
    fc.assert(
      fc.property(someRecords, fc.boolean(), fc.nat(), (records, verify, at) => {
        const shard = encodeRecords(records);
        const cut = at % shard.byteLength;
        const ends = boundaries(records);
        const whole = ends.filter((end) => end <= cut).length;
        expect(drain(shard.subarray(0, cut), { verify })).toEqual({
          records: records.slice(0, whole),
          code: cut === 0 || ends.includes(cut) ? undefined : 'TIERED_DATA_CORRUPT',
        });
      }),
    );
  });

  it.each([
    ['2^32 + 1', '01 00 00 00 01 00 00 00  7a 1b ad 6c'],
    ['2^53', '00 00 00 00 00 00 20 00  1e d2 94 45'],
    ['2^64 - 1', 'ff ff ff ff ff ff ff ff  a6 7b 11 3a'],
  ])('refuses a length of %s whose checksum is right', (_, header) => {
    const bytes = concat(hex(header), new Uint8Array(64));
    expect(drain(bytes)).toEqual({ records: [], code: 'TIERED_DATA_CORRUPT' });
    expect(drain(bytes, { verify: false })).toEqual({ records: [], code: 'TIERED_DATA_CORRUPT' });
  });

  it('answers random bytes with nothing but TIERED_DATA_CORRUPT, also behind a header that is right', () => {
    const validHeader = anyRecord.map((record) => frameRecord(record).subarray(0, HEADER));
    const header = fc.oneof(fc.constant(new Uint8Array(0)), validHeader);
    fc.assert(
      fc.property(header, fc.uint8Array({ maxLength: 400 }), fc.boolean(), (start, random, verify) => {
        expect(drain(concat(start, random), { verify }).code ?? 'TIERED_DATA_CORRUPT').toBe(
          'TIERED_DATA_CORRUPT',
        );
      }),
      { numRuns: 500 },
    );
  });
});

describe('TFRecord without verification of data', () => {
  const data = Uint8Array.of(1, 2, 3, 4);
  const shard = encodeRecords([data, data]);

  it('gives damaged data as it is, and does not look at its checksum', () => {
    const firstBitOfData = HEADER * 8;
    const firstBitOfChecksum = (HEADER + data.byteLength) * 8;
    expect(drain(flipBit(shard, firstBitOfData), { verify: false })).toEqual({
      records: [Uint8Array.of(0, 2, 3, 4), data],
      code: undefined,
    });
    expect(drain(flipBit(shard, firstBitOfChecksum), { verify: false })).toEqual({
      records: [data, data],
      code: undefined,
    });
  });

  it('still notices every flipped bit of a length or its checksum', () => {
    for (let bit = 0; bit < HEADER * 8; bit++) {
      expect(drain(flipBit(shard, bit), { verify: false }).code, `bit ${bit}`).toBe('TIERED_DATA_CORRUPT');
    }
  });
});
