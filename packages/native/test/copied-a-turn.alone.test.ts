import fs from 'node:fs';
import path from 'node:path';
import { settled } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import { describeNative, explained, readOf, targetOf, temporaryDirectory, threadsOn } from './helpers.js';

const MIB = 2 ** 20;
const FILES = 40;
const X = 'x'.charCodeAt(0);

describeNative('what is copied between two turns of the event loop', () => {
  it.each(['one batch', 'one batch, told as it comes', 'many batches'])(
    'is 8 MiB at most, however much has come meanwhile into memory that may be taken away: %s',
    async (how) => {
      const root = temporaryDirectory();
      const keys = Array.from({ length: FILES }, (_, i) => `${i}`);
      for (const key of keys) fs.writeFileSync(path.join(root, key), Buffer.alloc(MIB, X));
      const io = threadsOn(root, { threads: 2, idleMs: 600_000 });
      const requests = keys.map((key) => readOf(key, 0, { target: targetOf(MIB, false) }));
      let told = 0;
      const onRead = (indexes: Float64Array) => void (told += indexes.length);
      const reading =
        how === 'many batches'
          ? Promise.all(requests.map((one) => io.readMany([one], { onRead })))
          : io.readMany(requests, how === 'one batch' ? {} : { onRead }).then((one) => [one]);
      // The event loop stands still until all has come.
      let isHere = false;
      while (!isHere) {
        const { threads, idle } = io.counts;
        isHere = idle > 0 && idle === threads;
      }
      const isFilled = ({ target }: (typeof requests)[number]) => target[0] === X && target.at(-1) === X;
      let [before, most] = [0, 0];
      let isOver = false;
      const over = reading.finally(() => (isOver = true));
      while (!isOver) {
        await settled();
        const filled = requests.filter(isFilled).length;
        most = Math.max(most, filled - before);
        before = filled;
      }
      expect((await over).flatMap(({ outcomes }) => explained(outcomes))).toEqual(keys.map(() => MIB));
      expect(most).toBe(8);
      if (how !== 'one batch') expect(told).toBe(FILES);
      for (const { target } of requests) expect(target.every((byte) => byte === X)).toBe(true);
    },
  );
});
