import { isTieredError, type ErrorCode } from '@tiered/core';
import { decodeExample, encodeExample, type Feature } from '@tiered/formats/tfrecord';
import fc from 'fast-check';
import type { HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { describe, expect, it } from 'vitest';
import { concat, hex, inSharedMemory } from './bytes.js';

// Written by hand from example.proto, feature.proto and the protobuf encoding guide.
const KNOWN = hex(`
  0a 3a                                // Example.features, 58 bytes
    0a 0d                              //   Features.feature, an entry of 13 bytes
      0a 01 62                         //     key 'b'
      12 08  0a 06                     //     value: Feature.bytes_list of 6 bytes
        0a 02 01 ff  0a 00             //       value 01 ff, and an empty one
    0a 11                              //   an entry of 17 bytes
      0a 01 66                         //     key 'f'
      12 0c  12 0a                     //     value: Feature.float_list of 10 bytes
        0a 08 00 00 80 3f 00 00 00 bf  //       packed: 1 and -0.5
    0a 16                              //   an entry of 22 bytes
      0a 01 69                         //     key 'i'
      12 11  1a 0f                     //     value: Feature.int64_list of 15 bytes
        0a 0d 03  ac 02                //       packed: 3, 300,
        ff ff ff ff ff ff ff ff ff 01  //       and -1
`);
const KNOWN_FEATURES = {
  b: { kind: 'bytes', values: [Uint8Array.of(1, 255), new Uint8Array(0)] },
  f: { kind: 'float', values: Float32Array.of(1, -0.5) },
  i: { kind: 'int64', values: [3n, 300n, -1n] },
} satisfies Record<string, Feature>;

/** A length-delimited field with a number below 16 and less than 16 KiB. */
function field(number: number, ...content: readonly Uint8Array[]): Uint8Array {
  const bytes = concat(...content);
  const size = bytes.byteLength;
  const length = size < 0x80 ? [size] : [(size & 0x7f) | 0x80, size >> 7];
  return concat(Uint8Array.of((number << 3) | 2, ...length), bytes);
}

/** An Example whose one feature, called x, is the given content of `Feature`. */
function exampleOf(...feature: readonly Uint8Array[]): Uint8Array {
  return field(1, entry('x', ...feature));
}

function entry(name: string, ...feature: readonly Uint8Array[]): Uint8Array {
  return field(1, field(1, new TextEncoder().encode(name)), field(2, ...feature));
}

const floats = (...values: number[]): Feature => ({ kind: 'float', values: Float32Array.from(values) });
const ints = (...values: bigint[]): Feature => ({ kind: 'int64', values });

/** What `run` takes of the heap, also if it is collected at once. */
async function bytesAllocated(run: () => void): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 512,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  run();
  const { profile } = await session.post('HeapProfiler.stopSampling');
  session.disconnect();
  return sizeOf(profile.head);
}

function sizeOf({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + sizeOf(child), selfSize);
}

/** The code of the TieredError that `run` throws. Any other error is a crash and fails the test. */
function codeOf(run: () => unknown): ErrorCode | undefined {
  try {
    run();
  } catch (error) {
    if (!isTieredError(error)) throw error;
    return error.code;
  }
  return undefined;
}

const anyFeature: fc.Arbitrary<Feature> = fc.oneof(
  fc.record({
    kind: fc.constant('bytes' as const),
    values: fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('float' as const), values: fc.float32Array({ maxLength: 50 }) }),
  fc.record({
    kind: fc.constant('int64' as const),
    values: fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { maxLength: 50 }),
  }),
);
const anyName = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.constantFrom('', '__proto__', 'constructor', '\ufeffbom'),
);
const anyFeatures = fc
  .array(fc.tuple(anyName, anyFeature), { maxLength: 6 })
  .map((entries) => Object.fromEntries(entries));

