import { rawRecords } from '@tiered/formats/raw';
import { describe, expect, it } from 'vitest';
import { openObjects } from './read-object.js';

const format = rawRecords({ recordBytes: 2 });
const data = { 'data/0.bin': 2, 'data/1.bin': 4 };

describe('what is a sample in no format', () => {
  it.each([
    ['the mark of a directory', 'data/', 0],
    ['the mark of a directory at the root', '/', 0],
    ['a hidden file', 'data/.DS_Store', 3],
    ['a file in a hidden directory', '.git/objects/0', 3],
    ['a README', 'README.md', 3],
    ['a licence', 'data/LICENSE', 3],
    ['the mark of Spark', 'data/_SUCCESS', 0],
    ['the mark of Databricks', 'data/_committed_17', 3],
    ['a checksum', 'data/0.bin.md5', 3],
    ['a list of checksums', 'SHA256SUMS', 3],
    ['a list of records', 'data/0.idx', 3],
    ['what Windows leaves', 'data/Thumbs.db', 3],
  ])('is %s: left out, and counted', async (_, key, bytes) => {
    const samples = await openObjects({ ...data, [key]: bytes }, { format });
    expect([samples.keys, samples.samples, samples.leftOut]).toEqual([Object.keys(data), 3, 1]);
  });

  it.each([
    ['whose name only begins so', 'readme-images/0.bin', 2],
    ['without bytes', 'data/empty', 0],
    ['that ends with a slash and has bytes', 'data/', 2],
    ['in a directory with an underscore', '_noise_/0.bin', 2],
    ['with a dot in its name', 'a.b.c', 2],
  ])('is no object %s', async (_, key, bytes) => {
    const samples = await openObjects({ ...data, [key]: bytes }, { format });
    expect([samples.keys.length, samples.leftOut]).toEqual([3, 0]);
  });

  it('[D6] is not what a filter leaves out', async () => {
    const samples = await openObjects(
      { ...data, 'data/': 0 },
      { format, filter: (key) => key.endsWith('1.bin') },
    );
    expect([samples.keys, samples.leftOut]).toEqual([['data/1.bin'], 1]);
  });
});
