import { csv, type CsvOptions } from '@tiered/formats/lines';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readObject, samplesOf } from './read-object.js';

const anyText = fc.string({ unit: fc.constantFrom('"', '\\', ',', '\n', '\r', 'a') });
const anyRows = fc.array(fc.array(anyText, { minLength: 2, maxLength: 2 }));

describe('csv, quotes and endings', () => {
  it.each<[string, string, CsvOptions]>([
    ['a quote within a text', `a,b\n1,5' disk"\n3"x,a "b" c\n`, {}],
    ['quotes by a backslash', `a,b\n1,"5' disk\\""\n"3\\"x","a \\"b\\" c"\n`, { escape: '\\' }],
    ['rows that end with CR', `a,b\r1,"5' disk"""\r"3""x","a ""b"" c"\r`, {}],
    ['rows that end in three ways', `a,b\r\n1,5' disk"\r3"x,a "b" c\n`, {}],
  ])('may be %s', async (_, text, options) => {
    expect(await samplesOf(csv(options), Buffer.from(text))).toEqual([
      { a: '1', b: `5' disk"` },
      { a: '3"x', b: 'a "b" c' },
    ]);
  });

  it.each(['\r', '\r\n'])('are found over the edges of pieces (%j)', async (ending) => {
    const text = `a,b${ending}${`${'x'.repeat(4093)},1${ending}`.repeat(600)}`;
    const samples = await samplesOf(csv(), Buffer.from(text));
    expect([samples.length, new Set(samples.map(({ b }) => b))]).toEqual([600, new Set(['1'])]);
  });

  it('damage exactly the row that has text behind a closing quote', async () => {
    const text = 'a,b\n1,2\n"3"4,5\n"""6"" x",7\n';
    const { samples, refused } = await readObject(csv(), Buffer.from(text));
    expect(samples).toEqual([
      { a: '1', b: '2' },
      { a: '"6" x', b: '7' },
    ]);
    expect(refused.map(({ message }) => message)).toEqual([
      expect.stringContaining('object, byte 8: a quote is closed before its text ends: "3"4'),
    ]);
  });

  it.each(['"', '\\'])('give back any texts, escaped by %s', (escape) =>
    fc.assert(
      fc.asyncProperty(anyRows, async (rows) => {
        const escaped = (text: string) =>
          escape === '"' ? text.replaceAll('"', '""') : text.replaceAll(/["\\]/g, '\\$&');
        const text = rows.map((row) => `${row.map((one) => `"${escaped(one)}"`).join(',')}\n`).join('');
        expect(await samplesOf(csv({ columns: false, escape }), Buffer.from(text))).toEqual(rows);
      }),
    ),
  );
});
