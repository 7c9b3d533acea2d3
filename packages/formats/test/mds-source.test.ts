import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { Hierarchy, type TieredError } from '@tiered/core';
import { openSamples, type OpenSamplesOptions } from '@tiered/formats';
import { mds, type MdsSample } from '@tiered/formats/mds';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openObjects } from './read-object.js';

const folder = path.join(import.meta.dirname, 'data', 'mds_source');
const filesOf = (name: string): Record<string, Uint8Array> =>
  Object.fromEntries(
    fs
      .readdirSync(path.join(folder, name))
      .map((file) => [`${name}/${file}`, new Uint8Array(fs.readFileSync(path.join(folder, name, file)))]),
  );
const expected = Array.from({ length: 12 }, (_, i) => ({ id: BigInt(i), text: `text ${i}` }));
const open = (
  objects: Readonly<Record<string, Uint8Array>>,
  options: Partial<OpenSamplesOptions<MdsSample>> = {},
) => openObjects(objects, { format: mds(), ...options });
const readAll = async (samples: Awaited<ReturnType<typeof open>>) => {
  const all: MdsSample[] = [];
  for (let i = 0; i < samples.samples; i++) all.push(await samples.read(i));
  return all;
};

describe('a directory of MosaicML Streaming', () => {
  it.each(['plain', 'gz', 'zstd', 'br', 'snappy'])('is read as it is (%s)', async (name) => {
    const samples = await open(filesOf(name));
    expect(await readAll(samples)).toEqual(expected);
    expect([samples.keys.length, samples.leftOut]).toEqual([3, 1]);
    const { reads } = samples.hierarchy.stats().source;
    expect(reads).toBe(name === 'plain' ? 1 + 3 + 12 : 1 + 12);
  });

  it('takes one request a shard to open, and none where shards are compressed', async () => {
    for (const [name, requests] of [
      ['plain', 1 + 3],
      ['zstd', 1],
    ] as const) {
      const samples = await open(filesOf(name));
      expect(samples.hierarchy.stats().source.reads).toBe(requests);
    }
  });

  it('may have several below it, and an index of all of them', async () => {
    const both = { ...filesOf('plain'), ...filesOf('gz') };
    expect(await readAll(await open(both))).toEqual([...expected, ...expected]);
    const shards = ['plain', 'gz'].flatMap((name) => {
      const text = Buffer.from(both[`${name}/index.json`] ?? []).toString();
      return (JSON.parse(text.replaceAll('"basename": "', `"basename": "${name}/`)) as { shards: unknown[] })
        .shards;
    });
    const index = Buffer.from(JSON.stringify({ version: 2, shards }));
    expect(await readAll(await open({ ...both, 'index.json': index }))).toEqual([...expected, ...expected]);
  });

  it('is read from a real directory', async () => {
    const source = new FileSystemDriver({ root: path.join(folder, 'zstd') });
    const hierarchy = await new Hierarchy({ source }).open();
    onTestFinished(() => hierarchy.close());
    const samples = await openSamples(hierarchy, { format: mds({ columns: ['text'] }) });
    expect(await samples.read(11)).toEqual({ text: 'text 11' });
  });

  it('has each shard once, if what was compressed was kept', async () => {
    const [plain, zipped] = [filesOf('plain'), filesOf('zstd')];
    const kept = Object.fromEntries(
      Object.entries(plain).flatMap(([key, bytes]) =>
        key.endsWith('.json') ? [] : [[key.replace('plain', 'zstd'), bytes]],
      ),
    );
    const text = Buffer.from(zipped['zstd/index.json'] ?? []).toString();
    const sizes = JSON.parse(text) as { shards: { raw_data: { basename: string; bytes: number } }[] };
    for (const { raw_data: raw } of sizes.shards) raw.bytes = kept[`zstd/${raw.basename}`]?.byteLength ?? 0;
    const index = new Uint8Array(Buffer.from(JSON.stringify(sizes)));
    const samples = await open({ ...zipped, ...kept, 'zstd/index.json': index });
    expect([samples.samples, samples.leftOut, samples.isSingle]).toEqual([12, 4, true]);
  });

  it('leaves out shards that its index does not name', async () => {
    const samples = await open({ ...filesOf('plain'), 'plain/shard.00009.mds': new Uint8Array(9) });
    expect([samples.samples, samples.leftOut]).toEqual([12, 2]);
  });
});

