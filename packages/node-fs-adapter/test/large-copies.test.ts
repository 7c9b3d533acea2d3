import { systemClock } from '@tiered/core';
import { native } from '@tiered/native';
import { expect, it } from 'vitest';
import { place, putFile } from './helpers.js';

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
