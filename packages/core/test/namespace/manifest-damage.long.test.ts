import fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { isTieredError } from '@tiered/core';
import { saveManifest } from '@tiered/core/internal';
import { withCode } from '../helpers.js';
import { containerOf, entriesOf, FIELD, IDENTITY, load, place, save, seal } from './manifests.js';
import { stat } from './namespaces.js';

const damaged = withCode('TIERED_DATA_CORRUPT');
const entries = [stat('a', 1, 'v1'), stat('\u8a13\u7df4', 2 ** 40, 'v2'), stat('c', 0, '')];

/** A small manifest, and a way to load what was made of it. */
async function manifest() {
  const file = await place();
  await save(containerOf(entries), file);
  const bytes = await fs.readFile(file);
  expect((await seal(bytes)).equals(bytes)).toBe(true);
  const loadBytes = async (changed: Uint8Array) => {
    await fs.writeFile(file, changed);
    return load(file);
  };
  return { file, bytes, loadBytes };
}

describe('a damaged manifest is refused', () => {
  it('whichever bit of it is flipped', async () => {
    const { bytes, loadBytes } = await manifest();
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      await expect(loadBytes(changed), `bit ${bit}`).rejects.toEqual(damaged);
    }
  });

  it('wherever it is cut short, and if there is more of it', async () => {
    const { bytes, loadBytes } = await manifest();
    for (let length = 0; length < bytes.length; length++)
      await expect(loadBytes(bytes.subarray(0, length)), `${length} bytes`).rejects.toEqual(damaged);
    await expect(loadBytes(Buffer.concat([bytes, Buffer.alloc(1)]))).rejects.toEqual(damaged);
    expect(entriesOf(await loadBytes(bytes)).map(({ key }) => key)).toEqual(['a', '\u8a13\u7df4', 'c']);
  });

  it('if a section of an older one is in it', async () => {
    const { file, bytes, loadBytes } = await manifest();
    await save(containerOf(entries.map((entry) => ({ ...entry, size: entry.size + 1 }))), file);
    const older = await fs.readFile(file);
    const sizes = bytes.readUInt32LE(FIELD.headerBytes) + 4 * entries.length;
    const mixed = Buffer.from(bytes);
    older.copy(mixed, sizes, sizes, sizes + 8 * entries.length);
    expect(mixed.equals(bytes)).toBe(false);
    await expect(loadBytes(mixed)).rejects.toEqual(damaged);
  });

  it('if it is something else: another file, a directory, a pipe', async () => {
    const { file, loadBytes } = await manifest();
    await expect(loadBytes(Buffer.from('{"objects": []}'.repeat(100)))).rejects.toEqual(damaged);
    await expect(loadBytes(Buffer.alloc(10_000))).rejects.toEqual(damaged);
    await fs.rm(file);
    await fs.mkdir(file);
    await expect(load(file)).rejects.toEqual(damaged);
    await fs.rmdir(file);
    if (spawnSync('mkfifo', [file]).status === 0) await expect(load(file)).rejects.toEqual(damaged);
  });
});

describe('a manifest whose checksums are right', () => {
  it('is refused as one of another format, if its format is another', async () => {
    const { bytes, loadBytes } = await manifest();
    const newer = Buffer.from(bytes);
    newer.writeUInt32LE(2, FIELD.format);
    await expect(loadBytes(await seal(newer))).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });

  it.each<[string, (bytes: Buffer, sections: number) => void]>([
    ['more entries than there are', (bytes) => bytes.writeBigUInt64LE(4n, FIELD.count)],
    ['fewer entries than there are', (bytes) => bytes.writeBigUInt64LE(2n, FIELD.count)],
    ['as many entries as there are numbers', (bytes) => bytes.writeBigUInt64LE(2n ** 64n - 1n, FIELD.count)],
    ['endless records', (bytes) => bytes.writeBigUInt64LE(2n ** 63n, FIELD.recordBytes)],
    ['an endless identity', (bytes) => bytes.writeUInt32LE(2 ** 32 - 1, FIELD.identityBytes)],
    ['no sections', (bytes) => bytes.writeUInt32LE(0, FIELD.sections)],
    ['endless sections', (bytes) => bytes.writeUInt32LE(2 ** 32 - 1, FIELD.sections)],
    ['a record outside', (bytes, sections) => bytes.writeUInt32LE(2 ** 32 - 1, sections)],
    ['a record that begins at the end', (bytes, sections) => bytes.writeUInt32LE(18, sections)],
    ['a record that begins in another', (bytes, sections) => bytes.writeUInt32LE(1, sections)],
    ['one record for two entries', (bytes, sections) => bytes.writeUInt32LE(0, sections + 4)],
    ['a record of another id', (bytes, sections) => bytes.writeUInt32LE(7, sections + 36)],
    ['a negative size', (bytes, sections) => bytes.writeDoubleLE(-2, sections + 12)],
    ['half a byte', (bytes, sections) => bytes.writeDoubleLE(0.5, sections + 12)],
    ['a size that is no number', (bytes, sections) => bytes.writeDoubleLE(NaN, sections + 12)],
    ['a key that never ends', (bytes, sections) => bytes.writeUInt16LE(0xffff, sections + 36 + 4)],
    ['a version longer than its room', (bytes, sections) => bytes.writeUInt16LE(6, sections + 36 + 6)],
    ['a room that never ends', (bytes, sections) => bytes.writeUInt16LE(0xffff, sections + 36 + 8)],
    ['two entries of one key', (bytes, sections) => bytes.write('c', sections + 36 + 10)],
  ])('is refused with %s', async (_, change) => {
    const { bytes, loadBytes } = await manifest();
    const changed = Buffer.from(bytes);
    change(changed, bytes.readUInt32LE(FIELD.headerBytes));
    await expect(loadBytes(await seal(changed))).rejects.toEqual(damaged);
  });

  it('is refused with records that end where none can', async () => {
    const { bytes, loadBytes } = await manifest();
    const changed = Buffer.from(bytes.subarray(0, -2));
    changed.writeBigUInt64LE(changed.readBigUInt64LE(FIELD.recordBytes) - 2n, FIELD.recordBytes);
    await expect(loadBytes(await seal(changed))).rejects.toEqual(damaged);
  });

  it('is refused or can be used, whatever is in it', async () => {
    const { bytes, loadBytes } = await manifest();
    const change = fc.record({ at: fc.nat({ max: bytes.length - 1 }), to: fc.nat({ max: 255 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
        const changed = Buffer.from(bytes);
        for (const { at, to } of changes) changed[at] = to;
        const container = await loadBytes(await seal(changed)).catch((error: unknown) => {
          if (isTieredError(error, 'TIERED_CONFIG_INVALID')) return undefined;
          expect(error).toEqual(damaged);
          return undefined;
        });
        if (container === undefined) return;
        for (const [id, { key }] of entriesOf(container).entries()) expect(container.find(key)).toBe(id);
        for (const entry of entries) container.put({ ...entry, version: 'another' });
        expect(container.put(stat('new', 1))).toBe(container.count - 1);
      }),
      { numRuns: 500 },
    );
  });

  it('is refused for its identity before its content is read', async () => {
    const { file, loadBytes } = await manifest();
    await saveManifest(containerOf(entries), file, { identity: `${IDENTITY}/other` });
    const bytes = await fs.readFile(file);
    const end = bytes.readUInt32LE(FIELD.headerBytes);
    await expect(loadBytes(bytes.subarray(0, end))).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
  });
});
