import { Hierarchy, MemoryDriver, type StorageDriver, type TierLayout } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { S3Driver } from '@tiered/s3-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { surveyTier, type SurveyedCopy, type TierSurvey } from '@tiered/tiering/survey';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { optionsFor, place } from '../packages/s3-adapter/test/helpers.js';

const OBJECTS = 5;
const CHUNK = 1000;
const objects = new Map(Array.from({ length: OBJECTS }, (_, i) => [`Dir/${i}`, someBytes(2500 + i, i)]));
const BYTES = [...objects.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);

async function scratch(): Promise<string> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-survey-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  return path.join(directory, 'tier');
}

/** A hierarchy with all objects on one tier. */
async function filled(
  driver: StorageDriver,
  { name = 'source', layout = 'files' }: { name?: string; layout?: TierLayout } = {},
): Promise<Hierarchy> {
  const source = new MemoryDriver({ name });
  for (const [key, bytes] of objects) await source.write(key, bytes, { size: bytes.byteLength });
  const hierarchy = await new Hierarchy({
    source,
    tiers: [{ driver, quota: '16MiB', layout }],
    placement: new PlacementHandler(layout === 'files' ? { chunk: CHUNK } : {}),
  }).open();
  onTestFinished(() => hierarchy.close());
  for (const key of objects.keys()) await hierarchy.read(key);
  await hierarchy.idle();
  return hierarchy;
}

async function look(driver: StorageDriver): Promise<TierSurvey> {
  const survey = await surveyTier(driver);
  if (survey === undefined) throw new Error('nothing to look at');
  onTestFinished(() => survey.close());
  return survey;
}

async function all(survey: TierSurvey): Promise<SurveyedCopy[]> {
  const copies: SurveyedCopy[] = [];
  for await (const page of survey.copies()) copies.push(...page);
  return copies.sort((a, b) => (a.key < b.key ? -1 : 1));
}

const directoryDriver = (root: string) => new FileSystemDriver({ root, writable: true });

