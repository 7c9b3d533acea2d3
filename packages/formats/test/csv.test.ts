import { csv, type CsvOptions } from '@tiered/formats/lines';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anyDamage } from './bytes.js';
import { memoryObject, readObject, samplesOf } from './read-object.js';

const folder = path.join(import.meta.dirname, 'data', 'lines');
const read = (name: string) => fs.readFileSync(path.join(folder, name));
const content = JSON.parse(read('content.json').toString()) as { columns: string[]; rows: string[][] };

const named = (columns: readonly string[], rows: readonly (readonly string[])[]) =>
  rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));

/** As RFC 4180 says, everything in quotes. */
const quoted = (rows: readonly (readonly string[])[], ending: string) =>
  rows.map((row) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(',') + ending).join('');

const anyText = fc.string({ unit: fc.constantFrom('a', 'ü', '😀', '"', ',', '\r', '\n', ' '), maxLength: 8 });
const anyRows = fc
  .integer({ min: 1, max: 4 })
  .chain((columns) =>
    fc.array(fc.array(anyText, { minLength: columns, maxLength: columns }), { minLength: 1, maxLength: 6 }),
  );

describe('csv, files of Python', () => {
  it.each<[string, CsvOptions]>([
    ['excel.csv', {}],
    ['unix.csv', {}],
    ['bom.csv', {}],
    ['tabs.tsv', { delimiter: '\t' }],
    ['no-header.csv', { columns: content.columns }],
  ])('reads %s', async (name, options) => {
    expect(await samplesOf(csv(options), read(name))).toEqual(named(content.columns, content.rows));
  });

  it('reads rows as arrays', async () => {
    expect(await samplesOf(csv({ columns: false }), read('excel.csv'))).toEqual([
      content.columns,
      ...content.rows,
    ]);
  });
});

describe('csv', () => {
  it('finds every row, whatever is in it', () =>
    fc.assert(
      fc.asyncProperty(
        anyRows,
        fc.constantFrom('\n', '\r\n', '\n\n'),
        fc.boolean(),
        async (rows, ending, hasBom) => {
          const bytes = Buffer.from((hasBom ? '\ufeff' : '') + quoted(rows, ending));
          expect(await samplesOf(csv({ columns: false }), bytes)).toEqual(rows);
          const columns = rows[0]?.map((_, i) => `column ${i}`) ?? [];
          expect(await samplesOf(csv({ columns }), bytes)).toEqual(named(columns, rows));
          const withHeader = Buffer.from(quoted([columns, ...rows], ending));
          expect(await samplesOf(csv(), withHeader)).toEqual(named(columns, rows));
        },
      ),
    ));

  it('finds rows over the edges of the pieces it reads', async () => {
    const rows = Array.from({ length: 30 }, (_, i) => [`${i}`, 'ü"\r\n'.repeat(20_000 + i)]);
    const bytes = Buffer.from(quoted(rows, '\r\n'));
    const { samples, reads } = await readObject(csv({ columns: false }), bytes);
    expect(samples).toEqual(rows);
    expect(reads).toHaveLength(Math.ceil(bytes.byteLength / 2 ** 20));
  });

  it('takes names that mean something to JavaScript', async () => {
    const [row] = await samplesOf(csv(), Buffer.from('__proto__,constructor\na,b\n'));
    expect(Object.entries(row ?? {})).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
  });

  it('takes quotes for text if they have no meaning', async () => {
    const samples = await samplesOf(
      csv({ quote: false, columns: false, delimiter: '\t' }),
      Buffer.from('5"\t"a\n'),
    );
    expect(samples).toEqual([['5"', '"a']]);
  });

  it('has no rows in an object without', async () => {
    for (const text of ['', '\n\n', 'a,b', '\ufeff'])
      expect(await samplesOf(csv(), Buffer.from(text))).toEqual([]);
  });

  it('gives samples or an error for whatever happens to the bytes', () =>
    fc.assert(
      fc.asyncProperty(anyRows, fc.constantFrom(true, false), anyDamage, async (rows, columns, damaged) => {
        const bytes = damaged(Buffer.from(quoted(rows, '\n')));
        await readObject(csv({ columns, maxRowBytes: 50 } as CsvOptions), bytes);
      }),
      { numRuns: 500 },
    ));
});

