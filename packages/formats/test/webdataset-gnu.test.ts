import { encodeTar, webdataset, type WebdatasetSample } from '@tiered/formats/webdataset';
import fs from 'node:fs';
import path from 'node:path';
import { Header } from 'tar/header';
import { describe, expect, it } from 'vitest';
import { concat } from './bytes.js';
import { readObject, samplesOf } from './read-object.js';

const folder = path.join(import.meta.dirname, 'data', 'webdataset_gnu');
const fileOf = (name: string) => new Uint8Array(fs.readFileSync(path.join(folder, name)));
const texts = (samples: readonly WebdatasetSample[]) =>
  samples.map(({ name, parts }) => [
    name,
    ...Array.from(parts, ([part, bytes]) => `${part}: ${Buffer.from(bytes).toString()}`),
  ]);
const [S1, S2] = [
  ['s1', 'cls: 1', 'txt: text of s1'],
  ['s2', 'cls: 2', 'txt: text of s2'],
];

describe('tars of GNU tar', () => {
  it.each(['label-gnu.tar', 'label-posix.tar', 'label-posix.tar.zst'])(
    'may have a label (%s)',
    async (name) => {
      expect(texts(await samplesOf(webdataset(), fileOf(name)))).toEqual([S1, S2]);
    },
  );

  it.each(['0.0', '0.1', '1.0', 'gnu'])('have damage where a file is sparse (%s)', async (version) => {
    const { samples, damage } = await readObject(webdataset(), fileOf(`sparse-${version}.tar`));
    // The sample before it may lack files, too.
    expect(samples).toEqual([]);
    expect(damage.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^object, byte \d+: tar: (.*\/)?sp\.bin is a sparse file\./),
    ]);
  });

  it('have damage where a file begins in another one', async () => {
    const block = Buffer.alloc(512);
    new Header({ path: 's3.txt', size: 0, type: 'ContinuationFile' }).encode(block);
    const { damage } = await readObject(webdataset(), concat(block, new Uint8Array(1024)));
    expect(damage.map(({ message }) => message)).toEqual([
      expect.stringContaining('s3.txt begins in another tar'),
    ]);
  });
});

describe('files of a sample that lie apart', () => {
  const of = (name: string, ...parts: string[]) => ({
    name,
    parts: new Map(parts.map((part) => [part, Uint8Array.of(1)] as const)),
  });
  const found = async (...samples: WebdatasetSample[]) => {
    const { samples: read, damage } = await readObject(webdataset(), encodeTar(samples));
    return [read.map(({ name }) => name).join(), damage.map(({ message }) => message)];
  };

  it('are damage, and no samples', async () => {
    const { samples, damage } = await readObject(webdataset(), fileOf('apart.tar'));
    expect(samples).toEqual([]);
    expect(damage.map(({ message }) => message)).toEqual([
      expect.stringContaining('byte 2048: tar: the files of s1 lie apart: others are at byte 0. Write'),
      expect.stringContaining('byte 3072: tar: the files of s2 lie apart: others are at byte 1024. Write'),
    ]);
  });

  it('leave the other samples', async () => {
    const apart = expect.stringContaining('the files of a lie apart') as string;
    expect(await found(of('a', 'x'), of('b', 'x', 'y'), of('a', 'y'), of('c', 'x', 'y'))).toEqual([
      'b,c',
      [apart],
    ]);
    expect(await found(of('a', 'x'), of('b', 'x'), of('a', 'y'), of('c', 'x'), of('a', 'z'))).toEqual([
      'b,c',
      [apart, apart],
    ]);
  });

  it('are not those of a sample that has the name of another one', async () => {
    expect(await found(of('a', 'x', 'y'), of('b', 'x'), of('a', 'y', 'z'))).toEqual(['a,b,a', []]);
  });
});
