import { constants } from 'node:buffer';
import { truncate } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { place, putFile, withCode } from './helpers.js';

/** The largest file of ext4. */
const LARGEST_FILE = 2 ** 43;

it.skipIf(constants.MAX_LENGTH >= LARGEST_FILE).each([128, 0])(
  '[E1] a file that no buffer holds is TIERED_TOO_LARGE, whatever was said of it (%i native threads)',
  async (nativeThreads) => {
    const length = constants.MAX_LENGTH + 1;
    const { driver, root } = await place({ writable: false, nativeThreads });
    await putFile(root, 'huge', Buffer.from('begins'));
    await truncate(path.join(root, 'huge'), length);
    const { version } = await driver.stat('huge', {});
    for (const known of [version, undefined])
      await expect(driver.read('huge', { offset: 0, length, version: known })).rejects.toEqual(
        withCode('TIERED_TOO_LARGE'),
      );
    expect(await driver.read('huge', { offset: length - 5, length: 10, version })).toHaveLength(5);
  },
);
