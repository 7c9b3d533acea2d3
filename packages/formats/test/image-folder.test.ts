import { classesOf, imageFolder } from '@tiered/formats/image-folder';
import { describe, expect, it } from 'vitest';
import { readObject, samplesOf } from './read-object.js';

const image = Uint8Array.of(1, 2, 3);

describe('image-folder', () => {
  const format = imageFolder({ classes: ['cat', 'dog'], root: 'train' });

  it.each([
    ['train/cat/1.jpg', 'cat', 0],
    ['train/dog/2.PNG', 'dog', 1],
    ['train/dog/small/cat/3.webp', 'dog', 1],
  ])('gives %s its class, and reads nothing to index it', async (key, className, label) => {
    const { samples, reads, damage } = await readObject(format, image, key);
    expect(samples).toMatchObject([{ className, label }]);
    expect([...(samples[0]?.bytes ?? [])]).toEqual([1, 2, 3]);
    expect({ reads, damage }).toEqual({ reads: [], damage: [] });
  });

  it('makes no samples of other files', async () => {
    for (const key of ['train/cat/notes.txt', 'train/cat/Thumbs.db', 'README']) {
      expect(await samplesOf(format, image, key)).toEqual([]);
    }
    const arrays = imageFolder({ classes: ['cat'], extensions: ['.NPY'] });
    expect(await samplesOf(arrays, image, 'cat/1.npy')).toHaveLength(1);
    expect(await samplesOf(arrays, image, 'cat/1.jpg')).toEqual([]);
  });

  it.each([
    'train/bird/1.jpg',
    'train/1.jpg',
    'test/cat/1.jpg',
    'training/cat/1.jpg',
    'train//1.jpg',
    '1.jpg',
  ])('takes %s, which has no class, for damage', async (key) => {
    const { samples, damage } = await readObject(format, image, key);
    expect(samples).toEqual([]);
    expect(damage.map(({ message }) => message)).toEqual([expect.stringContaining('none of the classes')]);
    expect(() => format.decode({ key, offset: 0, bytes: image })).toThrow('none of the classes');
  });

  it.each([
    ['classes', { classes: [] }],
    ['classes', { classes: ['a', 'a'] }],
    ['extensions', { classes: ['a'], extensions: ['jpg'] }],
  ])('refuses %s that cannot work', (name, options) => {
    expect(() => imageFolder(options)).toThrow(name);
  });
});

describe('classesOf', () => {
  const keys = [
    'train/dog/1.jpg',
    'train/cat/small/2.jpg',
    'train/dog/3.jpg',
    'train/4.jpg',
    'test/bird/5.jpg',
  ];

  it('gives the directories below the root, each once', () => {
    expect(classesOf(keys, 'train')).toEqual(['cat', 'dog']);
    expect(classesOf(keys, 'train/')).toEqual(['cat', 'dog']);
    expect(classesOf(keys)).toEqual(['test', 'train']);
    expect(classesOf(keys, 'none')).toEqual([]);
  });

  it('sorts them as Python does', () => {
    // sorted(['ä', 'a', 'Z', 'n10', 'n2', '\U0001f600', '\uffee', '']) there.
    const sorted = ['Z', 'a', 'n10', 'n2', 'ä', '\uffee', '😀'];
    expect(classesOf(sorted.toReversed().map((name) => `${name}/1.jpg`))).toEqual(sorted);
  });
});
