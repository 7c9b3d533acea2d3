import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  describeShim,
  makeDataset,
  opensOf,
  serve,
  temporaryDirectory,
} from '../../packages/interpose/test/helpers.js';
import { LineProcess } from '../../tools/processes/line-process.js';
import { compiled, describeWith, INSTALL_CC } from './compilers.js';

const KEYS = ['a.bin', 'deep/é 1.bin'];

describeShim('a thread that is cancelled', () => {
  describeWith('cc', INSTALL_CC, () => {
    /** A program that cancels threads, and what it reads without the shim of the files that have copies. */
    async function cancelling() {
      const dataset = makeDataset(KEYS, { bytes: 100_000 });
      const interposer = await serve(dataset);
      for (const key of KEYS) await interposer.hierarchy.place(key);
      await interposer.idle();
      const files = KEYS.map((key) => path.join(dataset.source, key));
      const command = await compiled(['cc', '-D_GNU_SOURCE', '-pthread', 'cancelled.c']);
      const start = async (environment: NodeJS.ProcessEnv) => {
        const child = await LineProcess.start({ command, arguments: [], environment });
        onTestFinished(() => child.close());
        return child;
      };
      const plain = await start({});
      const under = await start(interposer.environment());
      /** Two threads open copies of each file. */
      const expectCopies = async () => {
        for (const file of files) {
          const read = () => under.ask(`read ${file}`);
          const result = await plain.ask(`read ${file}`);
          expect(await opensOf(interposer, read)).toEqual({ result, source: 0, copies: 2 });
        }
      };
      return { dataset, interposer, files, under, expectCopies };
    }

    it.each(['outside of', 'below'])(
      '[I2] ends while it waits for a FIFO %s the root, and others open copies',
      async (where) => {
        const { dataset, under, expectCopies } = await cancelling();
        const fifo = path.join(where === 'below' ? dataset.source : temporaryDirectory(), 'fifo');
        execFileSync('mkfifo', [fifo]);
        for (let i = 0; i < 3; i++) expect(await under.ask(`blocked ${fifo}`)).toBe('cancelled');
        await expectCopies();
      },
    );

    it('[I2] ends while it opens and reads copies, and others open copies', async () => {
      const { files, under, expectCopies } = await cancelling();
      for (const file of files) expect(await under.ask(`reading ${file}`)).toBe('cancelled');
      await expectCopies();
    });

    it('[I2] ends while it is the first to open a file after the table was replaced, and others open copies', async () => {
      const { dataset, interposer, files, under, expectCopies } = await cancelling();
      await expectCopies();
      // More than there is room for.
      fs.mkdirSync(path.join(dataset.source, 'more'));
      for (let i = 0; i < 1100; i++) fs.writeFileSync(path.join(dataset.source, 'more', String(i)), 'more');
      await interposer.rescan();
      expect(await under.ask(`pending ${files[0] ?? ''}`)).toBe('cancelled');
      await expectCopies();
    });
  });
});
