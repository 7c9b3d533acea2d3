import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keysOf, place, put, textOf, textsOf, withCode } from './helpers.js';

const invalid = withCode('TIERED_KEY_INVALID');

/**
 * Forms that some file system takes for the letter itself: FAT and casefold ext4 the first, ZFS with `formKD`
 * the others.
 */
function formsOf(letter: string): fc.Arbitrary<string> {
  const wide = String.fromCodePoint((letter.codePointAt(0) ?? 0) - 0x20 + 0xff00);
  return fc.constantFrom(letter, letter.toUpperCase(), wide, wide.toUpperCase());
}

/** Characters that ext4 leaves out when it compares folded names. */
const unseen = fc.constantFrom('', '', '', '\u00ad', '\u200b', '\u200d', '\ufe0f', '\ufeff', '\u{e0100}');

/** Names that are the private directory's on one file system or another. */
const taken = fc
  .tuple(
    ...Array.from('.tiered').flatMap((letter) => [unseen, formsOf(letter)]),
    unseen,
    fc.constantFrom('', '', '.', ' ', '. .'),
  )
  .map((parts) => parts.join(''));

describe('names that may be those of the private directory', () => {
  it('[K2] are refused by every operation, at the root only', async () => {
    const { root, driver } = await place({ writable: true });
    await fc.assert(
      fc.asyncProperty(taken, fc.constantFrom('', '/log', '/tmp/x'), async (name, below) => {
        const key = name + below;
        await expect(driver.stat(key, {})).rejects.toEqual(invalid);
        await expect(textOf(driver, key)).rejects.toEqual(invalid);
        expect(await textsOf(driver, [key])).toEqual([invalid]);
        await expect(put(driver, key)).rejects.toEqual(invalid);
        await expect(driver.delete(key, {})).rejects.toEqual(invalid);
      }),
      {
        examples: [
          ['.TIERED', '/log'],
          ['.Tiered', ''],
          ['\uff0etiered', '/log'],
        ],
      },
    );
    expect(fs.readdirSync(root)).toEqual(['.tiered']);
    await put(driver, 'below/.TIERED');
    expect(await keysOf(driver)).toEqual(['below/.TIERED']);
  });

  it('[K2] are not listed, nor are they objects for usage()', async () => {
    const { root, driver } = await place();
    fs.mkdirSync(path.join(root, '.Tiered'));
    fs.writeFileSync(path.join(root, '.Tiered/file'), 'bytes');
    fs.writeFileSync(path.join(root, '.TIERED'), 'bytes');
    fs.writeFileSync(path.join(root, 'object'), 'bytes');
    expect(await keysOf(driver)).toEqual(['object']);
    expect(await driver.usage({})).toMatchObject({ objects: 1, bytes: 5 });
  });

  it('others like them are objects', async () => {
    const { driver } = await place({ writable: true });
    const names = [
      '.tiered-not',
      '.tier',
      '.tieredd',
      'tiered',
      '.tiéred',
      '.ti\u0131red',
      '..tiered',
      '.t/iered',
    ];
    for (const name of names) await put(driver, name);
    expect(await keysOf(driver)).toEqual([...names].sort());
  });
});