describe('csv, damage', () => {
  it.each<[string, string | Buffer, CsvOptions, number, string]>([
    [
      'a row of too few texts',
      'a,b\n1,2\n3\n4,5\n',
      {},
      2,
      'byte 8: this row has 1 columns, and there are 2 names',
    ],
    ['a row of too many', 'a,b\n1,2,3\n4,5\n', {}, 1, 'byte 4: this row has 3 columns'],
    [
      'a quote that is not closed',
      'a,b\n1,2\n"3,4\n5,6\n',
      {},
      1,
      'byte 8: the row that begins here is not CSV',
    ],
    [
      'a quote that is closed late',
      `a,b\n1,2\n"${'3\n'.repeat(100)}`,
      { maxRowBytes: 100 },
      1,
      'byte 8: the row that begins here is not CSV',
    ],
    [
      'a long row',
      `a,b\n1,2\n${'3'.repeat(99)},4\n`,
      { maxRowBytes: 100 },
      1,
      'byte 8: the row that begins here is longer',
    ],
    [
      'columns without end',
      `a,b\n1,2\n${','.repeat(2 ** 21)}`,
      { maxRowBytes: 100 },
      1,
      'byte 8: the row that begins here is longer',
    ],
    ['two columns of one name', 'a,b,a\n1,2,3\n', {}, 0, 'byte 0: there are two columns "a"'],
    [
      'names that are not UTF-8',
      Buffer.from('a,\xff\n1,2\n', 'latin1'),
      {},
      0,
      'byte 0: the names of the columns are not UTF-8',
    ],
    ['UTF-16', Buffer.from('\ufeffa,b\n1,2\n', 'utf16le'), {}, 0, 'byte 0: it is UTF-16'],
  ])('is %s', async (_, text, options, count, message) => {
    const { samples, damage } = await readObject(csv(options), Buffer.from(text));
    expect(samples).toHaveLength(count);
    expect(damage.map((error) => error.message)).toEqual([expect.stringContaining(`object, ${message}`)]);
    await expect(samplesOf(csv(options), Buffer.from(text))).rejects.toThrow(message);
  });

  it('of text is found when it is decoded', async () => {
    const { samples, refused } = await readObject(csv(), Buffer.from('a\n\xff\nb\n', 'latin1'));
    expect(samples).toEqual([{ a: 'b' }]);
    expect(refused.map(({ message }) => message)).toEqual([
      expect.stringContaining('byte 2: this row is not UTF-8'),
    ]);
  });

  it.each<[string, string, Uint8Array | undefined]>([
    ['is none', '\n', Buffer.from('["a"]')],
    ['is two', '1\n2\n', Buffer.from('["a"]')],
    ['is not CSV', '"1', Buffer.from('["a"]')],
    ['has another number of columns', '1,2', Buffer.from('["a"]')],
    ['comes without names', '1', undefined],
  ])('is a row that %s', (_, text, header) => {
    const record = { key: 'k', offset: 9, bytes: Buffer.from(text), header };
    expect(() => csv().decode(record)).toThrow(/^k, byte 9: /);
  });

  it('that is not to be goes to who indexes', async () => {
    const strict = (error: Error) => {
      throw error;
    };
    for (const text of ['a,b\n1\n', 'a,a\n', '"a']) {
      const object = memoryObject(Buffer.from(text));
      await expect(csv().index(object, { onDamage: strict })).rejects.toMatchObject({
        code: 'TIERED_DATA_CORRUPT',
      });
    }
  });

  it('is not what an abort or a failed read is', async () => {
    const object = memoryObject(Buffer.alloc(3 * 2 ** 20, `${'1'.repeat(2000)},2\n`));
    const controller = new AbortController();
    const reason = new Error('enough');
    const aborting = async (offset: number, length: number) => {
      controller.abort(reason);
      return object.read(offset, length);
    };
    const onDamage = () => expect.unreachable();
    const options = { signal: controller.signal, onDamage };
    await expect(csv().index({ ...object, read: aborting }, options)).rejects.toBe(reason);
    expect(object.reads).toHaveLength(1);
    const failing = () => Promise.reject(reason);
    await expect(csv().index({ ...object, read: failing }, { onDamage })).rejects.toBe(reason);
  });
});

describe('csv, options', () => {
  it.each<[string, CsvOptions]>([
    ['delimiter', { delimiter: '' }],
    ['delimiter', { delimiter: '\n' }],
    ['quote', { quote: "''" }],
    ['quote', { quote: ',' }],
    ['escape', { escape: '' }],
    ['escape', { quote: false, escape: '\\' }],
    ['columns', { columns: [] }],
    ['columns', { columns: ['a', 'a'] }],
    ['maxRowBytes', { maxRowBytes: -1 }],
  ])('refuses %s that cannot work: %o', (name, options) => {
    expect(() => csv(options)).toThrow(
      expect.objectContaining({ code: 'TIERED_CONFIG_INVALID', message: expect.stringContaining(name) }),
    );
  });
});
