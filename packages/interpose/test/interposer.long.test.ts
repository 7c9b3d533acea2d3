import path from 'node:path';
import { expect, it } from 'vitest';
import { describeShim, makeDataset, opensOf, run, serve } from './helpers.js';

const KEYS = ['a.bin', 'Train/Image 1.JPG', 'train/é.png', 'deep/er/b.bin'];

describeShim('a program under the shim', () => {
  it('reads the source at first, and copies afterwards: the same bytes, whoever reads', async () => {
    const dataset = makeDataset(KEYS);
    const interposer = await serve(dataset);
    const all = KEYS.map((key) => path.join(dataset.source, key));
    const expected = Buffer.concat(KEYS.map((key) => dataset.contents.get(key) ?? Buffer.alloc(0))).toString(
      'latin1',
    );
    const first = await opensOf(interposer, () => run(interposer, 'cat', all));
    expect(first).toEqual({ result: expected, source: 4, copies: 0 });
    await interposer.idle();
    const second = await opensOf(interposer, () => run(interposer, 'cat', all));
    expect(second).toEqual({ result: expected, source: 0, copies: 4 });
  });
});
