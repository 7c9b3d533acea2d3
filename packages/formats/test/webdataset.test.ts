import {
  encodeTar,
  webdataset,
  type EncodeTarOptions,
  type WebdatasetSample,
} from '@tiered/formats/webdataset';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { Header, type HeaderData } from 'tar/header';
import { describe, expect, it } from 'vitest';
import { anyDamage, concat, flipBit } from './bytes.js';
import { memoryObject, readObject, samplesOf } from './read-object.js';

const BLOCK = 512;
const END = new Uint8Array(2 * BLOCK);

/** Samples as plain values, each part as hex, so that memory of any kind compares. */
function plain(samples: readonly WebdatasetSample[]) {
  return samples.map(({ name, parts }) => ({
    name,
    parts: Object.fromEntries(
      Array.from(parts, ([part, bytes]) => [part, Buffer.from(bytes).toString('hex')]),
    ),
  }));
}

function sample(name: string, parts: Readonly<Record<string, string>>): WebdatasetSample {
  const entries = Object.entries(parts).map(
    ([part, text]) => [part, new Uint8Array(Buffer.from(text))] as const,
  );
  return { name, parts: new Map(entries) };
}

/** A member with its header as it is given, and padding. */
function member(about: HeaderData, content = ''): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  new Header({ size: content.length, type: 'File', ...about }).encode(block);
  return concat(block, Buffer.from(content), new Uint8Array((BLOCK - (content.length % BLOCK)) % BLOCK));
}

const folder = path.join(import.meta.dirname, 'data', 'webdataset');
const content = JSON.parse(fs.readFileSync(path.join(folder, 'content.json'), 'utf8')) as Readonly<
  Record<string, unknown>
>;

describe('webdataset, files of other programs', () => {
  it.each(Object.entries(content))('reads %s as webdataset does', async (name, expected) => {
    const bytes = fs.readFileSync(path.join(folder, name));
    expect(plain(await samplesOf(webdataset(), bytes))).toEqual(expected);
  });
});

// What paths, headers and their limits of 100 and 155 bytes may stumble over.
const anyText = fc.string({
  unit: fc.constantFrom('a', '.', ' ', 'ü', '\u00a0', '😀', '\\', '\r', 'x'.repeat(30)),
  maxLength: 6,
});
const anyDirectory = anyText;
const anyName = anyText.map((text) => `n${text.replaceAll('.', '_')}`);
const anyPart = fc.stringMatching(/^[a-z0-9._-]{0,12}$/);
const anyParts = fc.dictionary(anyPart, fc.uint8Array({ maxLength: 700 }), { minKeys: 1, maxKeys: 4 });
const anySamples = fc
  .uniqueArray(
    fc.record({ directories: fc.array(anyDirectory, { maxLength: 3 }), name: anyName, parts: anyParts }),
    {
      selector: ({ directories, name }) => [...directories, name].join('/'),
      maxLength: 5,
    },
  )
  .map((samples) =>
    samples.map(({ directories, name, parts }) => ({
      name: ['d', ...directories, name].join('/'),
      parts: new Map(Object.entries(parts)),
    })),
  );
const anyCompression = fc.constantFrom('none' as const, 'gzip' as const);

