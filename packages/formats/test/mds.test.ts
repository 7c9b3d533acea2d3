import { isTieredError } from '@tiered/core';
import { encodeMds, mds, type Dtype, type MdsSample, type NdArray } from '@tiered/formats/mds';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anyDamage, concat } from './bytes.js';
import { anyArray } from './any-array.js';
import { plain, withFloats } from './plain-values.js';
import { memoryObject, readObject, samplesOf } from './read-object.js';

const folder = path.join(import.meta.dirname, 'data', 'mds');
const file = (name: string) => new Uint8Array(fs.readFileSync(path.join(folder, name)));
const content = JSON.parse(fs.readFileSync(path.join(folder, 'content.json'), 'utf8')) as Readonly<
  Record<string, unknown>
>;

describe('mds, files of MosaicML Streaming', () => {
  it.each(Object.entries(content))('reads %s as the library does', async (name, expected) => {
    expect(plain(await samplesOf(mds(), file(name)))).toEqual(withFloats(expected));
  });

  it('reads what it compressed by gzip', async () => {
    const { table, samples } = await readObject(mds(), file('texts.mds.gz'));
    expect(plain(samples)).toEqual(content['texts.mds']);
    expect([...(table.samples ?? [])]).toEqual([3]);
  });

  it('reads what it compressed by zstd', async () => {
    const samples = await samplesOf(mds(), file('texts.mds.zstd'), 'shard.mds.zstd');
    expect(plain(samples)).toEqual(content['texts.mds']);
  });

  it('says that it does not read bzip2', async () => {
    await expect(samplesOf(mds(), file('texts.mds.bz2'))).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringContaining('it is compressed by bzip2') as string,
    });
  });

  it('tells of what is no shard', async () => {
    const { samples, damage } = await readObject(mds(), Buffer.from('{"shards": [], "version": 2}'));
    expect(samples).toEqual([]);
    expect(damage.map(({ message }) => message)).toEqual([expect.stringContaining('it is not an MDS shard')]);
  });

  it('refuses a pickled column by name, unless it is left out', async () => {
    await expect(samplesOf(mds(), file('pickled.mds'))).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringContaining('its column what is pickled'),
    });
    expect(await samplesOf(mds({ columns: ['id'] }), file('pickled.mds'))).toEqual([{ id: 5n }]);
  });

  it('refuses a column that is not there', async () => {
    await expect(samplesOf(mds({ columns: ['id', 'x'] }), file('texts.mds'))).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringContaining('it has no column x'),
    });
  });
});

const anyText = fc.string({ unit: 'binary' });
const range = (bits: number, isSigned: boolean) =>
  isSigned
    ? fc.bigInt({ min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n })
    : fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n });
const arrayOf = (dtype: Dtype, shape?: readonly number[]) =>
  anyArray({ dtypes: [dtype], minLength: 1, minAxes: 1, ...(shape && { shape }) });
/** What the columns of any encoding may have. */
const VALUES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  bytes: fc.uint8Array(),
  jpeg: fc.uint8Array(),
  png: fc.uint8Array(),
  str: anyText,
  // Without integers that are read as bigints.
  json: fc.jsonValue().filter((value) => !/(?<![.\d])\d{16}/.test(JSON.stringify(value))),
  int: range(64, true),
  int8: range(8, true).map(Number),
  uint16: range(16, false).map(Number),
  int32: range(32, true).map(Number),
  int64: range(64, true),
  uint64: range(64, false),
  float16: fc.constantFrom(0, -0, 1.5, 65504, Infinity, NaN, 2 ** -24),
  float32: fc.float(),
  float64: fc.double(),
  ndarray: anyArray({ dtypes: ['uint8', 'int64', 'float16', 'float32'], minLength: 1, minAxes: 1 }),
  'ndarray:float64': arrayOf('float64'),
  'ndarray:uint16:2,3': arrayOf('uint16', [2, 3]),
};
const anyColumns = fc.dictionary(anyText, fc.constantFrom(...Object.keys(VALUES)), {
  minKeys: 1,
  maxKeys: 4,
});
const anyShard = anyColumns.chain((columns) =>
  fc.record({
    columns: fc.constant(columns),
    samples: fc.array(
      fc.record(
        Object.fromEntries(
          Object.entries(columns).map(([name, encoding]) => [name, VALUES[encoding] ?? fc.constant(0)]),
        ),
      ) as fc.Arbitrary<MdsSample>,
      { maxLength: 4 },
    ),
  }),
);
const anyCompression = fc.constantFrom('none' as const, 'gzip' as const);
const withoutZero = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;

