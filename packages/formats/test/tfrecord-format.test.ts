import {
  decodeExample,
  decodeSequenceExample,
  encodeRecords,
  tfrecord,
  type Feature,
  type TfrecordOptions,
} from '@tiered/formats/tfrecord';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { anyDamage, flipBit } from './bytes.js';
import { memoryObject, readObject, samplesOf } from './read-object.js';
import { featuresOf, tensorflowContent } from './tensorflow-content.js';

const COMPRESSIONS = ['none', 'gzip', 'zlib'] as const;
const anyRecords = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 });
const anyCompression = fc.constantFrom(...COMPRESSIONS);

const file = (name: string) => fs.readFileSync(path.join(import.meta.dirname, 'data', 'tfrecord', name));
const asLists = (samples: readonly Uint8Array[]) => samples.map((sample) => [...sample]);
const messagesOf = (errors: readonly Error[]) => errors.map(({ message }) => message);

describe('tfrecord, files of TensorFlow', () => {
  it.each([
    ['plain', 'none'],
    ['gzip', 'gzip'],
    ['zlib', 'zlib'],
  ] as const)('reads %s', async (name, compression) => {
    const expected = tensorflowContent.examples.map(featuresOf);
    for (const options of [{}, { compression }]) {
      const samples = await samplesOf(tfrecord(options), file(`${name}.tfrecord`));
      expect(samples.map((sample) => decodeExample(sample))).toEqual(expected);
    }
  });

  it('reads sequences', async () => {
    const samples = await samplesOf(tfrecord(), file('sequences.tfrecord'));
    const expected = tensorflowContent.sequences.map(({ context, lists }) => ({
      context: featuresOf(context),
      featureLists: new Map(
        Object.entries(lists).map(([name, steps]) => [
          name,
          steps.map((step): Feature | undefined => featuresOf({ step }).get('step')),
        ]),
      ),
    }));
    expect(samples.map((sample) => decodeSequenceExample(sample))).toEqual(expected);
  });
});

describe('tfrecord, what was written here', () => {
  it('is found and decoded, compressed or not', () =>
    fc.assert(
      fc.asyncProperty(anyRecords, anyCompression, async (records, compression) => {
        const { table, samples, damage, refused } = await readObject(
          tfrecord(),
          encodeRecords(records, { compression }),
        );
        expect(asLists(samples)).toEqual(asLists(records));
        expect([...damage, ...refused]).toEqual([]);
        const single = compression === 'none' ? records.length : Math.min(1, records.length);
        expect(table.offsets).toHaveLength(single);
      }),
    ));

  it('gives views of the record', async () => {
    const shard = encodeRecords([Uint8Array.of(1, 2)]);
    const [sample] = await tfrecord().decode({ key: 'a', offset: 0, bytes: shard });
    expect([sample?.buffer, sample?.byteOffset]).toEqual([shard.buffer, 12]);
  });

  it('may have a length that looks like gzip', async () => {
    const record = new Uint8Array(0x08_8b_1f);
    const shard = encodeRecords([record]);
    expect([...shard.subarray(0, 3)]).toEqual([0x1f, 0x8b, 8]);
    expect((await samplesOf(tfrecord(), shard)).map(({ byteLength }) => byteLength)).toEqual([0x08_8b_1f]);
  });
});

describe('tfrecord, what an index reads', () => {
  it('is little where records are large', async () => {
    const shard = encodeRecords(Array.from({ length: 5 }, () => new Uint8Array(300_000)));
    const { reads, samples } = await readObject(tfrecord(), shard);
    expect(samples).toHaveLength(5);
    expect(reads).toHaveLength(5);
    for (const { length } of reads) expect(length).toBeLessThanOrEqual(16 * 1024);
  });

  it('is pieces of up to 1 MiB where they are small', async () => {
    const shard = encodeRecords(Array.from({ length: 300 }, () => new Uint8Array(10_000)));
    const { reads, samples } = await readObject(tfrecord(), shard);
    expect(samples).toHaveLength(300);
    // 16, 32, ... KiB, and then 1 MiB each.
    expect(reads.length).toBeLessThan(10);
    expect(Math.max(...reads.map(({ length }) => length))).toBe(1024 * 1024);
  });

  it('ends with an abort, before the next read', async () => {
    const noise = Uint8Array.from({ length: 300_000 }, (_, i) => Math.imul(i * i, 2654435761) >>> 24);
    const shard = encodeRecords(Array.from({ length: 5 }, () => noise));
    for (const bytes of [shard, encodeRecords([noise], { compression: 'gzip' })]) {
      const object = memoryObject(bytes);
      const controller = new AbortController();
      const reason = new Error('enough');
      const read = (offset: number, length: number) => {
        controller.abort(reason);
        return object.read(offset, length);
      };
      const options = { signal: controller.signal, onDamage: () => undefined };
      await expect(tfrecord().index({ ...object, read }, options)).rejects.toBe(reason);
      expect(object.reads).toHaveLength(1);
    }
  });

  it('is not what an object lacks that became shorter', async () => {
    const shard = encodeRecords([new Uint8Array(20), new Uint8Array(20)]);
    const object = { ...memoryObject(shard.subarray(0, 40)), size: shard.byteLength };
    const damage: Error[] = [];
    const { offsets } = await tfrecord().index(object, { onDamage: (error) => damage.push(error) });
    expect(offsets).toHaveLength(1);
    expect(messagesOf(damage)).toEqual([expect.stringContaining('byte 36: TFRecord: its header is cut off')]);
  });
});