describe('webdataset, what was written here', () => {
  it('is found and decoded, whatever it is called, compressed or not', () =>
    fc.assert(
      fc.asyncProperty(anySamples, anyCompression, async (samples, compression) => {
        const shard = encodeTar(samples, { compression });
        expect(Buffer.compare(encodeTar(samples, { compression }), shard)).toBe(0);
        const read = await readObject(webdataset(), shard);
        expect(plain(read.samples)).toEqual(plain(samples));
        expect([...read.damage, ...read.refused]).toEqual([]);
        const single = compression === 'none' ? samples.length : Math.min(1, samples.length);
        expect(read.table.offsets).toHaveLength(single);
      }),
    ));

  it('is a file also if its path is cut behind a slash', async () => {
    const path = `${'d/'.repeat(50)}name.txt`;
    const header = (type: 'File' | 'NextFileHasLongPath', size: number) => ({
      path: path.slice(0, 100),
      type,
      size,
    });
    const long = concat(
      member(header('NextFileHasLongPath', path.length), path),
      member(header('File', 1), 'x'),
    );
    const expected = plain([sample(path.slice(0, -4), { txt: 'x' })]);
    expect(plain(await samplesOf(webdataset(), concat(long, END)))).toEqual(expected);
  });

  it('is found by node-tar with its whole name, however long', async () => {
    const { list } = await import('tar/list');
    const names = ['short', 'größe', `${'d/'.repeat(100)}name`, `${'ü'.repeat(120)}/${'x'.repeat(200)}`];
    const shard = encodeTar(names.map((name) => sample(name, { txt: 'a' })));
    const seen: string[] = [];
    const parser = list({ onReadEntry: (entry) => seen.push(entry.path) });
    await new Promise((resolve) => parser.on('end', resolve).end(Buffer.from(shard)));
    expect(seen).toEqual(names.map((name) => `${name}.txt`));
  });

  it('has records from the first header to the last padding', async () => {
    const shard = encodeTar([sample('a', { txt: 'x'.repeat(513), cls: '1' }), sample('b', { txt: '' })]);
    const { table } = await readObject(webdataset(), shard);
    expect([...table.offsets]).toEqual([0, 5 * BLOCK]);
    expect([...table.lengths]).toEqual([5 * BLOCK, BLOCK]);
  });

  it.each<[string, WebdatasetSample[], EncodeTarOptions?]>([
    ['a dot in the name', [sample('a.b', { txt: '' })]],
    ['a part in upper case', [sample('a', { TXT: '' })]],
    ['a part that is a path', [sample('a', { 'b/c': '' })]],
    ['a hidden file', [sample('a/', { txt: '' })]],
    ["webdataset's own names", [sample('__a__/b', { txt: '' })]],
    ['a name of two lines', [sample('a\nb', { txt: '' })]],
    ['a name that is no text', [sample('\ud800', { txt: '' })]],
    ['no parts', [sample('a', {})]],
    ['one name twice in a row', [sample('a', { txt: '' }), sample('a', { cls: '' })]],
    ['another compression', [], { compression: 'zlib' } as object],
  ])('has not %s', (_, samples, options) => {
    expect(() => encodeTar(samples, options)).toThrow(
      expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }),
    );
  });
});

describe('webdataset, what an index reads', () => {
  it('is little where files are large', async () => {
    const large = { jpg: 'x'.repeat(300_000), json: '{}' };
    const shard = encodeTar([sample('a', large), sample('b', large), sample('c', large)]);
    const { reads, samples } = await readObject(webdataset(), shard);
    expect(samples).toHaveLength(3);
    expect(reads.length).toBeLessThanOrEqual(4);
    for (const { length } of reads) expect(length).toBeLessThanOrEqual(32 * 1024);
  });

  it('is pieces of up to 1 MiB where they are small', async () => {
    const shard = encodeTar(
      Array.from({ length: 300 }, (_, i) => sample(`s${i}`, { jpg: 'x'.repeat(9000), cls: '1' })),
    );
    const { reads, samples } = await readObject(webdataset(), shard);
    expect(samples).toHaveLength(300);
    expect(reads.length).toBeLessThan(12);
  });

  it('ends with an abort, before the next read', async () => {
    const object = memoryObject(encodeTar([sample('a', { jpg: 'x'.repeat(300_000) })]));
    const controller = new AbortController();
    const reason = new Error('enough');
    const read = (offset: number, length: number) => {
      controller.abort(reason);
      return object.read(offset, length);
    };
    const options = { signal: controller.signal, onDamage: () => undefined };
    await expect(webdataset().index({ ...object, read }, options)).rejects.toBe(reason);
    expect(object.reads).toHaveLength(1);
  });
});

