// @ts-check
/** Asks the daemon of a session, as the shim does in src-c/ask.c. */
import net from 'node:net';
import os from 'node:os';
// A thread of its own has no clock that could be injected.
// eslint-disable-next-line no-restricted-imports
import { setTimeout as sleep } from 'node:timers/promises';

/** Between two looks whether the daemon lives. */
const PATIENCE_MS = 250;
/** Before another attempt, while it has too many connections to take; and how many of these. */
const RETRY_MS = 20;
const MOST_ATTEMPTS = 500;
/** What means that the daemon would not take the connection. All else means that there is none. */
const REFUSED = ['EAGAIN', 'ECONNRESET', 'EPIPE'];
const NONE = `-${os.constants.errno.EIO}`;

/**
 * What the daemon says: `+` and a text, or `-` and the number of an error. What it says of a file holds until
 * that is let go.
 * @typedef {{ text: string; letGo: () => void }} Answer
 */

/**
 * Waits for the answer as long as there is somebody to give it and somebody to take it.
 * @param {string} socket
 * @param {string} question A letter and a key.
 * @param {() => boolean} isServed Whether the daemon lives, and somebody waits for the answer.
 * @returns {Promise<Answer>}
 */
export async function ask(socket, question, isServed) {
  for (let attempt = 0; attempt < MOST_ATTEMPTS && isServed(); attempt++) {
    if (attempt > 0) await sleep(RETRY_MS);
    const connection = net.connect(socket);
    const text = await answerOf(connection, question, isServed);
    if (text !== undefined) return { text, letGo: () => void connection.destroy() };
    connection.destroy();
  }
  return { text: NONE, letGo: () => undefined };
}

/**
 * @param {net.Socket} connection
 * @param {string} question
 * @param {() => boolean} isServed
 * @returns {Promise<string | undefined>} Undefined if it was refused.
 */
async function answerOf(connection, question, isServed) {
  let isOver = false;
  try {
    return await new Promise((resolve) => {
      let text = '';
      const isRefused = (/** @type {NodeJS.ErrnoException} */ error) => REFUSED.includes(error.code ?? '');
      connection.on('error', (error) => resolve(isRefused(error) ? undefined : NONE));
      connection.on('close', () => resolve(undefined));
      connection.setEncoding('utf8').on('data', (/** @type {string} */ more) => {
        text += more;
        if (text.endsWith('\0')) resolve(text.slice(0, -1));
      });
      connection.write(`${question}\0`);
      void end(() => !isOver && isServed()).then(() => resolve(NONE));
    });
  } finally {
    isOver = true;
  }
}

/**
 * Resolves when something is not so any more. Keeps no program alive.
 * @param {() => boolean} isSo
 */
async function end(isSo) {
  while (isSo()) await sleep(PATIENCE_MS, undefined, { ref: false });
}