describe('damage of such a directory', () => {
  const SHARD = 'plain/shard.00001.mds';
  const skipping = async (objects: Record<string, Uint8Array>) => {
    const told: string[] = [];
    const onSkipped = ({ message }: TieredError) => told.push(message);
    const samples = await open(objects, { onDamage: 'skip', mostDamaged: 1, onSkipped });
    return { samples, told };
  };

  it('is a shard that is missing', async () => {
    const objects = Object.fromEntries(Object.entries(filesOf('plain')).filter(([key]) => key !== SHARD));
    await expect(open(objects)).rejects.toThrow('plain/index.json, byte 0: shard.00001.mds is not there');
    const { samples, told } = await skipping(objects);
    expect([samples.samples, samples.skipped, told.length]).toEqual([8, 1, 1]);
  });

  it('is a shard of another size, or with other samples', async () => {
    const objects = filesOf('plain');
    const bytes = objects[SHARD] ?? new Uint8Array();
    await expect(open({ ...objects, [SHARD]: bytes.subarray(0, -1) })).rejects.toThrow(
      `${SHARD}, byte 290: it has 290 bytes, and index.json says 291`,
    );
    const other = bytes.slice();
    other[0] = 3;
    await expect(open({ ...objects, [SHARD]: other })).rejects.toThrow(
      `${SHARD}, byte 0: it has 3 samples, and index.json says 4`,
    );
  });

  it('is a compressed shard with another hash', async () => {
    const key = 'snappy/shard.00000.mds.snappy';
    const objects = filesOf('snappy');
    const bytes = Uint8Array.from(objects[key] ?? []);
    const last = bytes.byteLength - 1;
    bytes[last] = (bytes[last] ?? 0) ^ 1;
    const samples = await open({ ...objects, [key]: bytes });
    await expect(samples.read(0)).rejects.toMatchObject({
      code: 'TIERED_DATA_CORRUPT',
      message: expect.stringMatching(/its sha1 is [0-9a-f]{40}, and index\.json says [0-9a-f]{40}/) as string,
    });
    expect(await samples.read(4)).toEqual(expected[4]);
  });

  it.each(['', '[]', '{"version": 1}', '{"version": 2, "shards": [{}]}', '\xff'])(
    'is an index.json that cannot be: %s',
    async (text) => {
      const objects = {
        ...filesOf('plain'),
        'plain/index.json': new Uint8Array(Buffer.from(text, 'latin1')),
      };
      await expect(open(objects)).rejects.toThrow('plain/index.json, byte 0: ');
      expect((await skipping(objects)).samples.samples).toBe(12);
    },
  );

  it('is an index.json that claims more samples than there can be', async () => {
    const claiming = (name: string, samples: number) => {
      const objects = filesOf(name);
      const text = Buffer.from(objects[`${name}/index.json`] ?? []).toString();
      const index = text.replaceAll('"samples": 4', `"samples": ${samples}`);
      return open({ ...objects, [`${name}/index.json`]: new Uint8Array(Buffer.from(index)) });
    };
    await expect(claiming('plain', 2 ** 32)).rejects.toThrow('invalid number');
    await expect(claiming('plain', 2 ** 31)).rejects.toThrow('index.json says 2147483648 samples');
    const samples = await claiming('gz', 5);
    await expect(samples.read(0)).rejects.toThrow('it has 4 samples, and index.json says 5');
  });

  it('is not what bzip2 is', async () => {
    await expect(open(filesOf('bz2'))).rejects.toMatchObject({
      code: 'TIERED_UNSUPPORTED',
      message: expect.stringContaining('compressed by bzip2') as string,
    });
  });
});
