// @ts-check
/**
 * Speaks with the daemon for a program: in a thread of its own, because a program may never come back to its
 * event loop.
 */
import { Buffer } from 'node:buffer';
import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { ask } from './ask.js';

/** @type {{ socket: string; handled: Int32Array }} */
const { socket, handled } = workerData;
/** Bytes that wait for the daemon. What comes on top is lost. */
const MOST_BYTES = 65_536;

/** @type {net.Socket | undefined} */
let connection;
/**
 * By number, until it is let go. Undefined before it has been asked.
 * @type {Map<number, Promise<import('./ask.js').Answer> | undefined>}
 */
const answers = new Map();

/** @returns {net.Socket} */
function connected() {
  if (connection === undefined) {
    const opened = net.connect(socket);
    const forget = () => {
      if (connection === opened) connection = undefined;
    };
    // Without a daemon nobody wants to know.
    opened.on('error', forget).on('close', forget);
    opened.unref();
    opened.resume();
    connection = opened;
  }
  return connection;
}

/** Counts a message that was handed to the kernel, or lost. */
function done() {
  Atomics.add(handled, 0, 1);
  Atomics.notify(handled, 0);
}

/** @param {string} message */
function tell(message) {
  const to = connected();
  if (to.writableLength < MOST_BYTES) to.write(`${message}\0`, done);
  else done();
}

/**
 * Writes an answer where the program waits for it. The program looks by itself whether the daemon lives, and
 * lets go what it does not wait for any more.
 * @param {{ id: number; question: string; shared: SharedArrayBuffer }} asked
 */
async function answer({ id, question, shared }) {
  answers.set(id, undefined);
  const answering = ask(socket, question, () => answers.has(id));
  answers.set(id, answering);
  const { text } = await answering;
  const [state, bytes] = [new Int32Array(shared, 0, 2), Buffer.from(shared, 8)];
  state[1] = bytes.write(text);
  Atomics.store(state, 0, 1);
  Atomics.notify(state, 0);
}

/** @param {number} id */
async function letGo(id) {
  const answering = answers.get(id);
  answers.delete(id);
  (await answering)?.letGo();
}

parentPort?.on('message', (message) => {
  if (typeof message === 'string') tell(message);
  else if (typeof message === 'number') void letGo(message);
  else void answer(message);
});
