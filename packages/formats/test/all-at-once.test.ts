import { describe, expect, it } from 'vitest';
import { unsnappied, unzstd } from '../src/reading/all-at-once.js';
import { concat, hex } from './bytes.js';

/** By the program zstd: from a pipe, with a checksum and without a size, and from a file. */
const PIPED = hex('28b52ffd045861000068656c6c6f2068656c6c6f0aff7ad51a');
const SIZED = hex('28b52ffd200c61000068656c6c6f2068656c6c6f0a');
/** A frame without a size that has 100,000 times one byte, in a block that repeats it. */
const REPEATED = hex('28b52ffd0058 03350c 00');
/** By python-snappy. */
const SNAPPY = hex('0c2c68656c6c6f2068656c6c6f0a');
const TEXT = 'hello hello\n';
const textOf = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();

describe('zstd without Node', () => {
  it.each([
    ['a frame without a size', PIPED, 1],
    ['a frame with one', SIZED, 1],
    ['two frames', concat(PIPED, SIZED), 2],
    ['two frames, the first of which has a size', concat(SIZED, PIPED), 2],
  ])('reads %s, within bounds', (_, bytes, times) => {
    expect(textOf(unzstd(bytes, TEXT.length * times))).toBe(TEXT.repeat(times));
    expect(unzstd(bytes, TEXT.length * times - 1)).toBeUndefined();
  });

  it('is bounded where a block repeats a byte', () => {
    expect(unzstd(REPEATED, 100_000)?.byteLength).toBe(100_000);
    expect(unzstd(REPEATED, 99_999)).toBeUndefined();
  });

  it.each([
    ['a frame that is cut off', PIPED.subarray(0, -6)],
    ['a sized frame that is cut off', SIZED.subarray(0, -1)],
    ['a header that is cut off', PIPED.subarray(0, 4)],
    ['a window of terabytes', hex('28b52ffd00f8010000')],
    ['a frame of terabytes, with one byte', hex('28b52ffde00000000000010000010000')],
    ['other bytes behind it', concat(SIZED, hex('01020304050607'))],
  ])('refuses %s', (_, bytes) => {
    let read: Uint8Array | undefined;
    expect(() => {
      read = unzstd(bytes, 2 ** 20);
      if (read === undefined) throw new Error('too much');
    }).toThrow();
    expect(read).toBeUndefined();
  });
});

describe('snappy', () => {
  it('is read within bounds', () => {
    expect(textOf(unsnappied(SNAPPY, TEXT.length))).toBe(TEXT);
    expect(unsnappied(SNAPPY, TEXT.length - 1)).toBeUndefined();
  });

  it.each(['', 'ffff', 'ffffffffffff01', 'ffffffff0f00', '0c2c68656c', '0d2c68656c6c6f2068656c6c6f0a'])(
    'is refused if it is %s',
    (bytes) => expect(() => unsnappied(hex(bytes), 2 ** 32)).toThrow(),
  );
});
