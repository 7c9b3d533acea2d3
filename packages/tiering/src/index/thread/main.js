// @ts-check
import { parentPort, workerData } from 'node:worker_threads';
import { CLOSED, IN_CALL } from './gate.js';
import { Records } from './records.js';

/**
 * The thread of a tier's index: makes the calls it is sent, one after the other, and answers each. Its end
 * closes the database, whatever was prepared there.
 *
 * It must not be ended within a call: the database's binding then ends the whole process (it cannot make an
 * object in a thread that is being ended, and aborts). So there is a gate, which whoever ends it closes
 * first.
 */

/** @type {{ gate: Int32Array } & ConstructorParameters<typeof Records>[0]} */
const { gate, ...options } = workerData;

/** @type {Records | undefined} */
let records;

/** @param {{ readonly id: number, readonly call: string, readonly options: any }} message */
function answer({ id, call, options: ofCall }) {
  try {
    records ??= new Records(options);
    const result = /** @type {any} */ (records)[call](ofCall);
    parentPort?.postMessage({ id, result });
  } catch (error) {
    const { code = 'SQLITE_CANTOPEN', message = String(error) } =
      /** @type {{ code?: string, message?: string }} */ (error);
    parentPort?.postMessage({ id, failure: { code, message } });
  }
}

parentPort?.on('message', (message) => {
  Atomics.store(gate, IN_CALL, 1);
  // Looked at only now, so that who closes it either is seen here, or sees that there is a call.
  if (Atomics.load(gate, CLOSED) === 0) answer(message);
  else parentPort?.close();
  Atomics.store(gate, IN_CALL, 0);
  Atomics.notify(gate, IN_CALL);
});