describe('webdataset, damage', () => {
  const messages = async (bytes: Uint8Array) => {
    const { samples, damage } = await readObject(webdataset(), bytes);
    return [samples.length, ...damage.map(({ message }) => message)];
  };
  const a = encodeTar([sample('a', { txt: 'x', cls: '1' })]).subarray(0, -END.byteLength);

  it('gives samples or an error for whatever happens to the bytes', () =>
    fc.assert(
      fc.asyncProperty(anySamples, anyCompression, anyDamage, async (samples, compression, damaged) => {
        const { samples: read } = await readObject(
          webdataset(),
          damaged(encodeTar(samples, { compression })),
        );
        // gzip has a checksum of the content, tar has not.
        if (compression === 'gzip') for (const one of plain(read)) expect(plain(samples)).toContainEqual(one);
      }),
      { numRuns: 300 },
    ));

  it('gives whole samples of any shard that is cut off, and tells of the cut', () =>
    fc.assert(
      fc.asyncProperty(anySamples, fc.nat(), async (samples, at) => {
        const shard = encodeTar(samples);
        // One block of zeros is an end, as it is to Python.
        const cut = at % (shard.byteLength - 2 * BLOCK + 1);
        const read = await readObject(webdataset(), shard.subarray(0, cut));
        expect(read.damage).toHaveLength(1);
        expect(plain(read.samples)).toEqual(plain(samples.slice(0, read.samples.length)));
      }),
    ));

  it('notices any flipped bit of a header', () =>
    fc.assert(
      fc.asyncProperty(fc.nat(), async (bit) => {
        const samples = [sample('a', { cls: '', txt: '' }), sample('b', { cls: '' })];
        const shard = encodeTar(samples);
        const read = await readObject(webdataset(), flipBit(shard, bit % (shard.byteLength * 8)));
        for (const one of plain(read.samples)) expect(plain(samples)).toContainEqual(one);
      }),
      { numRuns: 300 },
    ));

  it.each<[string, Uint8Array, string]>([
    ['an object of nothing', new Uint8Array(0), 'byte 0: tar: its end is missing'],
    ['a missing end', a, 'byte 2048: tar: its end is missing'],
    [
      'a member that is cut off',
      concat(a, member({ path: 'b.txt' }, 'x')).subarray(0, -1),
      'b.txt is cut off: 511 of 1 bytes',
    ],
    ['an absurd size', concat(a, member({ path: 'b.txt', size: 2 ** 52 }), END), 'b.txt is cut off'],
    ['a file that is there twice', concat(a, a.subarray(1024), END), 'byte 2048: tar: a.cls is there twice'],
    ['a sparse file', concat(member({ path: 'b.txt', type: 'SparseFile' }), END), 'b.txt is a sparse file'],
    [
      'headers without a member',
      concat(member({ path: 'x', type: 'ExtendedHeader' }), END),
      'no member follows',
    ],
    [
      'headers without end',
      concat(...Array.from({ length: 2049 }, () => member({ path: 'x', type: 'ExtendedHeader' })), END),
      'more than 1048576 bytes',
    ],
    [
      'a header of 1 GiB',
      concat(member({ path: 'x', type: 'ExtendedHeader', size: 2 ** 30 }), END),
      'more than 1048576 bytes',
    ],
    [
      'a size in pax that cannot be',
      concat(member({ path: 'x', type: 'ExtendedHeader' }, '12 size=1.5\n'), a, END),
      'invalid size in header: 1.5',
    ],
    ['no tar', new Uint8Array(BLOCK).fill(1), 'checksum of a header'],
  ])('is %s', async (_, bytes, message) => {
    expect(await messages(bytes)).toEqual([0, expect.stringContaining(message)]);
  });

  it('of a file that is there twice leaves the other samples', async () => {
    const b = encodeTar([sample('b', { txt: '' })]);
    const { samples } = await readObject(webdataset(), concat(a, a.subarray(1024), b));
    expect(samples.map(({ name }) => name)).toEqual(['b']);
  });

  it('of gzip is told of once', async () => {
    const shard = encodeTar([sample('a', { txt: '' })], { compression: 'gzip' });
    expect(await messages(shard.subarray(0, -3))).toEqual([0, expect.stringContaining('not whole as gzip')]);
    expect(await messages(zlib.gzipSync(a))).toEqual([0, expect.stringContaining('its end is missing')]);
  });

  it.each<[string, Uint8Array]>([
    ['nothing', new Uint8Array(0)],
    ['no file of a sample', member({ path: 'README' })],
    ['two samples', concat(a, member({ path: 'b.txt' }))],
    ['an end', END],
    ['part of a header', a.subarray(0, 100)],
  ])('is a record that has %s', (_, bytes) => {
    expect(() => webdataset().decode({ key: 'o', offset: 7, bytes })).toThrow(/^o, byte \d+: tar: /);
  });
});
