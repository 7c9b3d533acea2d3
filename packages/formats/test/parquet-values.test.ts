import { parquet } from '@tiered/formats/parquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { concat } from './bytes.js';
import { dataPage, fileOfPages } from './parquet-file.js';
import { memoryObject, readObject, samplesOf } from './read-object.js';

const folder = path.join(import.meta.dirname, 'data', 'parquet_values');
const fileOf = (name: string) => fs.readFileSync(path.join(folder, `${name}.parquet`));
const known = JSON.parse(fs.readFileSync(path.join(folder, 'content.json'), 'utf8')) as {
  readonly cents: readonly string[];
  readonly long: readonly (string | null)[];
  readonly times: readonly number[];
};
const PLAIN = 0;

describe('decimals of a Parquet file', () => {
  it('are the nearest number in columns of up to 15 digits, and text in others', async () => {
    const rows = await samplesOf(parquet(), fileOf('decimals'));
    expect(rows).toStrictEqual(
      known.cents.map((text) => {
        const [value, fixed] = [Number(text), Number(text).toFixed(2)];
        return { cents: value, binary: fixed, listed: [value, null] };
      }),
    );
    const long = await samplesOf(parquet({ columns: ['long', 'int64'] }), fileOf('values'));
    expect(long.map((row) => row['long'])).toEqual(known.long);
    expect(long.map((row) => row['int64'])).toEqual([
      null,
      '100000000.000000001',
      '-0.000000001',
      '0.000000000',
    ]);
  });

  it('are all numbers, or all text, if they are to be', async () => {
    const numbers = await samplesOf(parquet({ columns: ['long'], decimals: 'number' }), fileOf('values'));
    expect(numbers.map(({ long }) => long)).toEqual(known.long.map((text) => text && Number(text)));
    const columns = ['cents'];
    const texts = await samplesOf(parquet({ columns, decimals: 'text' }), fileOf('decimals'));
    expect(texts.map(({ cents }) => cents)).toEqual(known.cents.map((text) => Number(text).toFixed(2)));
    expect(() => parquet({ decimals: 'float' as never })).toThrow('decimals');
  });

  it('have their scale where only the logical type says it', async () => {
    const four = Uint8Array.from(Buffer.from(Int32Array.of(375, -5, 0, 1).buffer));
    const bytes = fileOfPages([dataPage(4, PLAIN, four)], {
      change: ({ schema }) =>
        Object.assign(schema[1] ?? {}, { logical_type: { type: 'DECIMAL', scale: 2, precision: 5 } }),
    });
    expect(await samplesOf(parquet(), bytes)).toEqual([3.75, -0.05, 0, 0.01].map((a) => ({ a })));
  });
});

describe('values of a Parquet file', () => {
  it.each(['times-us', 'times-us-old', 'times-ns', 'times-ns-old'])(
    '%s are in their millisecond',
    async (name) => {
      const rows = await samplesOf(parquet(), fileOf(name));
      const times = known.times.map((micros) => new Date(Math.floor(micros / 1000)));
      expect(rows).toStrictEqual(times.map((time) => ({ plain: time, listed: [time] })));
    },
  );

  it('are there for columns, fields and keys of the name __proto__', async () => {
    const rows = await samplesOf(parquet({ columns: ['__proto__', 'struct', 'map'] }), fileOf('values'));
    const expected = [0, 1, 2, 3].map((i) =>
      JSON.stringify(
        JSON.parse(
          `{"__proto__":${i + 1},"struct":{"a":"b","__proto__":${i}},"map":{"key":7,"__proto__":${i}}}`,
        ),
      ),
    );
    const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
    expect(rows.map((row) => JSON.stringify(row, plain))).toEqual(expected);
    expect(Object.hasOwn(rows[0] ?? {}, '__proto__')).toBe(true);
  });

  it('are bytes for UUIDs, intervals and BSON', async () => {
    const rows = await samplesOf(parquet({ columns: ['uuid'] }), fileOf('values'));
    expect(rows[3]).toStrictEqual({ uuid: Uint8Array.from([...new Array<number>(15).fill(0), 3]) });
    const interval = Uint8Array.from({ length: 24 }, (_, i) => i);
    const bytes = fileOfPages([dataPage(2, PLAIN, interval)], {
      type: 'FIXED_LEN_BYTE_ARRAY',
      rows: 2,
      change: ({ schema }) => Object.assign(schema[1] ?? {}, { type_length: 12, converted_type: 'INTERVAL' }),
    });
    const halves = [interval.slice(0, 12), interval.slice(12)];
    expect(await samplesOf(parquet(), bytes)).toStrictEqual(halves.map((a) => ({ a })));
    const bson = fileOfPages([dataPage(1, PLAIN, Uint8Array.of(2, 0, 0, 0, 7, 8))], {
      type: 'BYTE_ARRAY',
      rows: 1,
      change: ({ schema }) => Object.assign(schema[1] ?? {}, { converted_type: 'BSON' }),
    });
    expect(await samplesOf(parquet(), bson)).toStrictEqual([{ a: Uint8Array.of(7, 8) }]);
  });
});

