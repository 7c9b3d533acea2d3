import { isTieredError } from '@tiered/core';
import { encodeNpy, npy, npz, type Dtype, type NdArray } from '@tiered/formats/numpy';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anyArray } from './any-array.js';
import { anyDamage, concat, flipBit } from './bytes.js';
import { plain } from './plain-values.js';
import { memoryObject, readObject, samplesOf } from './read-object.js';

const folder = path.join(import.meta.dirname, 'data', 'numpy');
const file = (name: string) => new Uint8Array(fs.readFileSync(path.join(folder, name)));
const content = JSON.parse(fs.readFileSync(path.join(folder, 'content.json'), 'utf8')) as Readonly<
  Record<string, unknown>
>;
const files = Object.entries(content);
const ofKind = (ending: string) => files.filter(([name]) => name.endsWith(ending));

describe('npy, files of NumPy', () => {
  it.each(ofKind('.npy'))('reads %s as NumPy does', async (name, expected) => {
    expect(plain(await samplesOf(npy(), file(name)))).toEqual(expected);
  });

  it('reads one in Fortran order as one record, within maxBytes', async () => {
    const bytes = file('fortran-big-i8.npy');
    const { table, reads } = await readObject(npy(), bytes);
    expect([...table.lengths, ...(table.samples ?? [])]).toEqual([960, 4]);
    expect(reads).toHaveLength(1);
    for (const [options, part, message] of [
      [{ maxBytes: 959 }, bytes, 'it has 960 bytes in Fortran order, more than the 959'],
      [{}, bytes.subarray(0, -1), '4 of 4 rows are not whole'],
    ] as const) {
      const { samples, damage } = await readObject(npy(options), part);
      expect([samples, damage.map((error) => error.message)]).toEqual([
        [],
        [expect.stringContaining(message)],
      ]);
    }
    const { samples, damage } = await readObject(npy(), concat(bytes, Uint8Array.of(0)));
    expect([samples.length, damage.length]).toEqual([4, 1]);
  });

  it('finds no rows where they have no elements', async () => {
    expect(await samplesOf(npy(), file('thin.npy'))).toEqual([]);
  });

  it.each([
    ['objects.npy', 'its elements are |O'],
    ['texts.npy', 'its elements are <U5'],
    ['complex.npy', 'its elements are <c16'],
    ['dates.npy', 'its elements are <M8[D]'],
    ['structures.npy', 'its elements are structures'],
  ])('refuses %s, and says what to do', async (name, message) => {
    const error = samplesOf(npy(), file(name), name);
    await expect(error).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringContaining(`${name}: ${message}`),
    });
    await expect(error).rejects.toThrow('with a dtype of integers, floats or bool');
  });
});

const DTYPES: readonly Dtype[] = [
  'bool',
  'int8',
  'uint8',
  'int16',
  'uint16',
  'int32',
  'uint32',
  'int64',
  'uint64',
  'float16',
  'float32',
  'float64',
];

/** The rows of an array, found another way than the format does. */
function rowsOf({ data, shape, dtype }: NdArray): NdArray[] {
  const [count = 1, ...rest] = shape;
  const length = rest.reduce((product, one) => product * one, 1);
  if (count * length === 0) return [];
  return Array.from({ length: count }, (_, i) => ({
    data: data.slice(i * length, (i + 1) * length),
    shape: rest,
    dtype,
  }));
}

