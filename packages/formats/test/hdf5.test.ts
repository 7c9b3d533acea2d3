import { hdf5, type Hdf5Options, type Hdf5Sample, type NdArray } from '@tiered/formats/hdf5';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { anyDamage } from './bytes.js';
import { readObject, samplesOf } from './read-object.js';

const file = (name: string) => readFileSync(new URL(`data/hdf5/${name}.h5`, import.meta.url));
/** A header has a 64th, and a file of so many bytes is one record. */
const IN_PARTS = { maxBytes: '1MiB' };

/** As `numbers` of make_hdf5.py. */
function numbers(first: number, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, (_, i) => Math.imul(first + i, 2654435761) >>> 24);
}

const plain = (sample: Hdf5Sample | undefined, name: string) => {
  const { data, shape, dtype } = sample?.[name] as NdArray;
  return { data: Array.from(data, Number), shape, dtype };
};

const rowOf = (sample: Hdf5Sample) => Number((sample['y'] as NdArray).data[0]);

describe('rows of HDF5', () => {
  const images = { rows: 400, shape: [8, 8], maxBytes: '1MiB' };
  const files: [string, { rows: number; shape: number[]; maxBytes: string; records: number }][] = [
    ['contiguous', { ...images, records: 2 }],
    ['chunked', { ...images, maxBytes: '2MiB', records: 58 }],
    ['gzip', { ...images, records: 40 }],
    ['lzf', { ...images, records: 40 }],
    ['latest', { ...images, records: 40 }],
    ['growing', { ...images, records: 40 }],
    ['growing2', { ...images, records: 45 }],
    ['pages', { rows: 1025, shape: [16], maxBytes: '2MiB', records: 1025 }],
  ];

  it.each(files)('are those that h5py wrote: %s', async (name, { rows, shape, maxBytes, records }) => {
    const size = shape.reduce((product, length) => product * length, 1);
    const bytes = file(name);
    const { samples, table, reads, damage, refused } = await readObject(hdf5({ maxBytes }), bytes);
    expect([...damage, ...refused]).toEqual([]);
    expect(samples).toHaveLength(rows);
    // Records come as they lie in the file.
    const inOrder = samples.toSorted((a, b) => rowOf(a) - rowOf(b));
    for (const [i, sample] of inOrder.entries()) {
      expect(plain(sample, 'x'), `row ${i}`).toEqual({
        data: [...numbers(i * size, size)],
        shape,
        dtype: 'uint8',
      });
      expect(plain(sample, 'y')).toEqual({ data: [i], shape: [], dtype: 'int64' });
    }
    expect(table.offsets).toHaveLength(records);
    expect(reads.length).toBeLessThan(10);
    const whole = await readObject(hdf5(), bytes);
    expect(whole.table.offsets).toHaveLength(1);
    expect(whole.samples).toEqual(inOrder);
  });

  it('have the fill value where nothing was written', async () => {
    const { samples, table } = await readObject(hdf5(IN_PARTS), file('sparse'));
    expect(table.offsets.length).toBeGreaterThan(30);
    const all = samples.map((sample) =>
      Buffer.from((sample['x'] as NdArray).data as Uint8Array).toString('hex'),
    );
    const rows = Array.from({ length: 400 }, (_, i) => {
      const isWritten = (i >= 20 && i < 170) || (i >= 200 && i < 390);
      return Buffer.from(isWritten ? numbers(64 * i, 64) : new Uint8Array(64).fill(9)).toString('hex');
    });
    expect(all.toSorted()).toEqual(rows.toSorted());
  });

  it('are one record where two large datasets lie one behind the other, and many of one of them', async () => {
    const both = await readObject(hdf5(IN_PARTS), file('two'));
    expect(both.table.offsets).toHaveLength(1);
    expect(both.samples).toHaveLength(400);
    expect(plain(both.samples[3], 'images').data).toEqual([...numbers(3 * 64, 64)]);
    expect(plain(both.samples[396], 'masks').data).toEqual([...numbers(3 * 64, 64)]);
    const one = await readObject(hdf5({ ...IN_PARTS, datasets: ['/masks'] }), file('two'));
    expect(one.table.offsets).toHaveLength(40);
    expect(Object.keys(one.samples[0] ?? {})).toEqual(['masks']);
    const { damage } = await readObject(hdf5({ maxBytes: 40_000 }), file('two'));
    expect(damage).toMatchObject([
      { code: 'TIERED_DATA_CORRUPT', message: expect.stringContaining('maxBytes') },
    ]);
  });
});