describe('mds, what was written here', () => {
  it('is found and decoded, compressed or not', () =>
    fc.assert(
      fc.asyncProperty(anyShard, anyCompression, async ({ columns, samples }, compression) => {
        const shard = encodeMds(samples, columns, { compression });
        const read = await readObject(mds(), shard);
        expect([...read.damage, ...read.refused]).toEqual([]);
        // JSON has no -0 and loses it inside of values.
        const isJson = Object.values(columns).includes('json');
        const same = isJson ? withoutZero : (value: unknown) => value;
        expect(same(plain(read.samples))).toEqual(same(plain(samples)));
        const single = compression === 'none' ? samples.length : Math.min(1, samples.length);
        expect(read.table.offsets).toHaveLength(single);
      }),
      { numRuns: 300 },
    ));

  it('tells of its columns as the library does', () => {
    const samples = [
      { größe: '', data: new Uint8Array(0), about: { a: 1 }, id: 0n },
      { größe: 'ü', data: Uint8Array.of(1), about: null, id: -1n },
    ];
    const shard = Buffer.from(encodeMds(samples, { größe: 'str', data: 'bytes', about: 'json', id: 'int' }));
    const library = Buffer.from(file('texts.mds'));
    const columns = (bytes: Buffer) =>
      JSON.parse(bytes.toString('utf8', 8 + 4 * bytes.readUInt32LE(0), bytes.readUInt32LE(4))) as unknown;
    expect(columns(shard)).toEqual(columns(library));
  });

  it.each<[string, MdsSample, Record<string, string>]>([
    ['an encoding that is not known', {}, { a: 'int7' }],
    ['a pickled column', {}, { a: 'pkl' }],
    ['a column without a value', {}, { a: 'str' }],
    ['a name of Object.prototype as encoding', { a: 1 }, { a: 'constructor' }],
    ['a text that is no text', { a: '\ud800' }, { a: 'str' }],
    ['a number that is too large', { a: 256 }, { a: 'uint8' }],
    ['a number that is too small', { a: -(2n ** 63n) - 1n }, { a: 'int' }],
    ['a number for a bigint', { a: 1 }, { a: 'int' }],
    ['a fraction', { a: 0.5 }, { a: 'int32' }],
    ['what JSON does not have', { a: undefined }, { a: 'json' }],
    ['an array without axes', { a: array('uint8', []) }, { a: 'ndarray' }],
    ['an array of another dtype', { a: array('uint8', [1]) }, { a: 'ndarray:int8' }],
    ['an array of another shape', { a: array('uint8', [2]) }, { a: 'ndarray:uint8:1' }],
    [
      'an array that is not as long as its shape',
      { a: { ...array('uint8', [2]), shape: [3] } },
      { a: 'ndarray' },
    ],
  ])('has not %s', (_, sample, columns) => {
    expect(() => encodeMds([sample], columns)).toThrow(
      expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
    );
  });
});

function array(dtype: 'uint8', shape: number[]): NdArray {
  return { dtype, shape, data: new Uint8Array(shape.reduce((product, length) => product * length, 1)) };
}

describe('mds, what an index reads', () => {
  const shardOf = (count: number, bytes: number) =>
    encodeMds(
      Array.from({ length: count }, () => ({ image: new Uint8Array(bytes) })),
      { image: 'jpeg' },
    );

  it('is one range, and two of a shard with many samples', async () => {
    const few = await readObject(mds(), shardOf(100, 10_000));
    expect(few.reads).toEqual([{ offset: 0, length: 16 * 1024 }]);
    const many = await readObject(mds(), shardOf(20_000, 100));
    expect(many.samples).toHaveLength(20_000);
    expect(many.reads).toHaveLength(2);
    for (const { length } of many.reads) expect(length).toBeLessThan(100_000);
  });

  it('ends with an abort, before the next read', async () => {
    const object = memoryObject(shardOf(20_000, 1));
    const controller = new AbortController();
    const reason = new Error('enough');
    const read = (offset: number, length: number) => {
      controller.abort(reason);
      return object.read(offset, length);
    };
    const options = { signal: controller.signal, onDamage: () => undefined };
    await expect(mds().index({ ...object, read }, options)).rejects.toBe(reason);
    expect(object.reads).toHaveLength(1);
  });
});

