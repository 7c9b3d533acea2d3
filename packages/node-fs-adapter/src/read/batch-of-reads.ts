import type { ReadRequest } from '@tiered/core/driver';
import { problemOf } from '../root/keys.js';
import { COLUMNS, FIRST, NOT_READ, type Batch } from './thread/batch.js';

const POSSIBLE_VERSION = /^[\w-]+$/;

/** Puts reads into the form in which they go to a worker thread. All targets are in shared memory. */
export function batchOf(requests: readonly ReadRequest[]): Batch {
  const memories = [...new Set(requests.map(({ target }) => target.buffer as SharedArrayBuffer))];
  return { numbers: numbersOf(requests, memories), ...textsOf(requests), memories };
}

/** Returns the bytes that each read gave, or `NOT_READ` if the driver has to make it again. */
export function countsOf({ numbers }: Batch, reads: number): number[] {
  const table = new Float64Array(numbers);
  return Array.from({ length: reads }, (_, i) => table[FIRST + i * COLUMNS] ?? NOT_READ);
}

function numbersOf(
  requests: readonly ReadRequest[],
  memories: readonly SharedArrayBuffer[],
): SharedArrayBuffer {
  const bytes = (FIRST + requests.length * COLUMNS) * Float64Array.BYTES_PER_ELEMENT;
  const numbers = new Float64Array(new SharedArrayBuffer(bytes));
  let at = FIRST;
  for (const { target, offset } of requests) {
    numbers[at] = NOT_READ;
    numbers[at + 1] = memories.indexOf(target.buffer as SharedArrayBuffer);
    numbers[at + 2] = target.byteOffset;
    numbers[at + 3] = target.byteLength;
    numbers[at + 4] = offset;
    at += COLUMNS;
  }
  return numbers.buffer;
}

/**
 * The texts of a batch. Keys that name no file, and versions that none has, are left to the driver, which
 * says so.
 */
function textsOf(requests: readonly ReadRequest[]): Pick<Batch, 'names' | 'versions'> {
  const names: string[] = [];
  const versions: string[] = [];
  for (const { key, version } of requests) {
    const possible =
      problemOf(key) === undefined && (version === undefined || POSSIBLE_VERSION.test(version));
    names.push(possible ? key : '');
    versions.push(possible ? (version ?? '') : '');
  }
  return { names: names.join('\0'), versions: versions.join('\0') };
}
