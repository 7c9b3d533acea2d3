import { jsonLines, type JsonLinesOptions } from '@tiered/formats/lines';
import { encodeMds, mds } from '@tiered/formats/mds';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readObject, samplesOf } from './read-object.js';

const LARGE =
  '{"id": -12345678901234567890, "near": 9007199254740991, "x": [9007199254740993, 1e20, 0.1234567890123456]}';
const others = { near: 9007199254740991 };
const read = (text: string, options?: JsonLinesOptions) => samplesOf(jsonLines(options), Buffer.from(text));

/** JSON has a number beyond 2^53 as an integer, up to 21 digits. */
const exact = (_: string, value: unknown) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(String(value))
    ? BigInt(String(value))
    : value;

describe('numbers in JSON lines', () => {
  it('may be NaN and infinite, as Python writes them', async () => {
    const text = '{"a": NaN, "b": [Infinity, -Infinity], "NaN": "NaN \\" Infinity"}\nNaN\n';
    expect(await read(text)).toEqual([{ a: NaN, b: [Infinity, -Infinity], NaN: 'NaN " Infinity' }, NaN]);
  });

  it.each(['NaNa', '-NaN', '[1NaN]', '[Infinity 1]', '[00000000000000000001]', '[NaN'])(
    'are none in %s',
    async (text) => {
      const { samples, refused } = await readObject(jsonLines(), Buffer.from(text));
      expect([samples.length, refused.map(({ code }) => code)]).toEqual([0, ['TIERED_DATA_CORRUPT']]);
    },
  );

  it('are bigints where a number would lose digits, or what is asked for', async () => {
    const x = [1e20, 0.1234567890123456];
    expect(await read(LARGE)).toEqual([
      { ...others, id: -12345678901234567890n, x: [9007199254740993n, ...x] },
    ]);
    expect(await read(LARGE, { integers: 'text' })).toEqual([
      { ...others, id: '-12345678901234567890', x: ['9007199254740993', ...x] },
    ]);
    expect(await read(LARGE, { integers: 'number' })).toEqual([
      { ...others, id: -12345678901234567000, x: [9007199254740992, ...x] },
    ]);
    await expect(read(LARGE, { integers: 'error' })).rejects.toThrow('-12345678901234567890 is beyond 2^53');
    await expect(read(`[${'1'.repeat(5000)}]`)).rejects.toThrow('an integer has 5000 digits');
    expect(() => jsonLines({ integers: 'float' as never })).toThrow('integers');
  });

  it('leave all texts and other values as they are', () =>
    fc.assert(
      fc.asyncProperty(fc.jsonValue({ noUnicodeString: false }), fc.bigInt(), async (value, large) => {
        const json = JSON.stringify({ value, text: `${2n ** 70n}` });
        const expected = (JSON.parse(json, exact) as { readonly value: unknown }).value;
        const wide = large < 0n ? large - 2n ** 53n : large + 2n ** 53n;
        expect(await read(`{"v": ${json}, "n": ${wide}, "i": NaN}`)).toEqual([
          { v: { value: expected, text: `${2n ** 70n}` }, n: wide, i: NaN },
        ]);
      }),
    ));

  it('are the same in JSON of other formats', async () => {
    const shard = encodeMds([{ a: new TextEncoder().encode('[NaN, 9007199254740993]') }], { a: 'bytes' });
    const text = Buffer.from(shard).toString('latin1').replace('["bytes"]', '["json"]');
    const offsets = Buffer.from(text, 'latin1');
    for (const at of [4, 8, 12]) if (at < 12) offsets.writeUInt32LE(offsets.readUInt32LE(at) - 1, at);
    expect(await samplesOf(mds(), offsets)).toEqual([{ a: [NaN, 9007199254740993n] }]);
  });
});
