import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Random } from '@tiered/core';

/** Bytes of a piece of a shard: what a TFRecord reader asks for at a time. */
export const PIECE_BYTES = 256 * 1024;

const MIB = 1024 * 1024;
const SEED = 1;

/** An object of a dataset, known before it is read. */
export interface DataObject {
  readonly index: number;
  readonly key: string;
  /** Bytes. */
  readonly size: number;
}

/** Objects as files of a directory. */
export interface Dataset {
  readonly directory: string;
  readonly objects: readonly DataObject[];
  /** Sum of the objects' sizes. */
  readonly bytes: number;
}

/** Large files, each read in pieces. */
export async function makeShards(directory: string, quick: boolean): Promise<Dataset> {
  const size = (quick ? 4 : 16) * MIB;
  const objects = Array.from({ length: quick ? 6 : 48 }, (_, index) => ({
    index,
    key: `train-${padded(index)}.tfrecord`,
    size,
  }));
  return write(directory, objects);
}

/** Files of 80 to 120 kB in a hundred directories, as images are kept; each is read whole. */
export async function makeSmallFiles(directory: string, quick: boolean): Promise<Dataset> {
  const random = new Random(SEED);
  const objects = Array.from({ length: quick ? 200 : 6000 }, (_, index) => ({
    index,
    key: `class-${padded(index % 100)}/${padded(index)}.jpg`,
    size: 80_000 + random.below(40_001),
  }));
  return write(directory, objects);
}

/** The objects in the order of an epoch: another one in each, and the same in every run. */
export function shuffled({ objects }: Dataset, epoch: number): DataObject[] {
  return Array.from(new Random(SEED, epoch).permutation(objects.length), (i) => objects[i] as DataObject);
}

/**
 * Looks whether a piece that was read is the one that was asked for: each begins with its object and its
 * offset.
 * @throws Error if it is another one, or is too short.
 */
export function assertPiece(object: DataObject, offset: number, bytes: Uint8Array, expected: number): void {
  const stamp = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sound =
    bytes.byteLength === expected &&
    stamp.getUint32(0, true) === object.index &&
    stamp.getUint32(4, true) === offset;
  if (!sound) throw new Error(`${object.key}: wrong bytes at offset ${offset}, ${bytes.byteLength} of them`);
}

async function write(directory: string, objects: readonly DataObject[]): Promise<Dataset> {
  const content = randomBytes(Math.max(...objects.map(({ size }) => size)));
  for (const { index, key, size } of objects) {
    for (let offset = 0; offset < size; offset += PIECE_BYTES) {
      content.writeUint32LE(index, offset);
      content.writeUint32LE(offset, offset + 4);
    }
    const file = path.join(directory, key);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content.subarray(0, size));
  }
  return { directory, objects, bytes: objects.reduce((sum, { size }) => sum + size, 0) };
}

function randomBytes(length: number): Buffer {
  const random = new Random(SEED);
  return Buffer.from(Uint32Array.from({ length: Math.ceil(length / 4) }, () => random.uint32()).buffer);
}

function padded(index: number): string {
  return String(index).padStart(5, '0');
}
