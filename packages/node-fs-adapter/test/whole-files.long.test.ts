import fs from 'node:fs';
import path from 'node:path';
import { Random } from '@tiered/core';
import { describe, expect, it } from 'vitest';
import { place, temporaryFiles, turn, withCode } from './helpers.js';

const SIZE = 3_000_000;
const gone = new Error('no longer wanted');

describe.each([
  { way: 'in native threads', options: {} },
  { way: 'in the thread pool', options: { nativeThreads: 0, blockingCalls: false } },
])('objects that are written at once, $way', ({ options }) => {
  it('[W1] one that is aborted at any instant is there as a whole, or leaves nothing', async () => {
    const { root, driver } = await place({ writable: true, ...options });
    const random = new Random(1);
    const bytes = new Uint8Array(new SharedArrayBuffer(SIZE)).fill(7);
    for (let round = 0; round < 40; round++) {
      const controller = new AbortController();
      const key = `dir-${round}/object`;
      const writing = driver.write(key, bytes, { size: SIZE, signal: controller.signal }).then(
        () => true,
        (error: unknown) => {
          expect(error).toBe(gone);
          return false;
        },
      );
      for (let turns = random.below(20); turns > 0; turns--) await turn();
      controller.abort(gone);
      const isWritten = await writing;
      expect(fs.existsSync(path.dirname(path.join(root, key)))).toBe(isWritten);
      if (isWritten) expect(Buffer.compare(fs.readFileSync(path.join(root, key)), bytes)).toBe(0);
      expect(await temporaryFiles(root)).toEqual([]);
      expect(driver.openFiles).toBe(0);
    }
  });

  it('[W1] one of another size than was announced leaves nothing', async () => {
    const { root, driver } = await place({ writable: true, ...options });
    for (const size of [4, 6]) {
      const write = driver.write('dir/object', new Uint8Array(5), { size });
      await expect(write).rejects.toEqual(withCode('TIERED_SIZE_MISMATCH'));
    }
    expect(fs.readdirSync(root)).toEqual(['.tiered']);
    expect(await temporaryFiles(root)).toEqual([]);
  });

  it('[W1] one that is replaced while it is read is read as the old one or the new one', async () => {
    const { driver } = await place({ writable: true, ...options });
    const written = (fill: number) =>
      driver.write('a', new Uint8Array(300_000).fill(fill), { size: 300_000 });
    await written(0);
    let isOver = false;
    const writing = (async () => {
      for (let round = 1; round <= 100; round++) await written(round);
      isOver = true;
    })();
    while (!isOver) {
      const bytes = await driver.read('a', { offset: 0, length: 300_001 });
      expect(bytes.byteLength).toBe(300_000);
      expect(new Set(bytes).size).toBe(1);
    }
    await writing;
  });
});
