import { jsonLines } from '@tiered/formats/lines';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anyDamage } from './bytes.js';
import { memoryObject, readObject, samplesOf } from './read-object.js';

const folder = path.join(import.meta.dirname, 'data', 'lines');
const { samples: known } = JSON.parse(fs.readFileSync(path.join(folder, 'content.json'), 'utf8')) as {
  samples: unknown[];
};

const anySamples = fc.array(fc.json({ noUnicodeString: false }), { maxLength: 8 });
const anyEnding = fc.constantFrom('\n', '\r\n', '\r', '\n\n', '\r\r', '\n \t\r\n');

describe('json-lines', () => {
  it.each(['ascii.jsonl', 'windows.jsonl', 'mac.jsonl'])('reads %s of Python', async (name) => {
    expect(await samplesOf(jsonLines(), fs.readFileSync(path.join(folder, name)))).toEqual(known);
  });

  it('finds every line, whatever its ending, and ignores blank lines and a BOM', () =>
    fc.assert(
      fc.asyncProperty(
        anySamples,
        anyEnding,
        fc.constantFrom('', '\ufeff'),
        fc.boolean(),
        async (lines, ending, start, endsWithLine) => {
          const text = start + lines.join(ending) + (endsWithLine ? ending : '');
          // Numbers of JSON.parse, however large.
          const samples = await samplesOf(jsonLines({ integers: 'number' }), Buffer.from(text));
          expect(samples).toEqual(lines.map((line): unknown => JSON.parse(line)));
        },
      ),
    ));

  it('finds lines over the edges of the pieces it reads', async () => {
    const lines = Array.from({ length: 30 }, (_, i) => JSON.stringify('ü'.repeat(40_000 + i)));
    const bytes = Buffer.from(lines.join('\n'));
    const { samples, reads } = await readObject(jsonLines(), bytes);
    expect(samples).toEqual(lines.map((line): unknown => JSON.parse(line)));
    expect(reads.map(({ length }) => length)).toEqual([2 ** 20, 2 ** 20, bytes.byteLength - 2 ** 21]);
  });

  it('ends a line at a CR alone, between other endings and at the end of a piece', async () => {
    const first = JSON.stringify('x'.repeat(2 ** 20 - 3));
    const { samples, table } = await readObject(jsonLines(), Buffer.from(`${first}\r\n1\r2\n3\r\r\n4\r`));
    expect(samples).toEqual([JSON.parse(first), 1, 2, 3, 4]);
    const start = first.length;
    expect([...table.offsets]).toEqual([0, start + 2, start + 4, start + 6, start + 10]);
    expect([...table.lengths]).toEqual([start, 1, 1, 1, 1]);
  });

  it('gives samples or an error for whatever happens to the bytes', () =>
    fc.assert(
      fc.asyncProperty(anySamples, anyDamage, async (lines, damaged) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        await readObject(jsonLines({ maxLineBytes: 40 }), damaged(bytes));
      }),
      { numRuns: 500 },
    ));

  it('tells of a line that is too long, and goes on behind it', async () => {
    const { samples, damage } = await readObject(
      jsonLines({ maxLineBytes: 3 }),
      Buffer.from('1\n"ab"\n\n333\n'),
    );
    expect(samples).toEqual([1, 333]);
    expect(damage.map(({ message }) => message)).toEqual([
      expect.stringContaining('object, byte 2: this line has 4 bytes, more than the 3'),
    ]);
  });

  it.each<[string, Buffer, string]>([
    ['bad JSON', Buffer.from('1\n{"a": }\n3'), 'object, byte 2: this line is not JSON'],
    ['a line that is cut off', Buffer.from('1\n3\n{"a": 1'), 'object, byte 4: this line is not JSON'],
    [
      'bytes that are not UTF-8',
      Buffer.from('1\n"\xff"\n3', 'latin1'),
      'object, byte 2: this line is not UTF-8',
    ],
    ['nesting without end', Buffer.from(`1\n3\n${'['.repeat(1_000_000)}`), 'byte 4: this line is not JSON'],
  ])('refuses %s when it is decoded', async (_, bytes, message) => {
    const { samples, refused } = await readObject(jsonLines(), bytes);
    expect(samples).toEqual([1, 3]);
    expect(refused.map((error) => error.message)).toEqual([expect.stringContaining(message)]);
    expect(refused[0]?.cause).toBeInstanceOf(Error);
  });

  it('tells of an object that became shorter', async () => {
    const object = { ...memoryObject(Buffer.from('1\n2\n')), size: 10 };
    const damage: Error[] = [];
    const { offsets } = await jsonLines().index(object, { onDamage: (error) => damage.push(error) });
    expect([offsets.length, damage.map(({ message }) => message)]).toEqual([
      2,
      [expect.stringContaining('object, byte 4: it ends here, and not at byte 10')],
    ]);
  });

  it('ends with an abort, before the next read', async () => {
    const object = memoryObject(Buffer.alloc(3 * 2 ** 20, '1\n'));
    const controller = new AbortController();
    const reason = new Error('enough');
    const read = (offset: number, length: number) => {
      controller.abort(reason);
      return object.read(offset, length);
    };
    const options = { signal: controller.signal, onDamage: () => undefined };
    await expect(jsonLines().index({ ...object, read }, options)).rejects.toBe(reason);
    expect(object.reads).toHaveLength(1);
  });
});
