// @ts-check
import fs from 'node:fs';
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { COLUMNS, FIRST } from './batch.js';
import { OPEN_FLAGS, readFullyBlocking, versionOf } from './file-calls.js';
import { KnownInodes } from './known-inodes.js';

/**
 * A reader thread: reads whole batches by blocking calls, which on files in memory is several times as fast as to have
 * each call made by Node's thread pool. It explains nothing: whatever is not read as it must be, the driver reads
 * again, and finds out why.
 */

const { root } = /** @type {{ readonly root: string }} */ (workerData);
const inodes = new KnownInodes(root);

/**
 * Reads a file of the root; returns the bytes read, fewer than asked for only at its end.
 *
 * @param {string} name
 * @param {string} version Empty for any.
 * @param {Uint8Array} target
 * @param {number} position
 * @returns {number}
 * @throws whatever went wrong.
 */
function read(name, version, target, position) {
  const fd = fs.openSync(root + path.sep + name, OPEN_FLAGS);
  try {
    const stat = fs.fstatSync(fd);
    // Before anything is read: what is outside must not be touched.
    if (!stat.isFile() || !inodes.has(fd, stat)) throw new Error('not a file of the root');
    const count = readFullyBlocking({ fd, size: stat.size }, target, position);
    // Afterwards, because a file may be changed while it is read.
    if (version !== '' && versionOf(fs.fstatSync(fd, { bigint: true })) !== version)
      throw new Error('another version');
    return count;
  } finally {
    fs.closeSync(fd);
  }
}

/** @param {import('./batch.js').Batch} batch */
function readAll({ numbers, names, versions, memories }) {
  const table = new Float64Array(numbers);
  const wanted = versions.split('\0');
  let at = FIRST;
  for (const [index, name] of names.split('\0').entries()) {
    // Nobody waits for it any more.
    if (table[0] !== 0) return;
    try {
      const memory = memories[table[at + 1] ?? 0] ?? new SharedArrayBuffer(0);
      const target = new Uint8Array(memory, table[at + 2], table[at + 3]);
      if (name !== '') table[at] = read(name, wanted[index] ?? '', target, table[at + 4] ?? 0);
    } catch {
      // It stays unread.
    }
    at += COLUMNS;
  }
}

parentPort?.on('message', (/** @type {import('./batch.js').Batch} */ batch) => {
  const start = performance.now();
  readAll(batch);
  parentPort?.postMessage(performance.now() - start);
});