describe('tf.train.Example, known bytes', () => {
  it('encodes to known bytes', () => {
    expect(encodeExample(KNOWN_FEATURES)).toEqual(KNOWN);
  });

  it('writes nothing into an empty list, and keeps its kind', () => {
    expect(encodeExample({ x: floats() })).toEqual(hex('0a 09  0a 07  0a 01 78  12 02  12 00'));
    expect(decodeExample(encodeExample({ x: floats() }))).toEqual(new Map([['x', floats()]]));
  });

  it('decodes known bytes', () => {
    expect(decodeExample(KNOWN)).toEqual(new Map(Object.entries(KNOWN_FEATURES)));
  });

  it('reads repeated numbers that are packed, unpacked, or a mixture', () => {
    const unpackedFloats = hex('0d 00 00 80 3f  0d 00 00 00 bf');
    const packedFloats = hex('0a 08 00 00 80 3f 00 00 00 bf');
    const unpackedInts = hex('08 03  08 ac 02');
    const packedInts = hex('0a 03 03 ac 02');
    const read = (...feature: Uint8Array[]) => decodeExample(exampleOf(...feature)).get('x');
    expect(read(field(2, unpackedFloats))).toEqual(floats(1, -0.5));
    expect(read(field(2, unpackedFloats, packedFloats))).toEqual(floats(1, -0.5, 1, -0.5));
    expect(read(field(3, unpackedInts))).toEqual(ints(3n, 300n));
    expect(read(field(3, packedInts, unpackedInts))).toEqual(ints(3n, 300n, 3n, 300n));
  });

  it('reads no bytes at all as an example without features', () => {
    expect(decodeExample(new Uint8Array(0))).toEqual(new Map());
  });
});

describe('tf.train.Example, what protobuf allows', () => {
  it('skips unknown fields of every wire type on every level', () => {
    const unknown = hex(`
      78 96 01                     // field 15, varint
      79 01 02 03 04 05 06 07 08   // 64 bits
      7a 02 ff ff                  // length-delimited
      7b 08 01 7c                  // group
      7d 01 02 03 04               // 32 bits
    `);
    const amongUnknown = (number: number, ...content: Uint8Array[]) =>
      field(number, unknown, ...content, unknown);
    const value = amongUnknown(2, amongUnknown(3, hex('08 05')));
    const features = amongUnknown(1, amongUnknown(1, field(1, hex('78')), value));
    const bytes = concat(unknown, features, unknown);
    expect(decodeExample(bytes)).toEqual(new Map([['x', ints(5n)]]));
  });

  it('skips known fields whose wire type is another one', () => {
    const varint = hex('08 01  10 01  18 01'); // fields 1, 2 and 3
    const asFixed64 = hex('09 00 00 00 00 00 00 00 00'); // in a list of int64
    const feature = concat(varint, field(3, asFixed64, hex('08 05')));
    const bytes = concat(hex('08 01'), field(1, hex('08 01'), entry('x', feature)));
    expect(decodeExample(bytes)).toEqual(new Map([['x', ints(5n)]]));
  });

  it('takes the last of several features with one name', () => {
    const bytes = field(1, entry('x', field(3, hex('08 01'))), entry('x', field(3, hex('08 02'))));
    expect(decodeExample(bytes)).toEqual(new Map([['x', ints(2n)]]));
  });

  it('takes features from every part of an example that comes in parts', () => {
    const bytes = concat(exampleOf(field(3, hex('08 01'))), field(1, entry('y', field(3, hex('08 02')))));
    expect([...decodeExample(bytes).keys()]).toEqual(['x', 'y']);
  });

  it('merges a list that comes in parts, and drops it when a list of another kind follows', () => {
    const one = field(3, hex('08 01'));
    const two = field(3, hex('08 02'));
    const float = field(2, hex('0d 00 00 80 3f'));
    const read = (bytes: Uint8Array) => decodeExample(bytes).get('x');
    expect(read(exampleOf(one, two))).toEqual(ints(1n, 2n));
    expect(read(exampleOf(float, float))).toEqual(floats(1, 1));
    expect(read(exampleOf(one, float))).toEqual(floats(1));
    const bytesList = field(1, field(1, hex('aa')));
    expect(read(exampleOf(bytesList, bytesList))).toEqual({ kind: 'bytes', values: [hex('aa'), hex('aa')] });
    const valueTwice = field(1, field(1, field(1, hex('78')), field(2, one), field(2, two)));
    expect(read(valueTwice)).toEqual(ints(1n, 2n));
  });

  it.each([
    { kind: 'bytes', list: 1, value: [0x0a, 0] },
    { kind: 'float', list: 2, value: [0x0d, 0, 0, 0, 0] },
    { kind: 'int64', list: 3, value: [0x08, 1] },
  ])('copies no value for each of many parts that a list of $kind comes in', async ({ list, value }) => {
    const decode = (count: number) => {
      const values = new Uint8Array(count * value.length).map((_, i) => value[i % value.length] ?? 0);
      const parts = Array.from({ length: count }, () => field(list));
      const bytes = exampleOf(field(list, values), ...parts);
      return bytesAllocated(() => expect(decodeExample(bytes).get('x')?.values).toHaveLength(count));
    };
    const least = async (count: number) => {
      const tries: number[] = [];
      for (let i = 0; i < 5; i++) tries.push(await decode(count));
      return Math.min(...tries);
    };
    await decode(500);
    // In proportion it is 4 times as much; it would be 16 times with a copy for each part. The profile is a
    // sample, and counts what else was allocated meanwhile.
    expect((await least(2000)) / (await least(500))).toBeLessThan(10);
  });

  it('takes a feature without a name as the one called by the empty string', () => {
    const nameless = field(1, field(1, field(2, field(3, hex('08 05')))));
    expect(decodeExample(nameless)).toEqual(new Map([['', ints(5n)]]));
  });

  it('counts a feature without a kind as missing', () => {
    expect(decodeExample(exampleOf())).toEqual(new Map());
    const setThenEmpty = field(1, entry('x', field(3, hex('08 01'))), entry('x'));
    expect(decodeExample(setThenEmpty)).toEqual(new Map());
  });
});