describe('mds, damage', () => {
  const columns = { a: 'str', b: 'uint8' };
  const samples = ['x', 'yy', 'zzz'].map((a, b) => ({ a, b }));
  const shard = encodeMds(samples, columns);
  const first = new DataView(shard.buffer, shard.byteOffset).getUint32(4, true);
  const changed = (at: number, value: number) => {
    const copy = shard.slice();
    new DataView(copy.buffer).setUint32(at, value, true);
    return copy;
  };
  const found = async (bytes: Uint8Array) => {
    const read = await readObject(mds(), bytes);
    return [read.samples.length, ...[...read.damage, ...read.refused].map(({ message }) => message)];
  };

  it('gives samples or an error for whatever happens to the bytes', () =>
    fc.assert(
      fc.asyncProperty(anyShard, anyCompression, anyDamage, async (any, compression, damage) => {
        const bytes = damage(encodeMds(any.samples, any.columns, { compression }));
        try {
          const read = await readObject(mds(), bytes);
          if (compression === 'gzip')
            for (const one of read.samples) expect(plain(any.samples)).toContainEqual(plain(one));
        } catch (error) {
          // The name of an encoding that is not known.
          if (!isTieredError(error, 'TIERED_UNSUPPORTED')) throw error;
        }
      }),
      { numRuns: 500 },
    ));

  it.each([...Object.keys(content), 'texts.mds.gz', 'texts.mds.zstd'])(
    'gives samples or an error for whatever happens to %s',
    (name) =>
      fc.assert(
        fc.asyncProperty(anyDamage, async (damage) => {
          await readObject(mds(), damage(file(name))).catch((error: unknown) => {
            if (!isTieredError(error, 'TIERED_UNSUPPORTED')) throw error;
          });
        }),
        { numRuns: 300 },
      ),
  );

  it('gives whole samples of any shard that is cut off, and tells of the cut', () =>
    fc.assert(
      fc.asyncProperty(anyShard, fc.nat(), async (any, at) => {
        const whole = encodeMds(any.samples, any.columns);
        const read = await readObject(mds(), whole.subarray(0, at % whole.byteLength));
        expect(read.damage).toHaveLength(1);
        expect(plain(read.samples)).toEqual(plain(any.samples.slice(0, read.samples.length)));
      }),
    ));

  it.each<[string, Uint8Array, number, string]>([
    ['an object of nothing', new Uint8Array(0), 0, 'byte 0: it has 0 bytes'],
    ['a cut', shard.subarray(0, -1), 2, 'byte 12: sample 2 lies outside'],
    ['a cut in the middle', shard.subarray(0, first + 1), 0, 'samples 0 to 2 lie outside'],
    ['more bytes', concat(shard, new Uint8Array(5)), 3, '5 bytes follow behind its last sample'],
    [
      'more samples than bytes',
      changed(0, 2 ** 32 - 1),
      0,
      'byte 0: it is not an MDS shard: 4294967295 samples',
    ],
    ['a first sample in the table', changed(4, 8), 0, 'it is not an MDS shard'],
    ['columns that are no JSON', changed(20, 0), 0, 'byte 20: the description of its columns is not a JSON'],
  ])('is %s', async (_, bytes, left, message) => {
    expect(await found(bytes)).toEqual([left, expect.stringContaining(message)]);
  });

  it('of one offset leaves the samples that do not end or begin there', async () => {
    expect(await found(changed(12, 1))).toEqual([1, expect.stringContaining('byte 8: samples 1 to 2')]);
    const swallowed = await found(changed(8, shard.byteLength));
    expect(swallowed[0]).toBe(0);
  });

  it('of a value names its column and its byte', async () => {
    const text = shard.slice();
    text[first + 4] = 0xff;
    expect(await found(text)).toEqual([
      2,
      expect.stringContaining(`byte ${first + 4}: its column a is not str: it is not UTF-8`),
    ]);
    expect(await found(changed(first, 7))).toEqual([2, expect.stringContaining('12 bytes, and it has 6')]);
  });

  it('is more than maxBytes decompressed', async () => {
    const bomb = encodeMds([{ a: new Uint8Array(100_000) }], { a: 'bytes' }, { compression: 'gzip' });
    const { damage, table } = await readObject(mds({ maxBytes: '64KiB' }), bomb);
    expect(damage.map(({ message }) => message)).toEqual([expect.stringContaining('maxBytes')]);
    expect(table.offsets).toHaveLength(0);
  });

  it.each([
    [{ format: 'csv' }, 'it is csv of version 2'],
    [{ column_sizes: [null, 2] }, 'its column b cannot be uint8 of 2 bytes'],
    [{ column_names: ['a', 'a'] }, 'two of its columns have one name'],
    [{ column_names: ['a'] }, 'not as many'],
    [{ column_names: 'ab' }, 'lack names'],
  ])('is columns with %j', async (change, message) => {
    const json = { ...(JSON.parse(Buffer.from(shard.subarray(20, first)).toString()) as object), ...change };
    const start = Buffer.from(JSON.stringify(json));
    const table = Buffer.alloc(8);
    table.writeUInt32LE(8 + start.byteLength, 4);
    expect(await found(concat(table, start))).toEqual([0, expect.stringContaining(message)]);
  });
});

describe('mds, options', () => {
  it.each([{ columns: [] }, { columns: ['a', 'a'] }, { compression: 'zlib' as 'gzip' }, { maxBytes: -1 }])(
    'refuses %j',
    (options) => {
      expect(() => mds(options)).toThrow(expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }));
    },
  );
});