describe('members of a group of HDF5', () => {
  it('are samples, with what is below them', async () => {
    const parts = await readObject(hdf5({ ...IN_PARTS, groups: '/data' }), file('groups'));
    const [whole, named] = await Promise.all([
      samplesOf(hdf5({ groups: 'data' }), file('groups')),
      samplesOf(hdf5({ groups: 'data', datasets: ['label'] }), file('groups')),
    ]);
    expect(whole).toHaveLength(6);
    expect(new Set(parts.samples)).toEqual(new Set(whole));
    const demo = whole.find((sample) => sample['@name'] === 'demo_5');
    expect(plain(demo, 'obs/image')).toEqual({
      data: [...numbers(0, 105 * 64)],
      shape: [105, 8, 8],
      dtype: 'uint8',
    });
    expect(plain(demo, 'actions')).toEqual({ data: Array(16).fill(5), shape: [8, 2], dtype: 'float32' });
    expect(plain(demo, 'label')).toEqual({ data: [5], shape: [], dtype: 'int32' });
    expect(demo?.['task']).toBe('task 5');
    expect(Object.keys(named[0] ?? {})).toEqual(['@name', 'label']);
  });

  it('are read in parts where they do not lie between each other', async () => {
    const options = { maxBytes: '3MiB', groups: 'data', datasets: ['obs/image'] };
    const { table, samples, refused } = await readObject(hdf5(options), file('groups'));
    expect(refused).toEqual([]);
    // h5py wrote the chunks of four of them when it closed the file.
    expect(table.samples).toEqual(Uint32Array.of(1, 4, 1));
    const frames = samples.map((sample) => plain(sample, 'obs/image').shape[0] ?? 0);
    expect(frames.toSorted((a, b) => a - b)).toEqual([100, 101, 102, 103, 104, 105]);
  });

  it('may be datasets', async () => {
    const samples = await samplesOf(hdf5({ groups: 'arrays' }), file('groups'));
    expect(samples.map((sample) => [sample['@name'], plain(sample, '.').data])).toEqual([
      ['0', []],
      ['1', [1]],
      ['2', [2, 2]],
    ]);
    await expect(samplesOf(hdf5({ groups: 'none' }), file('groups'))).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
    });
  });
});