describe('tf.train.Example, round trip', () => {
  it('gives back any features in the order given, and the same bytes when encoded again', () => {
    fc.assert(
      fc.property(anyFeatures, (features) => {
        const bytes = encodeExample(features);
        const decoded = decodeExample(bytes);
        expect([...decoded]).toEqual(Object.entries(features));
        expect(encodeExample(Object.fromEntries(decoded))).toEqual(bytes);
      }),
    );
  });

  it('gives bytes as views and reads from shared memory at any offset', () => {
    const bytes = inSharedMemory(encodeExample({ größe: { kind: 'bytes', values: [Uint8Array.of(1, 2)] } }));
    const feature = decodeExample(bytes).get('größe');
    const value = feature?.kind === 'bytes' ? feature.values[0] : undefined;
    expect([...(value ?? [])]).toEqual([1, 2]);
    expect(value?.buffer).toBe(bytes.buffer);
  });

  it('refuses what the format cannot hold', () => {
    expect(codeOf(() => encodeExample({ x: ints(2n ** 63n) }))).toBe('TIERED_CONFIG_INVALID');
    expect(codeOf(() => encodeExample({ x: ints(-(2n ** 63n) - 1n) }))).toBe('TIERED_CONFIG_INVALID');
    expect(codeOf(() => encodeExample({ '\ud800': ints() }))).toBe('TIERED_CONFIG_INVALID');
  });
});

describe('tf.train.Example, damage', () => {
  it('notices a cut anywhere', () => {
    for (let cut = 1; cut < KNOWN.byteLength; cut++) {
      expect(
        codeOf(() => decodeExample(KNOWN.subarray(0, cut))),
        `cut at ${cut}`,
      ).toBe('TIERED_DATA_CORRUPT');
    }
  });

  it.each([
    ['a value that runs past its list', exampleOf(hex('0a 02  0a 01'), field(1, field(1, hex('aa'))))],
    ['packed floats that are no multiple of 4 bytes', exampleOf(field(2, field(1, new Uint8Array(7))))],
    ['a packed number that runs past its field', exampleOf(field(3, hex('0a 01 80  01 08 05')))],
    ['a number of more than 64 bits', exampleOf(field(3, hex('08 ff ff ff ff ff ff ff ff ff ff 01')))],
    ['a name that is not UTF-8', field(1, field(1, field(1, hex('ff')), field(2)))],
    ['field number 0', hex('02 00')],
    ['a wire type that does not exist', hex('0e 00')],
    ['a group that ends without a start', hex('7c')],
    ['a group that ends under another number', hex('7b 74')],
    ['groups nested without end', new Uint8Array(100_000).fill(0x7b)],
  ])('notices %s', (_, bytes) => {
    expect(codeOf(() => decodeExample(bytes))).toBe('TIERED_DATA_CORRUPT');
  });

  it('keeps what the decoder said as the cause', () => {
    expect(() => decodeExample(hex('0a 05 00'))).toThrow(
      expect.objectContaining({ cause: expect.any(Error) }),
    );
  });

  it('answers random bytes with nothing but TIERED_DATA_CORRUPT', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(codeOf(() => decodeExample(bytes)) ?? 'TIERED_DATA_CORRUPT').toBe('TIERED_DATA_CORRUPT');
      }),
      { numRuns: 500 },
    );
  });

  it('answers a damaged example with nothing but TIERED_DATA_CORRUPT', () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(anyFeatures, damage, (features, changes) => {
        const bytes = encodeExample(features);
        for (const [at, value] of changes) bytes[at % bytes.byteLength] = value;
        expect(codeOf(() => decodeExample(bytes)) ?? 'TIERED_DATA_CORRUPT').toBe('TIERED_DATA_CORRUPT');
      }),
      { numRuns: 500 },
    );
  });
});
