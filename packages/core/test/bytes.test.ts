import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatBytes, parseBytes, type ByteSize } from '@tiered/core';
import { withCode } from './helpers.js';

const SI = ['kB', 'MB', 'GB', 'TB', 'PB'];
const IEC = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** The unit's letters in any mixture of cases. */
const anyCase = (unit: string) =>
  fc
    .array(fc.boolean(), { minLength: unit.length, maxLength: unit.length })
    .map((upper) => [...unit].map((c, i) => (upper[i] ? c.toUpperCase() : c.toLowerCase())).join(''));

describe('parseBytes', () => {
  it.each<[ByteSize, number]>([
    [0, 0],
    [1, 1],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ['0', 0],
    ['17', 17],
    ['17B', 17],
    ['1kB', 1000],
    ['1KiB', 1024],
    ['64KiB', 65536],
    ['1.5 GB', 1_500_000_000],
    ['200GiB', 214_748_364_800],
    ['1.5 MiB', 1_572_864],
    ['2 TB', 2e12],
    ['2TiB', 2_199_023_255_552],
    ['1PB', 1e15],
    ['7.5PiB', 8_444_249_301_319_680],
    ['  8 kib  ', 8192],
    ['007 b', 7],
  ])('%j is %d bytes', (size, bytes) => {
    expect(parseBytes(size)).toBe(bytes);
  });

  it('rounds a fraction of a byte down', () => {
    expect(parseBytes('1.9')).toBe(1);
    expect(parseBytes('0.9999 KiB')).toBe(1023);
    expect(parseBytes('1.0009 kB')).toBe(1000);
  });

  it('loses no byte of a decimal fraction that is a whole number of bytes', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000 }), (bytes) => {
        const text = `${Math.floor(bytes / 1000)}.${String(bytes % 1000).padStart(3, '0')} kB`;
        expect(parseBytes(text)).toBe(bytes);
      }),
      { examples: [[1001]] },
    );
  });

  it.each([
    ...SI.map((unit, i) => [unit, 1000 ** (i + 1)] as const),
    ...IEC.map((unit, i) => [unit, 1024 ** (i + 1)] as const),
  ])('takes any whole number of %s, whatever the case and the spaces', (unit, factor) => {
    const most = Math.floor(Number.MAX_SAFE_INTEGER / factor);
    fc.assert(
      fc.property(
        fc.nat({ max: Math.min(most, 2 ** 31 - 1) }),
        anyCase(unit),
        fc.nat({ max: 3 }),
        (n, name, spaces) => {
          expect(parseBytes(`${n}${' '.repeat(spaces)}${name}`)).toBe(n * factor);
        },
      ),
    );
  });

  it.each(SI.map((unit, i) => [unit, IEC[i] ?? '']))(
    'keeps %s (powers of 1000) below %s (powers of 1024)',
    (si, iec) => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 7 }), (n) => {
          expect(parseBytes(`${n}${si}`)).toBeLessThan(parseBytes(`${n}${iec}`));
        }),
      );
    },
  );

  it.each<[unknown]>([
    [-1],
    [-0.5],
    [Number.NaN],
    [Infinity],
    [-Infinity],
    [2 ** 53],
    ['9007199254740992'],
    ['8PiB'],
    ['99999999999PiB'],
    [''],
    [' '],
    ['GiB'],
    ['-1'],
    ['+1'],
    ['-1GiB'],
    ['1,5 GB'],
    ['1.5.5 GB'],
    ['.5 GB'],
    ['5. GB'],
    ['5 G'],
    ['5 Gi'],
    ['5 GiBs'],
    ['5 GiB 3 MiB'],
    ['1e3'],
    ['0x10'],
    ['Infinity'],
    ['NaN'],
    ['5 constructor'],
    ['1\u00a0000'],
    [null],
    [undefined],
    [true],
    [12n],
    [{}],
    [['1']],
  ])('refuses %o', (size) => {
    expect(() => parseBytes(size as ByteSize, 'quota')).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('gives a whole number of at least 0 or refuses, for any text', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{0,20} ?[kKmMgGtTpPi]{0,2}[bB]?$/));
    fc.assert(
      fc.property(text, (size) => {
        let bytes = 0;
        try {
          bytes = parseBytes(size);
        } catch (error) {
          expect(error).toEqual(withCode('TIERED_CONFIG_INVALID'));
        }
        expect(Number.isSafeInteger(bytes) && bytes >= 0).toBe(true);
      }),
    );
  });
});

describe('formatBytes', () => {
  it.each([
    [0, '0 B'],
    [1, '1 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1536, '1.5 KiB'],
    [65536, '64 KiB'],
    [1_572_864, '1.5 MiB'],
    [214_748_364_800, '200 GiB'],
    [2 ** 50, '1 PiB'],
    [1024 * 2 ** 50, '1024 PiB'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it('writes what parseBytes reads, true to the one decimal that it shows', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => {
        fc.pre(formatBytes(bytes) !== '8 PiB'); // 2^53: rounded up to more than parseBytes takes
        const back = parseBytes(formatBytes(bytes));
        expect(Math.abs(back - bytes)).toBeLessThanOrEqual(bytes * 0.05);
      }),
    );
  });

  it('writes whole multiples of a unit exactly', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1023 }), fc.nat({ max: 4 }), (n, power) => {
        expect(parseBytes(formatBytes(n * 1024 ** power))).toBe(n * 1024 ** power);
      }),
    );
  });
});
