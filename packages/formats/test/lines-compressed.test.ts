import { csv, jsonLines } from '@tiered/formats/lines';
import { describe, expect, it } from 'vitest';
import zlib from 'node:zlib';
import { hex } from './bytes.js';
import { readObject } from './read-object.js';

/** By Python's zstd: the same texts as below. */
const ZSTD = {
  csv: hex('28b52ffd200c610000612c620a312c320a332c340a'),
  lines: hex('28b52ffd20129100007b2261223a20317d0a7b2261223a20327d0a'),
};

describe('lines in compressed files', () => {
  it.each([
    ['gzip', zlib.gzipSync('a,b\n1,2\n3,4\n')],
    ['zstd', ZSTD.csv],
  ])('are rows of CSV (%s)', async (_, bytes) => {
    for (const columns of [true, ['a', 'b']]) {
      const { samples, table, damage, refused } = await readObject(csv({ columns }), bytes);
      const names = columns === true ? [] : [{ a: 'a', b: 'b' }];
      expect([damage, refused]).toEqual([[], []]);
      expect(samples).toEqual([...names, { a: '1', b: '2' }, { a: '3', b: '4' }]);
      expect([...(table.samples ?? [])]).toEqual([samples.length]);
    }
  });

  it.each([
    ['gzip', zlib.gzipSync('{"a": 1}\n{"a": 2}\n')],
    ['zstd', ZSTD.lines],
  ])('are JSON lines (%s)', async (_, bytes) => {
    const { samples, damage, reads } = await readObject(jsonLines(), bytes);
    expect([samples, damage]).toEqual([[{ a: 1 }, { a: 2 }], []]);
    expect(reads).toHaveLength(1);
  });

  it('are bounded', async () => {
    for (const bytes of [zlib.gzipSync('1\n'.repeat(1000)), ZSTD.lines]) {
      const { samples, damage } = await readObject(jsonLines({ maxBytes: 10 }), bytes);
      expect(samples).toEqual([]);
      expect(damage.map(({ message }) => message)).toEqual([
        expect.stringContaining('decompressed it has more than the 10 bytes'),
      ]);
    }
  });

  it('are damage where they are cut off', async () => {
    for (const bytes of [zlib.gzipSync('1\n'.repeat(1000)).subarray(0, 20), ZSTD.lines.subarray(0, 20)]) {
      const { samples, damage } = await readObject(jsonLines(), bytes);
      expect(samples).toEqual([]);
      expect(damage.map(({ message }) => message)).toEqual([expect.stringContaining('it is not whole as')]);
    }
  });
});
