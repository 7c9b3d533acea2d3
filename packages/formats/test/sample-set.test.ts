import { Hierarchy, MemoryDriver, type TieredError } from '@tiered/core';
import { damaged, openSamples, SampleSet, type OpenSamplesOptions, type SampleFormat } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import fc from 'fast-check';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const bytesOf = (...values: number[]) => Uint8Array.from(values);

/** Whole objects as records, with as many samples as the first byte says. */
function several(): SampleFormat<number> {
  return {
    name: 'several',
    options: {},
    index: async ({ key, size, read }, { onDamage }) => {
      const [samples = 0] = await read(0, 1);
      if (samples === 255) {
        onDamage(damaged({ key, offset: 0 }, 'it is damaged', 'Write it again.'));
        return { offsets: new Float64Array(), lengths: new Float64Array(), samples: new Uint32Array() };
      }
      return {
        offsets: Float64Array.of(0),
        lengths: Float64Array.of(size),
        samples: Uint32Array.of(samples),
      };
    },
    decode: ({ bytes }) => Array.from({ length: bytes[0] ?? 0 }, (_, i) => i),
  };
}

async function hierarchyWith(objects: Readonly<Record<string, Uint8Array>>): Promise<Hierarchy> {
  const source = new MemoryDriver({ name: 'source' });
  for (const [key, bytes] of Object.entries(objects))
    await source.write(key, bytes, { size: bytes.byteLength });
  const hierarchy = await new Hierarchy({ source }).open();
  onTestFinished(() => hierarchy.close());
  return hierarchy;
}

async function samplesOf<S>(
  objects: Readonly<Record<string, Uint8Array>>,
  options: OpenSamplesOptions<S>,
): Promise<SampleSet<S>> {
  return openSamples(await hierarchyWith(objects), options);
}

async function directory(): Promise<string> {
  const made = await mkdtemp(path.join(os.tmpdir(), 'indexes-'));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

describe('the samples of a dataset', () => {
  it('are numbered by the keys of their objects, and by their places in them', async () => {
    const set = await samplesOf(
      { b: bytesOf(5, 6, 7, 8), a: bytesOf(1, 2), c: bytesOf() },
      { format: rawRecords({ recordBytes: 2 }) },
    );
    expect([set.samples, set.records, set.bytes, set.keys]).toEqual([3, 3, 6, ['a', 'b', 'c']]);
    const read = await Promise.all([0, 1, 2].map((sample) => set.read(sample)));
    expect(read.map((bytes) => [...bytes])).toEqual([
      [1, 2],
      [5, 6],
      [7, 8],
    ]);
    expect([0, 1, 2].map((sample) => set.nameOf(sample))).toEqual(['a', 'b#0', 'b#1']);
    await expect(set.read(3)).rejects.toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
  });

  it('are found in records of any number of samples', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(4), { minLength: 1, maxLength: 20 }), async (counts) => {
        const objects = counts.map((count, i) => [String(i).padStart(2, '0'), bytesOf(count)] as const);
        const set = await samplesOf(Object.fromEntries(objects), { format: several() });
        const expected = counts.flatMap((count, object) =>
          Array.from({ length: count }, (_, i) => ({ object, i })),
        );
        expect(set.samples).toBe(expected.length);
        for (const [sample, { object, i }] of expected.entries()) {
          expect(set.objectOf(set.recordOf(sample))).toBe(object);
          expect(await set.read(sample)).toBe(i);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('are looked for in chosen objects; none is an error', async () => {
    const objects = { 'a.bin': bytesOf(1), 'a.txt': bytesOf(2) };
    const format = rawRecords({ recordBytes: 1 });
    const set = await samplesOf(objects, { format, filter: (key) => key.endsWith('.bin') });
    expect(set.keys).toEqual(['a.bin']);
    const nothing = samplesOf(objects, { format, filter: () => false });
    await expect(nothing).rejects.toMatchObject({ code: 'TIERED_NOT_FOUND' });
  });

  it('may not lie outside of their objects, whatever a format says', async () => {
    const tables: [number[], number[]][] = [
      [[0], [3]],
      [[-1], [1]],
      [
        [0, 0],
        [1, 1],
      ],
      [[0], []],
      [[NaN], [1]],
    ];
    for (const [offsets, lengths] of tables) {
      const table = { offsets: Float64Array.from(offsets), lengths: Float64Array.from(lengths) };
      const format = { ...rawRecords({ recordBytes: 1 }), index: () => Promise.resolve(table) };
      const opening = samplesOf({ a: bytesOf(1, 2) }, { format });
      await expect(opening, JSON.stringify([offsets, lengths])).rejects.toMatchObject({
        code: 'TIERED_DATA_CORRUPT',
        key: 'a',
      });
    }
  });
});

describe('damage that an index finds', () => {
  const objects = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`${i + 10}`, bytesOf(i === 7 || i === 9 ? 255 : 1)]),
  );

  it('fails the opening, and names the object', async () => {
    await expect(samplesOf(objects, { format: several() })).rejects.toMatchObject({
      code: 'TIERED_DATA_CORRUPT',
      key: '17',
    });
  });

  it('is skipped, counted and told of if asked for, as far as allowed', async () => {
    const told: unknown[] = [];
    const onSkipped = ({ key }: TieredError) => void told.push(key);
    const options = { format: several(), onDamage: 'skip', onSkipped } as const;
    const set = await samplesOf(objects, { ...options, mostDamaged: 0.05 });
    expect([set.samples, set.skipped, told.sort()]).toEqual([38, 2, ['17', '19']]);
    await expect(samplesOf(objects, options)).rejects.toMatchObject({ code: 'TIERED_DATA_CORRUPT' });
  });

  it('is told of at the next start too, because such an index is not saved', async () => {
    const options = {
      format: several(),
      onDamage: 'skip',
      mostDamaged: 1,
      indexes: await directory(),
    } as const;
    for (let i = 0; i < 2; i++) expect((await samplesOf(objects, options)).skipped).toBe(2);
  });
});

