import { Hierarchy, Random } from '@tiered/core';
import { openSamples, type SampleSet } from '@tiered/formats';
import { rawRecords } from '@tiered/formats/raw';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

const SHARDS = 16;
export const CLASSES = 10;

/** Images in shards: records of a label and pixels, a byte each. */
export interface Images {
  readonly name: string;
  readonly files: readonly string[];
  readonly count: number;
  readonly pixels: number;
  readonly recordBytes: number;
  /** The same, through a hierarchy. */
  readonly samples: SampleSet<Uint8Array>;
}

/** Writes images of a pattern, with labels by chance. Whoever asked closes the hierarchy of the samples. */
export async function makeImages(
  scratch: string,
  name: string,
  count: number,
  pixels: number,
): Promise<Images> {
  const directory = path.join(scratch, name);
  await mkdir(directory);
  const recordBytes = 1 + pixels;
  const random = new Random(1);
  const files: string[] = [];
  for (let shard = 0; shard < SHARDS; shard++) {
    const bytes = Buffer.alloc((count / SHARDS) * recordBytes);
    for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 31 + (at >> 8)) & 255;
    for (let at = 0; at < bytes.length; at += recordBytes) bytes[at] = random.below(CLASSES);
    const file = path.join(directory, String(shard).padStart(2, '0'));
    await writeFile(file, bytes);
    files.push(file);
  }
  const hierarchy = await new Hierarchy({ source: new FileSystemDriver({ root: directory }) }).open();
  const samples = await openSamples(hierarchy, { format: rawRecords({ recordBytes }) });
  return { name, files, count, pixels, recordBytes, samples };
}

/** Writes pixels from 0 to 1 and a label into arrays, at the place of a sample. */
export function decode(record: Uint8Array, place: number, xs: Float32Array, ys: Float32Array): void {
  const pixels = record.length - 1;
  const first = place * pixels;
  for (let i = 0; i < pixels; i++) xs[first + i] = (record[1 + i] ?? 0) / 255;
  ys[place * CLASSES + (record[0] ?? 0)] = 1;
}
