// @ts-check
import fs from 'node:fs';
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { ABANDONED, COLUMNS, FIRST, stateOf } from './batch.js';
import { OPEN_FLAGS, sizeIn, versionOf } from './file-calls.js';
import { insideOf } from './inside.js';
import { Targets } from './targets.js';

/**
 * A reader thread: reads whole batches by blocking calls, which on files in memory is several times as fast
 * as to have each call made by Node's thread pool. It explains nothing: whatever is not read as it must be,
 * the driver reads again, and finds out why.
 */

const { root, mayHang } = /** @type {{ readonly root: string; readonly mayHang: boolean }} */ (workerData);
const isFileInside = insideOf(root);
const targets = new Targets(mayHang);

/**
 * Reads a file of the root; returns the bytes read, fewer than asked for only at its end.
 *
 * @param {Int32Array} state Of the batch.
 * @param {string} name
 * @param {string} version Empty for any.
 * @param {Uint8Array} target
 * @param {number} position
 * @returns {number}
 * @throws whatever went wrong.
 */
function read(state, name, version, target, position) {
  const fd = fs.openSync(root + path.sep + name, OPEN_FLAGS);
  try {
    // Before anything is read: what is outside must not be touched.
    if (!isFileInside(fd)) throw new Error('not a file of the root');
    const count = targets.fill(state, { fd, size: sizeIn(version) }, target, position);
    // It may be no file at all, which the driver finds out.
    if (count === 0 && version === '') throw new Error('nothing to read');
    // Afterwards, because a file may be changed while it is read.
    if (version !== '' && versionOf(fs.fstatSync(fd, { bigint: true })) !== version)
      throw new Error('another version');
    return count;
  } finally {
    fs.closeSync(fd);
  }
}

/** @param {import('./batch.js').Batch} batch */
function readAll(batch) {
  const { names, versions, memories } = batch;
  const table = new Float64Array(batch.numbers);
  const state = stateOf(batch);
  targets.begin();
  const wanted = versions.split('\0');
  let at = FIRST;
  for (const [index, name] of names.split('\0').entries()) {
    // Nobody waits for it any more.
    if (Atomics.load(state, 0) === ABANDONED) return;
    try {
      const memory = memories[table[at + 1] ?? 0] ?? new SharedArrayBuffer(0);
      const target = new Uint8Array(memory, table[at + 2], table[at + 3]);
      if (name !== '') table[at] = read(state, name, wanted[index] ?? '', target, table[at + 4] ?? 0);
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