describe('a saved index', () => {
  it('[D7] is used as long as the object is of its version and format', async () => {
    const indexes = await directory();
    const hierarchy = await hierarchyWith({ a: bytesOf(2), b: bytesOf(3) });
    const reads = () => hierarchy.stats().source.reads;
    const open = (format: SampleFormat<number>) => openSamples(hierarchy, { format, indexes });
    await open(several());
    expect(reads()).toBe(2);
    expect((await open(several())).samples).toBe(5);
    expect(reads()).toBe(2);
    await open({ ...several(), options: { other: true } });
    expect(reads()).toBe(4);
    // Written in another order, both have another version.
    const changed = await hierarchyWith({ b: bytesOf(4), a: bytesOf(2) });
    expect((await openSamples(changed, { format: several(), indexes })).samples).toBe(6);
  });

  it('[D7] that is damaged, or of another object, is made anew', async () => {
    const indexes = await directory();
    const hierarchy = await hierarchyWith({ a: bytesOf(2) });
    await openSamples(hierarchy, { format: several(), indexes });
    const [folder = ''] = await readdir(indexes);
    const [name = ''] = await readdir(path.join(indexes, folder));
    const file = path.join(indexes, folder, name);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const whole = await readFile(file);
    const cut = Array.from({ length: 20 }, (_, i) =>
      whole.subarray(0, Math.floor((whole.byteLength * i) / 20)),
    );
    const turned = Array.from(whole, (_, i) =>
      Uint8Array.from(whole, (byte, at) => (at === i ? byte ^ 16 : byte)),
    );
    for (const bytes of [...cut, ...turned]) {
      await writeFile(file, bytes);
      expect((await openSamples(hierarchy, { format: several(), indexes })).samples).toBe(2);
      expect(await readFile(file)).toEqual(whole);
    }
  });

  it('[L1] [R3] is not saved inside the source, by whatever path', async () => {
    const top = await directory();
    const [root, inner, link] = ['data', 'data/inner', 'link'].map((name) => path.join(top, name)) as [
      string,
      string,
      string,
    ];
    await mkdir(inner, { recursive: true });
    await writeFile(path.join(root, 'a'), bytesOf(3));
    await symlink(inner, link);
    const hierarchy = await new Hierarchy({ source: new FileSystemDriver({ root }) }).open();
    onTestFinished(() => hierarchy.close());
    const open = (indexes: string) => openSamples(hierarchy, { format: several(), indexes });
    const before = await readdir(top, { recursive: true });
    for (const indexes of [
      root,
      inner,
      path.join(root, 'new/er'),
      path.relative('.', inner),
      link,
      `${link}/new`,
    ])
      await expect(open(indexes), indexes).rejects.toMatchObject({
        code: 'TIERED_CONFIG_INVALID',
        message: expect.stringMatching(/^indexes: it is inside source/),
      });
    expect(await readdir(top, { recursive: true })).toEqual(before);
    expect((await open(`${root}-indexes`)).samples).toBe(3);
    expect(await readdir(`${root}-indexes`)).toHaveLength(1);
  });

  it('that cannot be saved is an error that says what to do', async () => {
    const file = path.join(await directory(), 'file');
    await writeFile(file, '');
    const opening = samplesOf({ a: bytesOf(1) }, { format: several(), indexes: file });
    await expect(opening).rejects.toMatchObject({
      code: 'TIERED_IO',
      message: expect.stringContaining(file),
    });
  });
});

it('an abort ends the indexing', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  const format = several();
  const opening = samplesOf(
    { a: bytesOf(1), b: bytesOf(1), c: bytesOf(1) },
    {
      format: {
        ...format,
        index: (object, options) => {
          controller.abort(reason);
          return format.index(object, options);
        },
      },
      signal: controller.signal,
    },
  );
  await expect(opening).rejects.toBe(reason);
});
