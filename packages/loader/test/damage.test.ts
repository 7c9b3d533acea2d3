import type { TieredError } from '@tiered/core';
import { damaged, openSamples, type SampleFormat } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { expect, it } from 'vitest';
import { allNames, hierarchyOf, loaderOf, nameOf, namesOf } from './helpers.js';

const COUNTS = [20, 30];
const BAD = ['0/7', '1/0', '1/29'];

/** Records of which some are damaged, at once or later. */
async function withDamage(isLater: boolean) {
  const whole = rawRecords({ recordBytes: 8 });
  const format: SampleFormat<Uint8Array> = {
    ...whole,
    decode: ({ key, offset, bytes }) => {
      if (!BAD.includes(nameOf(bytes))) return isLater ? Promise.resolve([bytes]) : [bytes];
      const error = damaged({ key, offset }, 'it is damaged', 'Write it again.');
      if (isLater) return Promise.reject(error);
      throw error;
    },
  };
  return openSamples(await hierarchyOf(COUNTS), { format });
}

const OPTIONS = { batchSize: 4, shuffle: false, onDamage: 'skip' } as const;

it.each([false, true])(
  '[D6] damage ends a loader, and names object and byte (later: %s)',
  async (isLater) => {
    const loader = loaderOf(await withDamage(isLater), { batchSize: 4, shuffle: false });
    const batches: string[][] = [];
    const reading = (async () => {
      for await (const { data } of loader) batches.push(data.map(nameOf));
    })();
    await expect(reading).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT', key: '0000' });
    await expect(reading).rejects.toThrow(/byte 56/);
    expect(batches.flat()).toEqual(allNames(COUNTS).slice(0, 4));
  },
);

it.each([false, true])(
  '[D6] exactly what is damaged is skipped, counted and told of (later: %s)',
  async (isLater) => {
    const told: string[] = [];
    const onSkipped = ({ message }: TieredError) => void told.push(/^.*byte \d+/.exec(message)?.[0] ?? '');
    const loader = loaderOf(await withDamage(isLater), {
      ...OPTIONS,
      mostDamaged: 0.1,
      epochs: 2,
      onSkipped,
    });
    for (let epoch = 0; epoch < 2; epoch++) {
      const names = await namesOf(loader.epoch());
      expect(names.flat()).toEqual(allNames(COUNTS).filter((name) => !BAD.includes(name)));
      expect(names).toHaveLength(13);
    }
    expect(told.slice(0, 3)).toEqual(['0000, byte 56', '0001, byte 0', '0001, byte 232']);
    expect([told.length, loader.stats().skipped]).toEqual([6, 6]);
    expect(loader.report()).toContain('damage: 6 samples left out');
  },
);

it('[D6] more damage than is allowed ends the loader', async () => {
  const loader = loaderOf(await withDamage(false), { ...OPTIONS, mostDamaged: 0.02 });
  await expect(namesOf(loader)).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT', key: '0001' });
});

it('[D6] batches say which samples they have', async () => {
  const loader = loaderOf(await withDamage(false), { ...OPTIONS, mostDamaged: 1 });
  const said: unknown[] = [];
  for await (const batch of loader.epoch()) said.push([...batch.samples, batch.size]);
  expect(said[1]).toEqual([4, 5, 6, 3]);
});
