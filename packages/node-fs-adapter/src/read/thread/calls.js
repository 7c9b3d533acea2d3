// @ts-check
import fs from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { OPEN_FLAGS } from './file-calls.js';

/**
 * A thread that makes the calls of single reads, one after the other, each as a blocking call. It decides
 * nothing: what is opened, and what its bytes mean, is the driver's to look at.
 */

/**
 * What is to be called. Bytes go to shared memory, because the driver may not lose sight of them.
 *
 * @typedef {{ readonly name: 'open'; readonly path: string }} Open
 * @typedef {{ readonly name: 'stat' | 'close'; readonly fd: number }} OfDescriptor
 * @typedef {{ readonly name: 'read'; readonly fd: number; readonly memory: SharedArrayBuffer; readonly at:
 * number; readonly length: number; readonly position: number }} Read
 * @typedef {Open | OfDescriptor | Read} Call
 */

/**
 * What is looked at of a file.
 *
 * @typedef {object} Look
 * @property {boolean} isFile
 * @property {bigint} mtimeNs
 * @property {bigint} size
 * @property {bigint} ino
 * @property {bigint} nlink
 */

/**
 * What an error of `node:fs` consists of, which messages do not carry.
 *
 * @typedef {object} CallError
 * @property {string} message
 * @property {string | undefined} code
 * @property {number | undefined} errno
 * @property {string | undefined} syscall
 * @property {string | undefined} path
 */

/**
 * A descriptor, a number of bytes or a look; or an error.
 *
 * @typedef {{ readonly value: number | Look } | { readonly error: CallError }} Answer
 */

/**
 * @param {Call} call
 * @returns {number | Look}
 * @throws errors of the system.
 */
function made(call) {
  switch (call.name) {
    case 'open':
      return fs.openSync(call.path, OPEN_FLAGS);
    case 'read':
      return fs.readSync(call.fd, new Uint8Array(call.memory), call.at, call.length, call.position);
    case 'stat': {
      const stat = fs.fstatSync(call.fd, { bigint: true });
      const { mtimeNs, size, ino, nlink } = stat;
      return { isFile: stat.isFile(), mtimeNs, size, ino, nlink };
    }
    case 'close':
      fs.closeSync(call.fd);
      return 0;
  }
}

/**
 * @param {Call} call
 * @returns {Answer}
 */
function answerTo(call) {
  try {
    return { value: made(call) };
  } catch (thrown) {
    const { message, code, errno, syscall, path } = /** @type {NodeJS.ErrnoException} */ (thrown);
    return { error: { message, code, errno, syscall, path } };
  }
}

parentPort?.on('message', (/** @type {Call} */ call) => parentPort?.postMessage(answerTo(call)));