describe('values of HDF5', () => {
  const rowsOf = (datasets: readonly string[]) => samplesOf(hdf5({ datasets }), file('values'));

  it('are numbers of all types, in both orders of bytes', async () => {
    const content = JSON.parse(
      readFileSync(new URL('data/hdf5/content.json', import.meta.url), 'utf8'),
    ) as Record<string, number[][]>;
    const names = Object.keys(content);
    const samples = await rowsOf(names);
    for (const name of names)
      expect(
        samples.map((sample) => plain(sample, name).data),
        name,
      ).toEqual(content[name]);
    const dtypes = new Set(names.map((name) => plain(samples[0], name).dtype));
    expect(dtypes).toContain('float16');
    expect(dtypes.size).toBe(11);
  });

  it('are booleans, enumerations, texts and lists', async () => {
    const texts = ['texts/fixed', 'texts/utf8', 'texts/any', 'texts/pairs'];
    const samples = await rowsOf(['numbers/bool', 'colours', ...texts, 'lists', 'lists-big']);
    const column = (name: string) => samples.map((sample) => sample[name]);
    expect(plain(samples[1], 'numbers/bool')).toEqual({ data: [0, 1], shape: [2], dtype: 'bool' });
    expect(samples.map((sample) => plain(sample, 'colours').data)).toEqual([[2], [1], [2]]);
    expect(column('texts/fixed')).toEqual(['a', 'bcd', '']);
    expect(column('texts/utf8')).toEqual(['ä', '', '日本']);
    expect(column('texts/any')).toEqual(['ä', 'x'.repeat(300), '']);
    expect(column('texts/pairs')).toEqual([
      ['a', 'b'],
      ['c', ''],
      ['', 'd'],
    ]);
    expect(samples.map((sample) => plain(sample, 'lists-big').data)).toEqual([[], [0], [0, 1]]);
    expect(samples.map((sample) => plain(sample, 'lists'))).toEqual([
      { data: [0, 1, 2], shape: [3], dtype: 'uint8' },
      { data: [], shape: [0], dtype: 'uint8' },
      { data: [0, 1, 2, 3, 4], shape: [5], dtype: 'uint8' },
    ]);
  });

  it.each([
    ['others/compound', 'compound'],
    ['others/opaque', 'opaque'],
    ['others/reference', 'reference'],
    ['others/scalar', 'one value'],
    ['others/none', 'no values'],
    ['linked/external', 'not a dataset'],
    ['nowhere', 'not there'],
  ])('that are none of these are told of: %s', async (path, problem) => {
    await expect(rowsOf(['numbers/i1', path])).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringMatching(new RegExp(`^object, ${path}: .*${problem}`)),
    });
  });

  it('have to have as many rows, and may have none', async () => {
    await expect(rowsOf(['numbers/i1', 'others/shorter'])).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringContaining('numbers/i1 3, others/shorter 2'),
    });
    expect(await rowsOf(['others/empty'])).toEqual([]);
  });
});

describe('HDF5 that is damaged', () => {
  it('tells of a chunk by object and byte, and reads the others', async () => {
    const bytes = Uint8Array.from(file('lzf'));
    const { table } = await readObject(hdf5(IN_PARTS), bytes);
    const at = (table.offsets[5] ?? 0) + 20;
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    const { samples, damage, refused } = await readObject(hdf5(IN_PARTS), bytes);
    expect(damage).toEqual([]);
    expect(refused).toHaveLength(1);
    expect(refused[0]?.message).toMatch(new RegExp(`^object, byte ${table.offsets[5]}: `));
    expect(samples).toHaveLength(390);
  });

  it('has no samples where it is no HDF5, or cut off', async () => {
    for (const bytes of [new Uint8Array(0), new Uint8Array(1000), file('gzip').subarray(0, 20_000)]) {
      const { samples, damage } = await readObject(hdf5(), bytes);
      expect(samples).toEqual([]);
      expect(damage).toHaveLength(1);
    }
  });

  it('gives samples or errors that name it, whatever is wrong, and disturbs no other file', async () => {
    const [gzip, values] = [file('gzip'), file('values')];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(gzip, values),
        anyDamage,
        fc.boolean(),
        async (bytes, damage, isInParts) => {
          const datasets = bytes === gzip ? ['x', 'y'] : ['lists'];
          const options = { ...(isInParts && IN_PARTS), datasets };
          await readObject(hdf5(options), damage(bytes)).catch((error: unknown) => {
            // What is elsewhere may look as if it were of another type.
            if ((error as { code?: string }).code !== 'TIERED_UNSUPPORTED') throw error;
          });
          expect(await samplesOf(hdf5({ datasets: ['texts/fixed'] }), values)).toHaveLength(3);
        },
      ),
      { numRuns: 60 },
    );
  });
});

it('refuses options that cannot work', () => {
  for (const options of [{ datasets: [] }, { datasets: ['a', 'a'] }, { maxBytes: '1EiB' }] as Hdf5Options[])
    expect(() => hdf5(options)).toThrow(expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }));
});
