import { isTieredError } from '@tiered/core';
import { parquet } from '@tiered/formats/parquet';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anyDamage, flipBit } from './bytes.js';
import { memoryObject, readObject } from './read-object.js';

const folder = path.join(import.meta.dirname, 'data', 'parquet');
const fileOf = (name: string) => fs.readFileSync(path.join(folder, `${name}.parquet`));
const names = fs
  .readdirSync(folder)
  .filter((name) => name.endsWith('.parquet') && name !== 'empty.parquet')
  .map((name) => path.basename(name, '.parquet'));

/** What JSON has no values for, as the Python module writes it. */
function revive(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { $bytes, $date, $int64 } = value as Readonly<Record<string, string | undefined>>;
  if ($bytes !== undefined) return Uint8Array.from(Buffer.from($bytes, 'base64'));
  if ($date !== undefined) return new Date($date);
  return $int64 === undefined ? value : BigInt($int64);
}
const text = fs.readFileSync(path.join(folder, 'content.json'), 'utf8');
const known = JSON.parse(text, revive) as Record<string, unknown>[];

const anyRows = fc.array(
  fc.record({ id: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), name: fc.string({ unit: 'grapheme' }) }),
  { minLength: 1, maxLength: 40 },
);

describe('parquet', () => {
  it.each(names)('reads %s of pyarrow', async (name) => {
    const { samples, table } = await readObject(parquet(), fileOf(name));
    expect(samples).toStrictEqual(known);
    expect([...(table.samples ?? [])]).toEqual(name === 'one-group' ? [25] : [10, 10, 5]);
  });

  it('finds nothing in a file without rows', async () => {
    const { table, damage } = await readObject(parquet(), fileOf('empty'));
    expect([table.offsets.length, damage]).toEqual([0, []]);
  });

  it('reads any rows of a writer, in row groups of any size', () =>
    fc.assert(
      fc.asyncProperty(anyRows, fc.integer({ min: 1, max: 40 }), async (rows, rowGroupSize) => {
        const file = parquetWriteBuffer({
          columnData: [
            { name: 'id', data: rows.map(({ id }) => id), type: 'INT32' },
            { name: 'name', data: rows.map(({ name }) => name), type: 'STRING' },
          ],
          rowGroupSize,
        });
        const { samples, table } = await readObject(parquet(), new Uint8Array(file));
        expect(samples).toEqual(rows);
        expect(table.offsets).toHaveLength(Math.ceil(rows.length / rowGroupSize));
      }),
    ));

  it('reads what lies between the columns that are asked for', async () => {
    const all = await readObject(parquet(), fileOf('snappy'));
    for (const columns of [['weight', 'name'], ['point'], ['scores', 'id']]) {
      const { samples, table } = await readObject(parquet({ columns }), fileOf('snappy'));
      const expected = known.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]])));
      expect(samples).toEqual(expected);
      const isLess = (table.lengths[0] ?? 0) < (all.table.lengths[0] ?? 0);
      expect(isLess).toBe(!columns.includes('id'));
    }
  });

  it('reads the footer only, by a second read if it is long', async () => {
    const { reads } = await readObject(parquet(), fileOf('plain'));
    expect(reads).toHaveLength(1);
    const columnData = [{ name: 'a', data: new Array<string>(300_000).fill('x'), type: 'STRING' as const }];
    const long = parquetWriteBuffer({ columnData, kvMetadata: [{ key: 'k', value: 'v'.repeat(100_000) }] });
    const size = long.byteLength;
    const read = await readObject(parquet(), new Uint8Array(long));
    expect(read.samples).toHaveLength(300_000);
    expect(read.reads[0]).toEqual({ offset: size - 65_536, length: 65_536 });
    const [, footer] = read.reads;
    expect((footer?.offset ?? 0) + (footer?.length ?? 0)).toBe(size);
    expect(read.table.header?.byteLength).toBe(footer?.length);
  });

  it('gives samples that are no views of what was read', async () => {
    const bytes = Uint8Array.from(fileOf('plain'));
    const object = memoryObject(bytes);
    const format = parquet({ columns: ['id', 'image'] });
    const table = await format.index(object, { onDamage: (error) => expect.fail(error.message) });
    const [offset = 0, length = 0] = [table.offsets[1], table.lengths[1]];
    const record = { key: object.key, offset, bytes: bytes.subarray(offset, offset + length) };
    const rows = await format.decode({ ...record, header: table.header });
    bytes.fill(0);
    expect(rows).toEqual(known.slice(10, 20).map(({ id, image }) => ({ id, image })));
    expect(Object.values(rows[3] ?? {}).some((value) => value instanceof Uint8Array)).toBe(true);
  });

  it('ends with an abort, before the next read', async () => {
    const columnData = [{ name: 'a', data: [1], type: 'INT32' as const }];
    const long = parquetWriteBuffer({ columnData, kvMetadata: [{ key: 'k', value: 'v'.repeat(100_000) }] });
    const object = memoryObject(new Uint8Array(long));
    const controller = new AbortController();
    const reason = new Error('enough');
    const read = (offset: number, length: number) => {
      controller.abort(reason);
      return object.read(offset, length);
    };
    const options = { signal: controller.signal, onDamage: () => undefined };
    await expect(parquet().index({ ...object, read }, options)).rejects.toBe(reason);
    await expect(parquet().index(object, options)).rejects.toBe(reason);
    expect(object.reads).toHaveLength(1);
  });

  it.each<[string, () => unknown]>([
    ['columns', () => parquet({ columns: [] })],
    ['columns', () => parquet({ columns: ['a', 'a'] })],
    ['maxBytes', () => parquet({ maxBytes: '1 apple' })],
  ])('refuses %s that cannot work', (field, make) => {
    const message = expect.stringContaining(field) as string;
    expect(make).toThrow(expect.objectContaining({ code: 'TIERED_CONFIG_INVALID', message }));
  });
});

