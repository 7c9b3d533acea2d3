import { parquet } from '@tiered/formats/parquet';
import { describe, expect, it } from 'vitest';
import { concat, hex } from './bytes.js';
import {
  dataPage,
  dataPageV2,
  fileOfPages,
  fileOfParts,
  page,
  struct,
  type FileOptions,
} from './parquet-file.js';
import { readObject, samplesOf } from './read-object.js';

const [PLAIN, DELTA, DELTA_BYTES, DICTIONARY, SPLIT] = [0, 5, 7, 8, 9];
const [HUGE, MINUS_ONE] = ['feffffff 0f', 'ffffffff 0f'];
const four = Uint8Array.from(Buffer.from(Int32Array.of(1, 2, 3, 4).buffer));
const dictionary = (count: number, content: Uint8Array) =>
  page({ field_1: 2, field_7: { field_1: count, field_2: PLAIN } }, content);

describe('parquet, files made by hand', () => {
  it('are read if they are right', async () => {
    const values = [1, 2, 3, 4].map((a) => ({ a }));
    const places = hex('02 03 e400'); // two bits each: 0, 1, 2, 3
    for (const pages of [
      [dataPage(4, PLAIN, four)],
      [dataPageV2(4, PLAIN, four)],
      [dictionary(4, four), dataPage(4, DICTIONARY, places)],
      [dataPage(4, DELTA, hex('8001 04 04 02 02 00000000'))],
    ]) {
      expect(await samplesOf(parquet(), fileOfPages(pages))).toEqual(values);
    }
  });

  it.each<[string, Uint8Array[], string, FileOptions?]>([
    ['a page of billions of values', [dataPage(2 ** 30, PLAIN, four)], '1073741824 values'],
    ['values fewer than none', [dataPage(-1, PLAIN, four)], '-1 values'],
    ['a page that is longer than its chunk', [page({ field_3: 2 ** 30 }, four)], '1073741824 bytes'],
    ['a page that is shorter than none', [page({ field_3: -50 }, four)], '-50 bytes'],
    ['a page of gigabytes', [page({ field_2: 2 ** 31 - 1 }, four)], '2147483647 bytes'],
    [
      'levels of billions of values',
      [dataPage(4, PLAIN, concat(hex(`06000000 ${HUGE} 01`), four))],
      'a run claims 2147483647 of 4 values',
      { repetition: 'OPTIONAL' },
    ],
    [
      'levels of billions of values, version 2',
      [dataPageV2(4, PLAIN, concat(hex(`${HUGE} 01`), four))],
      'a run claims 2147483647 of 4 values',
      { repetition: 'OPTIONAL' },
    ],
    [
      'places of billions of values',
      [dictionary(4, four), dataPage(4, DICTIONARY, hex(`02 ${HUGE} 01`))],
      'a run claims 2147483647 of 4 values',
    ],
    [
      'billions of packed values that have no bits',
      [dictionary(4, four), dataPageV2(4, DICTIONARY, hex(`00 ${MINUS_ONE} 00`))],
      'a run claims 17179869176 of 4 values',
    ],
    ['a dictionary that is missing', [dataPage(4, DICTIONARY, hex('02 03 e400'))], 'a dictionary is missing'],
    [
      'a value that is not in the dictionary',
      [dictionary(2, four.subarray(0, 8)), dataPage(4, DICTIONARY, hex('02 03 e400'))],
      'values are not in the dictionary',
    ],
    ['a dictionary of billions of values', [dictionary(2 ** 30, four)], '1073741824 values'],
    [
      'delta blocks that go backwards',
      [dataPage(4, DELTA, hex(`8001 ${MINUS_ONE} 04 02 02`))],
      'invalid block',
    ],
    ['delta blocks of no values', [dataPage(4, DELTA, hex('00 01 04 02 02'))], 'invalid block of 0 values'],
    [
      // Prefixes 0 and then 2^30, each with a suffix of one byte.
      'texts with prefixes of gigabytes',
      [dataPage(2, DELTA_BYTES, hex('8001 04 02 00 80808080 08 00000000  8001 04 02 02 00 00000000 6161'))],
      'invalid lengths of values',
      { type: 'BYTE_ARRAY', rows: 2 },
    ],
    ['split bytes of values that are not there', [dataPage(1000, SPLIT, four)], 'values are missing'],
    ['levels that are shorter than none', [dataPageV2(4, PLAIN, four, -4)], '-4 bytes'],
    ['rows that are missing', [dataPage(3, PLAIN, four)], 'column a has 3 of 4 rows'],
    ['rows that are too many', [dataPage(5, PLAIN, concat(four, four))], 'column a has 5 of 4 rows'],
    ['a header that does not end', [new Uint8Array(5000).fill(0x86)], 'a number is too long'],
    ['a header that nests without end', [new Uint8Array(5000).fill(0x1c)], 'structs nest too deep'],
    ['a header of lists without end', [hex(`19 ${`f9 ffffff7f`.repeat(50)}`)], 'a list claims'],
    ['a page of another type', [page({ field_1: 1 }, four)], 'a page has the type INDEX_PAGE'],
    [
      'two headers, of which one lies',
      [
        page(
          {
            field_1: 3,
            field_5: { field_1: 4, field_2: PLAIN, field_3: 3, field_4: 3 },
            field_8: { field_1: 2 ** 30, field_2: 0, field_3: 4, field_4: PLAIN, field_5: 0, field_6: 0 },
          },
          four,
        ),
      ],
      '1073741824 values',
    ],
  ])('may have %s', async (_, pages, message, options) => {
    const { samples, refused } = await readObject(parquet({ maxBytes: '1GiB' }), fileOfPages(pages, options));
    expect(samples).toEqual([]);
    expect(refused.map((error) => error.message)).toEqual([expect.stringContaining(message)]);
  });

  const changed = (change: FileOptions['change']) =>
    fileOfPages([dataPage(4, PLAIN, four)], { ...(change && { change }) });
  const withSchema = (schema: object[]) =>
    fileOfParts(four, struct({ field_1: 2, field_2: schema, field_3: 0n, field_4: [] }));
  it.each<[string, Uint8Array, string]>([
    ['nothing', new Uint8Array(0), 'byte 0: it does not end as a Parquet file'],
    ['its end alone', Buffer.from('PAR1'), 'byte 0: it does not end as a Parquet file'],
    ['another end', Buffer.alloc(100), 'byte 92: it does not end as a Parquet file'],
    ['a footer of gigabytes', hex('00 ffffff7f 50415231'), 'byte 1: it claims a footer of 2147483647 bytes'],
    ['a footer of nothing', fileOfParts(four, new Uint8Array(0)), 'the footer cannot be read'],
    ['a footer beyond maxBytes', fileOfParts(four, new Uint8Array(2 ** 24)), 'more than maxBytes allows'],
    ['lists without end', fileOfParts(four, hex(`29 ${'f9ffffff7f'.repeat(60)}`)), 'a list claims'],
    ['a number without end', fileOfParts(four, new Uint8Array(9000).fill(0x96)), 'a number is too long'],
    [
      'a schema that is deep',
      withSchema(Array.from({ length: 100 }, () => ({ field_4: 'a', field_5: 1 }))),
      'columns nest too deep',
    ],
    [
      'statistics of megabytes where numbers are',
      fileOfParts(
        four,
        struct({
          field_1: 2,
          field_2: [
            { field_4: 'a', field_5: 1 },
            { field_1: 7, field_2: 4, field_4: 'b', field_6: 5 },
          ],
          field_3: 4n,
          field_4: [
            {
              field_1: [{ field_2: 0n, field_3: { field_1: 6, field_12: { field_1: 'x'.repeat(2 ** 20) } } }],
            },
          ],
        }),
      ),
      'statistics of a column are too long',
    ],
    [
      'a schema that is cut off',
      withSchema([{ field_4: 'root', field_5: 2 ** 30 }]),
      'the footer cannot be read',
    ],
    ['rows without end', fileOfPages([dataPage(4, PLAIN, four)], { rows: 2 ** 40 }), '1099511627776 rows'],
    ['rows fewer than none', fileOfPages([dataPage(4, PLAIN, four)], { rows: -1 }), 'invalid number: -1'],
    [
      'a chunk beyond its end',
      changed(
        ({ row_groups: [group] }) =>
          group?.columns[0]?.meta_data && (group.columns[0].meta_data.data_page_offset = 900n),
      ),
      'invalid row group at byte 900',
    ],
    [
      'a row group without columns',
      changed(({ row_groups: [group] }) => group?.columns.pop()),
      'columns are missing',
    ],
  ])('may have %s', async (_, bytes, message) => {
    const { table, damage } = await readObject(parquet({ maxBytes: '1GiB' }), bytes);
    expect(table.offsets).toHaveLength(0);
    expect(damage.map((error) => error.message)).toEqual([expect.stringContaining(message)]);
  });

  it('may have a row group twice, and end there', async () => {
    const bytes = changed(({ row_groups: groups }) => groups.push(...groups));
    const { samples, damage } = await readObject(parquet(), bytes);
    expect(samples).toHaveLength(4);
    expect(damage.map((error) => error.message)).toEqual([
      expect.stringContaining('invalid row group at byte 4'),
    ]);
  });
});