/** Whether the samples are some of these, in their order. */
function isSubsequence(samples: readonly Uint8Array[], all: readonly Uint8Array[]): boolean {
  let at = 0;
  for (const sample of samples) {
    while (at < all.length && Buffer.compare(sample, all[at] ?? sample) !== 0) at++;
    if (at++ >= all.length) return false;
  }
  return true;
}

describe('tfrecord, damage', () => {
  it('gives right samples or an error for whatever happens to the bytes', () =>
    fc.assert(
      fc.asyncProperty(anyRecords, anyCompression, anyDamage, async (records, compression, damaged) => {
        const bytes = damaged(encodeRecords(records, { compression }));
        const { samples } = await readObject(tfrecord(), bytes);
        expect(isSubsequence(samples, records)).toBe(true);
      }),
      { numRuns: 500 },
    ));

  it('tells of every flipped bit, and gives the records before it', async () => {
    const records = [Uint8Array.of(7, 0, 255), new Uint8Array(0), Uint8Array.of(1)];
    const shard = encodeRecords(records);
    for (let bit = 0; bit < shard.byteLength * 8; bit++) {
      const { samples, damage, refused } = await readObject(tfrecord(), flipBit(shard, bit));
      expect(damage.length + refused.length, `bit ${bit}`).toBeGreaterThan(0);
      expect(isSubsequence(samples, records)).toBe(true);
    }
  });

  it('of data is found when it is decoded, unless that is not wanted', async () => {
    const shard = flipBit(encodeRecords([Uint8Array.of(1), Uint8Array.of(2)]), 12 * 8);
    const { samples, refused } = await readObject(tfrecord(), shard);
    expect(asLists(samples)).toEqual([[2]]);
    expect(messagesOf(refused)).toEqual([
      expect.stringMatching(/^object, byte 0: .*checksum of its 1 bytes/),
    ]);
    expect(asLists(await samplesOf(tfrecord({ verify: false }), shard))).toEqual([[0], [2]]);
  });

  it('of a length ends the table, or fails it', async () => {
    const shard = flipBit(encodeRecords([Uint8Array.of(1), Uint8Array.of(2)]), 17 * 8);
    const { samples, damage } = await readObject(tfrecord(), shard);
    expect(asLists(samples)).toEqual([[1]]);
    expect(messagesOf(damage)).toEqual([
      expect.stringContaining('byte 17: TFRecord: the checksum of its length'),
    ]);
    await expect(samplesOf(tfrecord(), shard)).rejects.toThrow('the checksum of its length');
  });

  it('inside of a compressed shard leaves the samples before it', async () => {
    const shard = flipBit(encodeRecords([Uint8Array.of(1), Uint8Array.of(2)]), 17 * 8);

    const { samples, damage } = await readObject(tfrecord(), zlib.gzipSync(shard));
    expect(asLists(samples)).toEqual([[1]]);
    expect(messagesOf(damage)).toEqual([expect.stringContaining('Decompressed: object, byte 17')]);
  });

  it.each(['gzip', 'zlib'] as const)('of %s is told of once, with no samples', async (compression) => {
    const shard = encodeRecords([new Uint8Array(100)], { compression });
    for (const bytes of [
      shard.subarray(0, -1),
      Buffer.concat([shard, Buffer.from([0])]),
      flipBit(shard, shard.byteLength * 8 - 1),
    ]) {
      const { samples, damage } = await readObject(tfrecord(), bytes);
      expect([samples.length, damage.length]).toEqual([0, 1]);
    }
  });

  it('is what decompresses to more than maxBytes', async () => {
    const shard = encodeRecords([new Uint8Array(1_000_000)], { compression: 'gzip' });
    const { samples, damage } = await readObject(tfrecord({ maxBytes: '900 kB' }), shard);
    expect(samples).toEqual([]);
    expect(messagesOf(damage)).toEqual([
      expect.stringContaining('more than the 900000 bytes that maxBytes allows'),
    ]);
    const record = { key: 'a', offset: 0, bytes: shard };
    await expect(tfrecord({ maxBytes: 10 }).decode(record)).rejects.toThrow('maxBytes');
    expect(await samplesOf(tfrecord({ maxBytes: 1_000_016 }), shard)).toHaveLength(1);
  });

  it('is a record that is not as long as the index says', async () => {
    const bytes = encodeRecords([Uint8Array.of(1), Uint8Array.of(2)]);
    expect(() => tfrecord().decode({ key: 'a', offset: 5, bytes })).toThrow(
      'a, byte 5: TFRecord: it has 17 bytes',
    );
  });
});

describe('tfrecord, options', () => {
  it.each<[string, object]>([
    ['compression', { compression: 'brotli' }],
    ['maxBytes', { maxBytes: 'much' }],
  ])('refuses %s that cannot work', (name, options) => {
    expect(() => tfrecord(options as TfrecordOptions)).toThrow(name);
  });

  it('says all of them, as they apply', () => {
    expect(tfrecord().options).toEqual({ compression: 'auto', maxBytes: 2 ** 30, verify: true });
  });
});