describe('parquet, damage', () => {
  it('gives samples or an error for whatever happens to the bytes', () =>
    fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), anyDamage, async (name, damaged) => {
        await readObject(parquet({ maxBytes: '16MiB' }), damaged(fileOf(name))).catch((error: unknown) => {
          // Damage may look like encryption.
          if (!isTieredError(error, 'TIERED_UNSUPPORTED')) throw error;
        });
      }),
      { numRuns: 400 },
    ));

  it('notices a flipped bit where pages have checksums', async () => {
    const { table } = await readObject(parquet(), fileOf('checksums'));
    const end = (table.offsets[2] ?? 0) + (table.lengths[2] ?? 0);
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (bit) => {
        // The content of a page, or its header, which has no checksum: there only the length of rows is sure.
        const read = await readObject(parquet(), flipBit(fileOf('checksums'), 32 + (bit % (8 * (end - 4)))));
        expect([10, 15, 20, 25]).toContain(read.samples.length);
      }),
      { numRuns: 50 },
    );
    const checks = [...fileOf('checksums').subarray(0, end).entries()].filter(([i]) => i % 97 === 50);
    const refused = await Promise.all(
      checks.map(([i]) => readObject(parquet(), flipBit(fileOf('checksums'), 8 * i))),
    );
    const messages = refused.flatMap((read) => read.refused.map(({ message }) => message));
    expect(messages.filter((message) => message.includes('checksum')).length).toBeGreaterThan(10);
  });

  it('of one row group leaves the others', async () => {
    const bytes = Uint8Array.from(fileOf('gzip'));
    const { table } = await readObject(parquet(), bytes);
    bytes.fill(0xff, table.offsets[1], table.offsets[2]);
    const { samples, refused } = await readObject(parquet(), bytes);
    expect(samples).toEqual([...known.slice(0, 10), ...known.slice(20)]);
    expect(refused.map(({ message }) => message)).toEqual([
      expect.stringContaining(`object, byte ${table.offsets[1]}: this row group cannot be read: `),
    ]);
    expect(refused[0]?.cause).toBeInstanceOf(Error);
  });

  it('is a column that is not there', async () => {
    const { damage, table } = await readObject(parquet({ columns: ['nope'] }), fileOf('plain'));
    expect(table.offsets).toHaveLength(0);
    expect(damage.map(({ message }) => message)).toEqual([expect.stringContaining('no column nope')]);
  });

  it('fails an index whose onDamage throws, and a record without its footer', async () => {
    const onDamage = (error: Error) => {
      throw error;
    };
    const error = { code: 'TIERED_DATA_CORRUPT' };
    await expect(parquet().index(memoryObject(Buffer.from('x')), { onDamage })).rejects.toMatchObject(error);
    const record = { key: 'o', offset: 4, bytes: new Uint8Array(10) };
    expect(() => parquet().decode(record)).toThrow(expect.objectContaining(error));
  });

  it('is what makes an object shorter than its size', async () => {
    const object = { ...memoryObject(fileOf('plain')), size: fileOf('plain').byteLength + 5 };
    const damage: string[] = [];
    const onDamage = (error: Error) => damage.push(error.message);
    expect((await parquet().index(object, { onDamage })).offsets).toHaveLength(0);
    expect(damage).toEqual([expect.stringContaining('does not end as a Parquet file')]);
  });
});
