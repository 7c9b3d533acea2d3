import { formatOf } from '@tiered/formats';
import { classesOf, imageFolder } from '@tiered/formats/image-folder';
import { describe, expect, it } from 'vitest';
import { openObjects, readObject, samplesOf } from './read-object.js';

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

describe('image-folder without classes', () => {
  it('takes them from the keys of all images, in every thread', async () => {
    const samples = await openObjects(
      { 'train/dog/1.jpg': 1, 'train/cat/2.jpg': 1, 'train/': 0, 'train/bird/': 0, 'train/dog/notes.txt': 1 },
      { format: imageFolder({ root: 'train' }) },
    );
    expect(await Promise.all([0, 1].map((i) => samples.read(i)))).toMatchObject([
      { className: 'cat', label: 0 },
      { className: 'dog', label: 1 },
    ]);
    expect(samples.leftOut).toBe(3);
    const again = await formatOf(samples.format.name, samples.format.options);
    const record = { key: 'train/dog/1.jpg', offset: 0, bytes: image };
    expect(await again.decode(record)).toMatchObject([{ label: 1 }]);
  });

  it('says what is missing', async () => {
    const code = 'TIERED_CONFIG_INVALID';
    await expect(openObjects({ '1.jpg': 1 }, { format: imageFolder() })).rejects.toMatchObject({
      code,
      message: expect.stringContaining('root') as string,
    });
    const decode = () => imageFolder().decode({ key: 'a/1.jpg', offset: 0, bytes: image });
    expect(decode).toThrow(expect.objectContaining({ code }));
    await expect(openObjects({ README: 1, 'a/': 0 }, { format: imageFolder() })).rejects.toThrow(
      '(2 are none of image-folder)',
    );
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
    const others = ['train/bird/', 'train/fish/.DS_Store', '.git/x/y'];
    expect(classesOf([...keys, ...others], 'train')).toEqual(['cat', 'dog']);
  });

  it('sorts them as Python does', () => {
    // sorted(['ä', 'a', 'Z', 'n10', 'n2', '\U0001f600', '\uffee', '']) there.
    const sorted = ['Z', 'a', 'n10', 'n2', 'ä', '\uffee', '😀'];
    expect(classesOf(sorted.toReversed().map((name) => `${name}/1.jpg`))).toEqual(sorted);
  });
});
