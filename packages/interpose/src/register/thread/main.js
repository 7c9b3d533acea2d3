// @ts-check
/**
 * Tells the daemon what the program opens: in a thread of its own, because a program may never come back to
 * its event loop.
 */
import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/** @type {{ socket: string; handled: Int32Array }} */
const { socket, handled } = workerData;
/** Bytes that wait for the daemon. What comes on top is lost. */
const MOST_BYTES = 65_536;

/** @type {net.Socket | undefined} */
let connection;

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

parentPort?.on('message', (/** @type {string} */ message) => {
  const to = connected();
  if (to.writableLength < MOST_BYTES) to.write(`${message}\0`, done);
  else done();
});
