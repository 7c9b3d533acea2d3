import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { describeShim, makeDataset, serve } from '../../packages/interpose/test/helpers.js';
import { LineProcess } from '../../tools/processes/line-process.js';
import { compiled, describeWith, INSTALL_CC } from './compilers.js';

const KEYS = ['held', 'copied', 'left'];
/** What the program reads of each file. */
const BYTES = 20;

/** A program that has opened a file before that had a copy, and what it reads of each. */
async function confining() {
  const { source, tiers, contents } = makeDataset(KEYS);
  const interposer = await serve({ source, tiers });
  await interposer.hierarchy.place('copied');
  const command = await compiled(['cc', '-D_GNU_SOURCE', 'confined.c']);
  // Where this user may, with mounts of its own: a mount of another test makes the shim look anew, and the
  // program is killed for that where nobody sees what it may call.
  const alone = process.getuid?.() === 0 ? ['unshare', '--mount'] : [];
  const [first, ...rest] = [...alone, command];
  const environment = interposer.environment();
  const child = await LineProcess.start({ command: first, arguments: rest, environment });
  onTestFinished(() => child.close());
  const hexOf = (key: string) => contents.get(key)?.subarray(0, BYTES).toString('hex');
  const open = (key: string) => child.ask(`open ${path.join(source, key)}`);
  const read = (key: string) => child.ask(`read ${path.join(source, key)}`);
  expect(await child.ask(`hold ${path.join(source, 'held')}`)).toBe('held');
  expect(await read('copied')).toBe(hexOf('copied'));
  await interposer.hierarchy.place('held');
  await interposer.idle();
  return { interposer, child, open, read, hexOf };
}

describeShim('a program that is killed for calls that it does not expect to make', () => {
  describeWith('cc', INSTALL_CC, () => {
    it.each(['prctl', 'number'])('[I2] reads on, where it says so by %s', async (how) => {
      const { interposer, child, read, hexOf } = await confining();
      const { opens } = interposer.stats();
      expect(await child.ask(`confine ${how}`)).toBe('confined');
      expect(await child.ask('held')).toBe(hexOf('held'));
      for (const key of KEYS) expect(await read(key)).toBe(hexOf(key));
      expect(interposer.stats().opens).toBe(opens);
    });

    it('[I2] opens files, where nobody sees that it says so', async () => {
      const { child, open, hexOf } = await confining();
      expect(await child.ask('confine unseen')).toBe('confined');
      for (const key of KEYS) expect(await open(key)).toBe(hexOf(key));
    });
  });
});