describe('npy, what was written here', () => {
  it('is found and decoded', () =>
    fc.assert(
      fc.asyncProperty(anyArray({ dtypes: DTYPES }), async (array) => {
        expect(plain(await samplesOf(npy(), encodeNpy(array)))).toEqual(plain(rowsOf(array)));
      }),
      { numRuns: 300 },
    ));

  it.each(['u1', 'little-f4', 'little-i8', 'bool', 'cube', 'labels', 'scalar', 'empty'])(
    'is the same bytes as those of NumPy: %s',
    async (name) => {
      const bytes = file(`${name}.npy`);
      const samples = await samplesOf(npy(), bytes);
      const [first] = samples;
      const whole = bytes.slice(128);
      const dtype = first?.dtype ?? 'float32';
      const shapes: Readonly<Record<string, number[]>> = { scalar: [], empty: [0, 3] };
      const shape = shapes[name] ?? [samples.length, ...(first?.shape ?? [])];
      const Kept = (first?.data ?? new Float32Array()).constructor as new (
        memory: ArrayBuffer,
      ) => Float32Array;
      expect(Buffer.compare(encodeNpy({ data: new Kept(whole.buffer), shape, dtype }), bytes)).toBe(0);
    },
  );

  it('is a view where elements lie as the processor reads them', async () => {
    const bytes = encodeNpy({ data: Float32Array.of(1, 2, 3, 4), shape: [2, 2], dtype: 'float32' });
    const table = await npy().index(memoryObject(bytes), { onDamage: () => undefined });
    const row = (memory: Uint8Array, offset: number) =>
      npy().decode({ key: 'o', offset, bytes: memory, header: table.header }) as NdArray[];
    expect(row(bytes.subarray(128, 136), 128)[0]?.data.buffer).toBe(bytes.buffer);
    const odd = new Uint8Array(new ArrayBuffer(16), 1, 8);
    odd.set(bytes.subarray(136));
    const [copy] = row(odd, 136);
    expect(copy?.data.buffer).not.toBe(odd.buffer);
    expect([...(copy?.data ?? [])]).toEqual([3, 4]);
  });

  it.each<[string, object]>([
    ['another dtype', { dtype: 'complex64', data: new Float32Array(2), shape: [2] }],
    ['another memory', { dtype: 'float32', data: new Float64Array(2), shape: [2] }],
    ['another number of elements', { dtype: 'uint8', data: new Uint8Array(2), shape: [3] }],
    ['a shape that cannot be', { dtype: 'uint8', data: new Uint8Array(2), shape: [-1, -2] }],
    ['too many axes', { dtype: 'uint8', data: new Uint8Array(1), shape: Array<number>(65).fill(1) }],
  ])('has not %s', (_, array) => {
    expect(() => encodeNpy(array as NdArray)).toThrow(
      expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
    );
  });
});

/** A file with this header, and bytes behind it. */
function withHeader(dict: string, elements = new Uint8Array(0), version = 1): Uint8Array {
  const start = Buffer.from(`\x93NUMPY${String.fromCharCode(version)}\0`, 'latin1');
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  length.writeUIntLE(dict.length, 0, length.length);
  return concat(start, length, Buffer.from(dict, 'latin1'), elements);
}

describe('npy, headers', () => {
  const two = Uint8Array.of(1, 2);
  it.each([
    "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }",
    "{'descr':'|u1','fortran_order':False,'shape':(2,)}",
    "{'shape': (2, ), 'fortran_order': False, 'descr': '<u1'}  \n",
    "{'descr': 'u1', 'fortran_order': True, 'shape': (2L,)}",
  ])('reads %s', async (dict) => {
    expect(await samplesOf(npy(), withHeader(dict, two))).toHaveLength(2);
  });

  it('reads a header that is longer than the first read', async () => {
    const dict = `{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}${' '.repeat(40_000)}\n`;
    const { samples, reads } = await readObject(npy(), withHeader(dict, two, 2));
    expect(samples).toHaveLength(2);
    expect(reads).toHaveLength(2);
  });

  it.each([
    '',
    '{}',
    "{'descr': '|u1', 'fortran_order': False}",
    "{'descr': '|u1', 'fortran_order': False, 'shape': 2}",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (2)}",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (-2,)}",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999,)}",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}",
    "{'descr': '|u1', 'fortran_order': 'False', 'shape': (2,)}",
    "{'descr': '|u1', 'fortran_order': False 'shape': (2,)}",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (2,),,}",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} x",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'x': 1}",
  ])('tells that it is damaged: %s', async (dict) => {
    const { samples, damage } = await readObject(npy(), withHeader(dict, two));
    expect(samples).toEqual([]);
    expect(damage).toHaveLength(1);
  });

  it('is bounded', async () => {
    const { damage, reads } = await readObject(npy(), withHeader(' '.repeat(100_000), two, 2));
    expect(damage[0]?.message).toContain('its header has 100000 bytes');
    expect(reads).toHaveLength(1);
  });

  it.each([['(9007199254740991, 9007199254740991)'], [`(${'9007199254740991, '.repeat(40)})`]])(
    'announces more than there is: %s',
    async (shape) => {
      const dict = `{'descr': '<f8', 'fortran_order': False, 'shape': ${shape}}`;
      const { samples, damage } = await readObject(npy(), withHeader(dict, two));
      expect(samples).toEqual([]);
      expect(damage).toHaveLength(1);
    },
  );

  it('announces no elements of too many rows', async () => {
    const dict = `{'descr': '<f8', 'fortran_order': False, 'shape': (${'9007199254740991, '.repeat(40)}0)}`;
    expect(await samplesOf(npy(), withHeader(dict))).toEqual([]);
  });
});

