import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { place, put } from './helpers.js';

/** What `du` counts in a directory, in bytes. */
function measuredBy(root: string): number {
  return (
    512 * Number(execFileSync('du', ['-s', '--block-size=512', root], { encoding: 'utf8' }).split('\t')[0])
  );
}

describe.skipIf(process.platform !== 'linux')('[Q3] what a tier occupies', () => {
  it('is what du counts: whole blocks, directories, links, and what is beside the objects', async () => {
    const { root, driver } = await place({ writable: true });
    const check = async (objects: number, bytes: number) => {
      const usage = await driver.usage({});
      expect(usage).toMatchObject({ objects, bytes, occupiedBytes: measuredBy(root) });
    };
    await check(0, 0);
    for (let i = 0; i < 300; i++) await put(driver, `dir-${i % 7}/sub/${i}`, 'x'.repeat(i));
    await check(300, (300 * 299) / 2);
    fs.symlinkSync('dir-0/sub/7', path.join(root, 'link'));
    await check(301, (300 * 299) / 2 + 7);
    const home = await driver.openIndex({});
    fs.writeFileSync(home.path, 'x'.repeat(100_000));
    fs.writeFileSync(path.join(root, '.tiered/tmp/left'), new Uint8Array(50_000));
    await check(301, (300 * 299) / 2 + 7);
    await home.close();
  });

  it('is more than their bytes if they are small, and less if they have holes', async () => {
    const { root, driver } = await place({ writable: true });
    await put(driver, 'small');
    const small = await driver.usage({});
    expect(small.occupiedBytes).toBe(measuredBy(root));
    expect(small.occupiedBytes).toBeGreaterThan(small.bytes);
    fs.truncateSync(path.join(root, 'small'), 2 ** 30);
    const { bytes, occupiedBytes } = await driver.usage({});
    expect(bytes).toBe(2 ** 30);
    expect(occupiedBytes).toBeLessThan(2 ** 20);
  });
});
