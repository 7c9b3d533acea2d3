import { MetadataContainer } from '@tiered/core';
import { ManualClock, ticked } from '@tiered/core/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ImaginaryFiles } from '../src/daemon/imaginary-files.js';
import { temporaryDirectory } from './helpers.js';

it('[I7] programs are told the sizes that objects have after the source was listed again', async () => {
  const directory = temporaryDirectory();
  const size = fc.oneof(fc.nat(3), fc.constantFrom(2 ** 32 - 1, 2 ** 32, 2 ** 40));
  const round = fc.record({ sizes: fc.array(size, { maxLength: 30 }), copies: fc.array(fc.nat(29)) });
  await fc.assert(
    fc.asyncProperty(fc.array(round), async (rounds) => {
      const namespace = new MetadataContainer(1);
      /** What a table has, by object. */
      const told: number[] = [];
      let changes = 0;
      const files = await ImaginaryFiles.over(
        directory,
        namespace,
        (id, { bytes }) => {
          if (id >= told.length) return;
          told[id] = bytes;
          changes += 1;
        },
        new ManualClock(ticked),
      );
      for (const { sizes, copies } of rounds) {
        for (const [key, bytes] of sizes.entries())
          namespace.put({ key: `${key}`, size: bytes, version: `${bytes}` });
        const actual = () => Array.from({ length: namespace.count }, (_, id) => namespace.sizeOf(id));
        const wrong = told.filter((bytes, id) => bytes !== namespace.sizeOf(id)).length;
        changes = 0;
        await files.renew(new AbortController().signal);
        expect(changes).toBe(wrong);
        while (told.length < namespace.count) told.push(files.fileOf(told.length).bytes);
        expect(told).toEqual(actual());
        for (const id of copies) if (id < namespace.count) files.has(id);
        expect(changes).toBe(wrong);
      }
    }),
  );
});
