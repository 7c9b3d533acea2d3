import { someBytes } from '@tiered/core/testing';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** The folders of MosaicML Streaming's own files, which say what is in them. */
const SHARDS = path.join(import.meta.dirname, '../../packages/formats/test/data/mds_source/plain');

const IMAGES = Array.from({ length: 40 }, (_, i) => `images/${String(i).padStart(3, '0')}.bin`);
/** Its name has what clients encode in several ways, its size takes them several requests. */
const ODD = 'odd/a b+c&é%25;=.txt';
const LARGE = 'large.bin';
const LARGE_BYTES = 20 * 1024 * 1024 + 3;

/** Where the parts begin that scripts read of the large object, and how long they are. */
const PARTS = [
  [0, 1],
  [1000, 4096],
  [8 * 1024 * 1024 - 3, 7],
  [LARGE_BYTES - 5, 5],
] as const;

/** What all scripts in `clients` read. `tables` is the directory of what `make.py` has made. */
export async function objectsOf(tables: string): Promise<Map<string, Uint8Array>> {
  const objects = new Map<string, Uint8Array>([
    ['empty', new Uint8Array()],
    [LARGE, someBytes(LARGE_BYTES, 1)],
    [ODD, someBytes(1234, 2)],
    ['images/deeper/still.bin', someBytes(99, 3)],
    ...IMAGES.map((key, i) => [key, someBytes(1 + i * 997, i)] as const),
  ]);
  for (const [prefix, directory] of Object.entries({ tables, mds: SHARDS }))
    for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = path.join(entry.parentPath, entry.name);
      objects.set(path.join(prefix, path.relative(directory, file)), await readFile(file));
    }
  return objects;
}

/** What each way of a script has to give, whatever the client. */
export function expectedOf(objects: ReadonlyMap<string, Uint8Array>): Record<string, unknown> {
  const keys = [...objects.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const bytes = (key: string) => objects.get(key) ?? new Uint8Array();
  const parts = PARTS.map(([start, length]) => digest(bytes(LARGE).subarray(start, start + length)));
  const read = ['empty', 'images/007.bin', LARGE, ODD];
  const images = keys.filter((key) => key.startsWith('images/'));
  const rows = [100_000, 949_995_000, 'row 54321'];
  return {
    keys,
    names: keys,
    sizes: keys.map((key) => bytes(key).byteLength),
    etags: keys.map(() => true),
    folders: ['images/', 'mds/', 'odd/', 'tables/'],
    heads: read.map((key) => bytes(key).byteLength),
    wholes: Object.fromEntries(read.map((key) => [key, digest(bytes(key))])),
    large: digest(bytes(LARGE)),
    parts,
    partsAtOnce: parts,
    part: parts[2],
    synced: [Object.fromEntries(images.map((key) => [key.slice('images/'.length), digest(bytes(key))])), ''],
    rows,
    dataset: rows,
    dask: rows,
    csv: 1000,
    nearest: [7, 8, 6],
    images: images.map((key) => digest(bytes(key))).sort(),
    samples: Array.from({ length: 12 }, (_, i) => [i, `text ${i}`]),
  };
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