const unlessUnsupported = (error: unknown) => {
  if (!isTieredError(error, 'TIERED_UNSUPPORTED')) throw error;
};

describe('npy, damage', () => {
  it('gives samples or an error for whatever happens to the bytes', () =>
    fc.assert(
      fc.asyncProperty(anyArray({ dtypes: DTYPES }), anyDamage, async (array, damage) => {
        await readObject(npy(), damage(encodeNpy(array))).catch(unlessUnsupported);
      }),
      { numRuns: 500 },
    ));

  it('leaves the rows that are whole of a file that is cut off, and tells of the cut', () =>
    fc.assert(
      fc.asyncProperty(anyArray({ dtypes: DTYPES, minLength: 1 }), fc.nat(), async (array, at) => {
        const whole = encodeNpy(array);
        const read = await readObject(npy(), whole.subarray(0, at % whole.byteLength));
        expect(read.damage).toHaveLength(1);
        expect(plain(read.samples)).toEqual(plain(rowsOf(array).slice(0, read.samples.length)));
      }),
    ));

  it('is bytes behind the array', async () => {
    const { samples, damage } = await readObject(npy(), concat(file('labels.npy'), new Uint8Array(3)));
    expect(samples).toHaveLength(5);
    expect(damage[0]?.message).toContain('byte 168: 3 bytes follow behind its array');
  });

  it('is a row of another length, or without a header', () => {
    const bytes = new Uint8Array(3);
    expect(() => npy().decode({ key: 'o', offset: 7, bytes })).toThrow(/^o, byte 7: its header is missing/);
    const header = file('u1.npy').slice(0, 128);
    expect(() => npy().decode({ key: 'o', offset: 7, bytes, header })).toThrow(
      /^o, byte 7: a row of 2 bytes/,
    );
  });
});

describe('npy, what an index reads', () => {
  it('is the header of a large array', async () => {
    const array = { data: new Uint8Array(1_000_000), shape: [1000, 1000], dtype: 'uint8' } as const;
    const { reads, samples } = await readObject(npy(), encodeNpy(array));
    expect(samples).toHaveLength(1000);
    expect(reads).toEqual([{ offset: 0, length: 16 * 1024 }]);
  });
});

describe('npz, files of NumPy', () => {
  it.each(ofKind('.npz'))('reads %s as NumPy does', async (name, expected) => {
    const { samples, table, damage, refused } = await readObject(npz(), file(name));
    expect([...damage, ...refused]).toEqual([]);
    expect(plain(samples)).toEqual(expected);
    expect([...table.lengths]).toEqual([file(name).byteLength]);
    expect([...(table.samples ?? [])]).toEqual([samples.length]);
  });

  it('reads arrays with as many rows of a file that has others', async () => {
    const samples = await samplesOf(npz({ arrays: ['x_train', 'y_train'] }), file('parts.npz'));
    expect(samples.map((sample) => Object.keys(sample))).toEqual(Array(3).fill(['x_train', 'y_train']));
    await expect(samplesOf(npz(), file('parts.npz'))).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringContaining('(x_train 3, y_train 3, x_test 1, y_test 1)'),
    });
  });

  it.each([
    ['axes.npz', {}, 'array mean has no axes'],
    ['axes.npz', { arrays: ['x', 'y'] }, 'has no array y'],
  ])('refuses %s with %j', async (name, options, message) => {
    await expect(samplesOf(npz(options), file(name))).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringContaining(message),
    });
  });
});