describe('pages of a Parquet file', () => {
  const files = fs.readdirSync(folder).filter((name) => name.startsWith('nulls-'));
  it.each(files)('may be empty in %s', async (name) => {
    const rows = await samplesOf(parquet(), fileOf(path.basename(name, '.parquet')));
    expect(rows.map(({ none }) => none)).toEqual([null, null, 5, null]);
  });

  /** A block of LZ4 that has its bytes as they are. */
  const block = (bytes: Uint8Array) =>
    bytes.byteLength < 15
      ? concat(Uint8Array.of(bytes.byteLength << 4), bytes)
      : concat(
          Uint8Array.of(
            0xf0,
            ...new Array<number>(Math.floor((bytes.byteLength - 15) / 255)).fill(255),
            (bytes.byteLength - 15) % 255,
          ),
          bytes,
        );
  const frame = (bytes: Uint8Array) => {
    const [head, packed] = [Buffer.alloc(8), block(bytes)];
    head.writeUInt32BE(bytes.byteLength, 0);
    head.writeUInt32BE(packed.byteLength, 4);
    return concat(head, packed);
  };
  it.each<[string, (page: Uint8Array) => Uint8Array]>([
    ['in a frame of Hadoop', frame],
    ['in several frames', (page) => concat(frame(page.subarray(0, 20)), frame(page.subarray(20)))],
    ['without a frame', block],
  ])('may be compressed by LZ4 %s', async (_, compress) => {
    const data = Array.from({ length: 500 }, (__, i) => i);
    const columnData = [{ name: 'a', data, type: 'INT32' as const }];
    const file = parquetWriteBuffer({ columnData, codec: 'LZ4', compressors: { LZ4: compress } });
    expect(await samplesOf(parquet(), new Uint8Array(file))).toEqual(data.map((a) => ({ a })));
  });

  it('are refused when the file is indexed, if nobody can decompress them', async () => {
    const bytes = fileOfPages([dataPage(1, PLAIN, Uint8Array.of(1, 0, 0, 0))], {
      rows: 1,
      change: ({ row_groups: [group] }) => {
        if (group?.columns[0]?.meta_data) group.columns[0].meta_data.codec = 'LZO';
      },
    });
    const { damage } = await readObject(parquet(), bytes);
    expect(damage.map(({ message }) => message)).toEqual([expect.stringContaining('compressed by LZO')]);
  });
});

describe('a Parquet file that is encrypted', () => {
  const onDamage = (error: Error) => expect.fail(error.message);
  it.each(['encrypted', 'encrypted-column'])('says so (%s)', async (name) => {
    await expect(parquet().index(memoryObject(fileOf(name)), { onDamage })).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringContaining('is encrypted. Write the file without encryption') as string,
    });
  });

  it('has other columns that can be read', async () => {
    const rows = await samplesOf(parquet({ columns: ['open'] }), fileOf('encrypted-column'));
    expect(rows).toEqual([{ open: 'a' }, { open: 'b' }]);
  });
});

describe('a row group of a Parquet file', () => {
  const ofColumns = (columns: number, rows: number) =>
    fileOfPages([dataPage(1, PLAIN, Uint8Array.of(1, 0, 0, 0))], {
      rows,
      change: ({ schema, row_groups: [group] }) => {
        const [root, element] = schema;
        const about = group?.columns[0]?.meta_data;
        if (root === undefined || element === undefined || about === undefined) return;
        root.num_children = columns;
        const names = Array.from({ length: columns }, (_, i) => `c${i}`);
        schema.splice(1, 1, ...names.map((name) => ({ ...element, name })));
        const metadata = names.map((name) => ({ ...about, path_in_schema: [name] }));
        group?.columns.splice(0, 1, ...metadata.map((one) => ({ file_offset: 0n, meta_data: one })));
      },
    });

  it('may have a million rows of 33 columns, and be refused by the index, not later', async () => {
    const bytes = ofColumns(33, 2 ** 20);
    const onDamage = (error: Error) => expect.fail(error.message);
    expect((await parquet().index(memoryObject(bytes), { onDamage })).samples).toEqual(
      Uint32Array.of(2 ** 20),
    );
    const { damage, table } = await readObject(parquet({ maxBytes: '1GiB' }), bytes);
    expect(table.offsets).toHaveLength(0);
    expect(damage.map(({ message }) => message)).toEqual([
      expect.stringContaining('a row group of 1048576 rows takes 1107296949 bytes, more than the 1073741824'),
    ]);
    const columns = ['c1', 'c2'];
    const some = await parquet({ columns, maxBytes: '1GiB' }).index(memoryObject(bytes), { onDamage });
    expect(some.offsets).toHaveLength(1);
  });
});
