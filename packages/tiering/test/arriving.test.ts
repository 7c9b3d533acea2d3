import { expect, it } from 'vitest';
import { Arriving } from '../src/fill/arriving.js';

it('a part of a chunk that failed is refused, whenever it is asked for', async () => {
  const error = new Error('the source is gone');
  let fail: (reason: Error) => void = () => undefined;
  const arriving = new Arriving(new Uint8Array(10), undefined, async (progress) => {
    progress(4);
    await new Promise((_, reject) => (fail = reject));
  });
  const before = expect(arriving.copy(new Uint8Array(5), 5, undefined)).rejects.toBe(error);
  const ended = expect(arriving.bytes).rejects.toBe(error);
  fail(error);
  await Promise.all([before, ended]);
  await expect(arriving.copy(new Uint8Array(5), 5, undefined)).rejects.toBe(error);
  // What came before is there.
  await arriving.copy(new Uint8Array(4), 0, undefined);
  expect(arriving.isHere).toBe(false);
});