describe('npz, damage', () => {
  const found = async (bytes: Uint8Array, options = {}) => {
    const { samples, damage, refused } = await readObject(npz(options), bytes);
    return [samples.length, ...[...damage, ...refused].map(({ message }) => message)];
  };

  it.each(ofKind('.npz'))('gives samples or an error for whatever happens to %s', (name) =>
    fc.assert(
      fc.asyncProperty(anyDamage, async (damage) => {
        await readObject(npz(), damage(file(name))).catch(unlessUnsupported);
      }),
      { numRuns: 500 },
    ),
  );

  it.each(ofKind('.npz'))('notices any flipped bit of the elements in %s', (name, expected) =>
    fc.assert(
      fc.asyncProperty(fc.nat(), async (bit) => {
        const bytes = file(name);
        const read = await readObject(npz(), flipBit(bytes, bit % (bytes.byteLength * 8))).catch(
          (error: unknown) => {
            unlessUnsupported(error);
            return undefined;
          },
        );
        // Names, and what else a zip has no checksum of, may change.
        const rows = (samples: unknown) =>
          (samples as object[]).flatMap((one): unknown[] => Object.values(one));
        for (const row of rows(plain(read?.samples ?? []))) expect(rows(expected)).toContainEqual(row);
      }),
      { numRuns: 300 },
    ),
  );

  it('gives nothing of a file that is cut off, and tells of it', () =>
    fc.assert(
      fc.asyncProperty(fc.nat(), async (at) => {
        const bytes = file('deflated.npz');
        const [samples, ...problems] = await found(bytes.subarray(0, at % bytes.byteLength));
        expect([samples, problems.length]).toEqual([0, 1]);
      }),
    ));

  it('is more than maxBytes, compressed or not', async () => {
    expect(await found(file('stored.npz'), { maxBytes: 700 })).toEqual([
      0,
      expect.stringContaining('700 bytes'),
    ]);
    expect(await found(file('zeros.npz'), { maxBytes: 1000 })).toEqual([
      0,
      expect.stringContaining('decompressed it has more than the 1000 bytes'),
    ]);
  });

  it('is a file that is there twice, or no zip', async () => {
    const twice = Buffer.from(file('parts.npz'));
    for (let at = twice.indexOf('x_test'); at >= 0; at = twice.indexOf('x_test', at + 1))
      twice.write('y_test', at);
    expect(await found(twice)).toEqual([0, expect.stringContaining('y_test.npy is there twice')]);
    expect(await found(file('u1.npy'))).toEqual([0, expect.stringContaining('zip: ')]);
  });

  it('ends with an abort, before the next read', async () => {
    const object = memoryObject(new Uint8Array(2 * 1024 * 1024 + 1));
    const controller = new AbortController();
    const reason = new Error('enough');
    const read = (offset: number, length: number) => {
      controller.abort(reason);
      return object.read(offset, length);
    };
    const options = { signal: controller.signal, onDamage: () => undefined };
    await expect(npz().index({ ...object, read }, options)).rejects.toBe(reason);
    expect(object.reads).toHaveLength(1);
  });
});

describe('npz, options', () => {
  it.each([{ arrays: [] }, { arrays: ['a', 'a'] }, { maxBytes: 'much' as '1GiB' }])(
    'refuses %j',
    (options) => {
      expect(() => npz(options)).toThrow(expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }));
    },
  );
});
