import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { loadChecksum, loadManifest, saveManifest } from '@tiered/core/internal';
import { MetadataContainer, type ObjectStat } from '@tiered/core';
import { SOURCE } from './namespaces.js';

export const IDENTITY = 'fs:/data';

/** A path in a new directory, which holds nothing else and goes when the test ends. */
export async function place(): Promise<string> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  return path.join(directory, 'manifest');
}

export function containerOf(objects: Iterable<ObjectStat>): MetadataContainer {
  const container = new MetadataContainer(SOURCE);
  for (const object of objects) container.put(object);
  return container;
}

export function save(container: MetadataContainer, file: string, signal?: AbortSignal): Promise<void> {
  return saveManifest(container, file, { identity: IDENTITY, signal });
}

export function load(file: string, signal?: AbortSignal): Promise<MetadataContainer> {
  return loadManifest(file, SOURCE, { identity: IDENTITY, signal });
}

/** All entries, in the order of their ids. */
export function entriesOf(container: MetadataContainer): ReturnType<MetadataContainer['describe']>[] {
  return Array.from({ length: container.count }, (_, id) => container.describe(id));
}

/** Where the fields of a header are, as manifest-header.ts says. */
export const FIELD = {
  format: 8,
  headerBytes: 12,
  count: 16,
  recordBytes: 24,
  identityBytes: 32,
  sections: 36,
};

/** Makes the checksums of a manifest right again, as far as its fields still say where they are. */
export async function seal(bytes: Buffer): Promise<Buffer> {
  const checksum = await loadChecksum();
  const sealed = Buffer.from(bytes);
  const end = sealed.readUInt32LE(FIELD.headerBytes);
  const count = Number(sealed.readBigUInt64LE(FIELD.count));
  const lengths = [4 * count, 8 * count, Number(sealed.readBigUInt64LE(FIELD.recordBytes))];
  let [at, sum] = [end, 40 + sealed.readUInt32LE(FIELD.identityBytes)];
  for (const length of lengths) {
    if (at + length > sealed.length || sum + 8 > end - 8) break;
    sealed.writeBigUInt64LE(checksum.bytes(sealed.subarray(at, at + length)), sum);
    at += length;
    sum += 8;
  }
  if (end >= 8 && end <= sealed.length)
    sealed.writeBigUInt64LE(checksum.bytes(sealed.subarray(0, end - 8)), end - 8);
  return sealed;
}
