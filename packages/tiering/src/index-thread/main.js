// @ts-check
import { parentPort, workerData } from 'node:worker_threads';
import { Records } from './records.js';

/**
 * The thread of a tier's index: makes the calls it is sent, one after the other, and answers each. Its end closes
 * the database, whatever was prepared there.
 */

/** @type {Records | undefined} */
let records;

/** @param {{ readonly id: number, readonly call: string, readonly options: any }} message */
function answer({ id, call, options }) {
  try {
    records ??= new Records(workerData);
    const result = /** @type {any} */ (records)[call](options);
    parentPort?.postMessage({ id, result });
  } catch (error) {
    const { code = 'SQLITE_CANTOPEN', message = String(error) } =
      /** @type {{ code?: string, message?: string }} */ (error);
    parentPort?.postMessage({ id, failure: { code, message } });
  }
}

parentPort?.on('message', answer);
