import { constants } from 'node:buffer';
import { truncate } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '@tiered/core';
import { native } from '@tiered/native';
import { expect, it } from 'vitest';
import { place, putFile, withCode } from './helpers.js';

const MIB = 1_048_576;
const LENGTH = 20 * MIB;

it.runIf(native().available)(
  '[R1] a large read into memory that may be taken away is copied by 4 MiB between turns of the event loop',
  async () => {
    const { driver, root } = await place({ writable: false });
    await putFile(root, 'large', Buffer.alloc(LENGTH, 'x'));
    const { version } = await driver.stat('large', {});
    for (const known of [version, undefined]) {
      const target = new Uint8Array(LENGTH);
      let [seen, most] = [0, 0];
      const reading = driver.readInto('large', target, { offset: 0, version: known });
      while (seen < LENGTH / MIB) {
        await systemClock.turn();
        let filled = seen;
        while (target[(filled + 1) * MIB - 1] === 0x78) filled += 1;
        most = Math.max(most, filled - seen);
        seen = filled;
      }
      expect(await reading).toBe(LENGTH);
      expect(target.every((byte) => byte === 0x78)).toBe(true);
      expect(most).toBe(4);
    }
  },
);

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