describe('a survey of a directory', () => {
  it.each(['files', 'packed'] as const)(
    '[T6] says what is on a tier that is in use, as %s',
    async (layout) => {
      const root = await scratch();
      const hierarchy = await filled(directoryDriver(root), { layout });
      const survey = await look(directoryDriver(root));
      const { usedBytes, quotaBytes, datasets, members } = await survey.summary();
      expect(usedBytes).toBe(hierarchy.stats().tiers[0]?.usedBytes);
      expect(quotaBytes).toBe(2 ** 24);
      expect(datasets).toEqual([{ name: 'source', copies: OBJECTS, bytes: BYTES }]);
      expect(members).toMatchObject([{ isRunning: true, quotaBytes: 2 ** 24, unfinishedBytes: 0 }]);
      const copies = await all(survey);
      expect(copies.map(({ key, bytes, size }) => [key, bytes, size])).toEqual(
        [...objects].map(([key, { byteLength }]) => [key, byteLength, byteLength]),
      );
      for (const copy of copies) {
        expect(copy).toMatchObject({
          dataset: 'source',
          chunks: layout === 'files' ? 3 : 1,
          isPacked: layout === 'packed',
        });
        const file = await fs.readFile(path.join(root, copy.file));
        const bytes = file.subarray(copy.offset, copy.offset + copy.bytes);
        expect(Buffer.compare(bytes, objects.get(copy.key) ?? Buffer.of())).toBe(0);
        await copy.verify();
      }
      expect((await survey.find('Dir/3')).map(({ key }) => key)).toEqual(['Dir/3']);
      expect(await survey.find('Dir/30')).toEqual([]);
      expect(hierarchy.stats().placement).toMatchObject({ placed: OBJECTS, outdated: 0, evicted: 0 });
    },
  );

  it('finds a flipped bit, what was added to a file, and a file that is gone', async () => {
    const root = await scratch();
    await (await filled(directoryDriver(root))).close();
    const survey = await look(directoryDriver(root));
    const [flipped, longer, gone, sound] = await all(survey);
    if (flipped === undefined || longer === undefined || gone === undefined) throw new Error('no copies');
    const bytes = await fs.readFile(path.join(root, flipped.file));
    bytes[CHUNK] = (bytes[CHUNK] ?? 0) ^ 1;
    await fs.writeFile(path.join(root, flipped.file), bytes);
    await fs.appendFile(path.join(root, longer.file), 'x');
    await fs.rm(path.join(root, gone.file));
    await expect(flipped.verify()).rejects.toMatchObject({
      code: 'TIERED_DATA_CORRUPT',
      message: expect.stringContaining('"Dir/0": chunk 1 has another checksum.') as unknown,
    });
    await expect(longer.verify()).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
    await expect(gone.verify()).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
    await sound?.verify();
    const reason = new Error('enough');
    await expect(sound?.verify({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('counts several sources, and no member once all have left', async () => {
    const root = await scratch();
    await (await filled(directoryDriver(root), { name: 'one' })).close();
    await (await filled(directoryDriver(root), { name: 'other' })).close();
    const survey = await look(directoryDriver(root));
    const { quotaBytes, datasets, members } = await survey.summary();
    expect(datasets.map(({ name, copies }) => [name, copies])).toEqual([
      ['one', OBJECTS],
      ['other', OBJECTS],
    ]);
    expect(members).toEqual([]);
    expect(quotaBytes).toBeUndefined();
    expect((await survey.find('Dir/1')).map(({ dataset }) => dataset).sort()).toEqual(['one', 'other']);
  });

  it('finds nothing where nobody has placed anything, and that directory is a tier afterwards too', async () => {
    const root = await scratch();
    const survey = await look(directoryDriver(root));
    expect(await survey.summary()).toEqual({
      usedBytes: 0,
      quotaBytes: undefined,
      datasets: [],
      members: [],
    });
    expect(await all(survey)).toEqual([]);
    expect(await survey.find('a')).toEqual([]);
    await survey.close();
    await survey.close();
    expect((await filled(directoryDriver(root))).stats().placement.placed).toBe(OBJECTS);
  });

  it('refuses a directory that is no tier, and has nothing to look at in memory', async () => {
    const root = await scratch();
    await fs.mkdir(root);
    await fs.writeFile(path.join(root, 'thesis.tex'), 'years of work');
    await expect(surveyTier(directoryDriver(root))).rejects.toMatchObject({
      code: 'TIERED_DIRECTORY_NOT_OURS',
    });
    expect(await fs.readdir(root)).toEqual(['thesis.tex']);
    expect(await surveyTier(new MemoryDriver())).toBeUndefined();
  });
});

describe('a survey of a bucket', () => {
  it('says what is on it while it is in use, and finds a flipped bit', async () => {
    const { server } = await place();
    const bucket = () => new S3Driver({ ...optionsFor(server), prefix: 'tier/' });
    const hierarchy = await filled(bucket());
    const survey = await look(bucket());
    const { usedBytes, datasets, members } = await survey.summary();
    expect(usedBytes).toBe(hierarchy.stats().tiers[0]?.usedBytes);
    expect(datasets).toEqual([{ name: 'source', copies: OBJECTS, bytes: BYTES }]);
    expect(members).toEqual([]);
    const [first, ...others] = await all(survey);
    for (const copy of others) await copy.verify();
    expect((await survey.find('Dir/0')).map(({ size }) => size)).toEqual([2500]);
    const driver = bucket();
    await driver.open({});
    onTestFinished(() => driver.close());
    const name = first?.file ?? '';
    const bytes = Buffer.from(await driver.read(name, { offset: 0, length: 1e6 }));
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    await driver.write(name, bytes, { size: bytes.byteLength });
    await expect(first?.verify()).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
    await driver.write(name, bytes.subarray(0, 2600), { size: 2600 });
    const damaged = (await all(survey)).find(({ size }) => size === undefined);
    expect(damaged).toMatchObject({ chunks: undefined, dataset: '' });
    await expect(damaged?.verify()).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
  });
});
