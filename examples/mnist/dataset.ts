import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isTieredError } from '@tiered/core';
import { decodeExample, encodeExample, encodeRecords, readRecords } from '@tiered/formats/tfrecord';
import { DemoError } from './errors.js';
import { readMnist, type Digits } from './mnist.js';

/** Raise it when the bytes of the shards change: datasets of another version are made anew. */
const VERSION = 1;
/** So that 16 % and 40 % of the data are whole numbers of shards. */
const SHARDS = 50;
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/tiered-demo/', import.meta.url));

/** The dataset as TFRecord shards in a directory of its own. */
export interface Dataset {
  readonly directory: string;
  /** Bytes of each shard, by file name. */
  readonly files: Readonly<Record<string, number>>;
  readonly shards: number;
  readonly samples: number;
  readonly bytes: number;
}

/** A training sample out of a shard. */
export interface Sample {
  /** Unique; of one length for all, so that all shards have the same size. */
  readonly id: string;
  readonly image: Uint8Array;
  readonly label: number;
}

interface Manifest {
  readonly version: number;
  /** Bytes of each shard, by file name. */
  readonly files: Readonly<Record<string, number>>;
}

/** Names the dataset in a place where there may be others, of other sizes and versions. */
export function datasetName(samples: number): string {
  return `mnist-${samples}-v${VERSION}`;
}

/**
 * Finds the shards of the first `samples` digits, or makes them: once, kept between runs, and put in place in
 * one step, so that a run that was killed leaves nothing that looks like a dataset.
 */
export async function prepareDataset(samples: number, signal: AbortSignal): Promise<Dataset> {
  const home = path.join(CACHE, `mnist-${samples}`);
  const manifest = (await validManifest(home)) ?? (await build(home, samples, signal));
  const sizes = Object.values(manifest.files);
  return {
    directory: path.join(home, 'shards'),
    files: manifest.files,
    shards: sizes.length,
    samples,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
  };
}

/** The samples of a shard, in the order in which they were written. Images are views into it. */
export function readShard(shard: Uint8Array): Sample[] {
  try {
    return Array.from(readRecords(shard), toSample);
  } catch (cause) {
    if (!isTieredError(cause, 'TIERED_DATA_CORRUPT')) throw cause;
    throw new DemoError(`${cause.code}: the shards are damaged; remove ${CACHE} and run again.`, { cause });
  }
}

function toSample(record: Uint8Array): Sample {
  const features = decodeExample(record);
  const id = features.get('id');
  const image = features.get('image');
  const label = features.get('label');
  const idBytes = id?.kind === 'bytes' ? id.values[0] : undefined;
  const pixels = image?.kind === 'bytes' ? image.values[0] : undefined;
  const digit = label?.kind === 'int64' ? label.values[0] : undefined;
  if (idBytes === undefined || pixels === undefined || digit === undefined) {
    throw new DemoError(`A record is not one of this demo; remove ${CACHE} and run again.`);
  }
  return { id: Buffer.from(idBytes).toString('latin1'), image: pixels, label: Number(digit) };
}

/** What the manifest says, if the shards are there as it says. */
async function validManifest(home: string): Promise<Manifest | undefined> {
  try {
    const manifest = JSON.parse(await readFile(path.join(home, 'manifest.json'), 'utf8')) as Manifest;
    if (manifest.version !== VERSION) return undefined;
    const names = await readdir(path.join(home, 'shards'));
    if (names.length !== Object.keys(manifest.files).length) return undefined;
    for (const name of names) {
      const { size } = await stat(path.join(home, 'shards', name));
      if (size !== manifest.files[name]) return undefined;
    }
    return manifest;
  } catch {
    // Whatever is wrong with it, making it anew mends it, or fails with the reason.
    return undefined;
  }
}

async function build(home: string, samples: number, signal: AbortSignal): Promise<Manifest> {
  const digits = await readMnist('train', signal);
  await mkdir(CACHE, { recursive: true });
  const building = await mkdtemp(`${home}-unfinished-`);
  try {
    await mkdir(path.join(building, 'shards'));
    const files: Record<string, number> = {};
    for (let shard = 0; shard < SHARDS; shard++) {
      const name = `train-${padded(shard)}-of-${padded(SHARDS)}.tfrecord`;
      const bytes = encodeShard(digits, shard, samples / SHARDS);
      await writeFile(path.join(building, 'shards', name), bytes, { signal });
      files[name] = bytes.byteLength;
    }
    const manifest: Manifest = { version: VERSION, files };
    await writeFile(path.join(building, 'manifest.json'), JSON.stringify(manifest, undefined, 2));
    return await putInPlace(building, home, manifest);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}

/** Another run may have made the same dataset in the meantime; then that one counts. */
async function putInPlace(building: string, home: string, manifest: Manifest): Promise<Manifest> {
  const theirs = await validManifest(home);
  if (theirs !== undefined) return theirs;
  await rm(home, { recursive: true, force: true });
  await rename(building, home);
  return manifest;
}

function encodeShard(digits: Digits, shard: number, samples: number): Uint8Array {
  const first = shard * samples;
  const indices = Array.from({ length: samples }, (_, i) => first + i);
  return encodeRecords(
    indices.map((index) =>
      encodeExample({
        id: { kind: 'bytes', values: [Buffer.from(`train-${padded(index)}`, 'latin1')] },
        image: { kind: 'bytes', values: [digits.image(index)] },
        label: { kind: 'int64', values: [BigInt(digits.label(index))] },
      }),
    ),
  );
}

function padded(index: number): string {
  return String(index).padStart(5, '0');
}
