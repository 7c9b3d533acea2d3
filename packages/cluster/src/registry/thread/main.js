// @ts-check
import { parentPort, workerData } from 'node:worker_threads';
import { CLOSED, IN_CALL } from './gate.js';
import { RecordFile } from './record-file.js';

/**
 * The thread of an embedded registry: makes the calls that it is sent, one after the other, and answers each.
 * It must not be ended within a call, since the database's binding would end the whole process. So there is
 * a gate: whoever ends the thread closes it first, and waits for the call under way.
 */

/** @type {{ gate: Int32Array, path: string }} */
const { gate, path } = workerData;
const file = new RecordFile(path);

/** @param {{ readonly id: number, readonly call: string, readonly options: any }} message */
function answer({ id, call, options }) {
  try {
    const result = file.make(call, options);
    parentPort?.postMessage({ id, result });
  } catch (error) {
    const { code = 'UNKNOWN', message = String(error) } = /** @type {{ code?: string, message?: string }} */ (
      error
    );
    parentPort?.postMessage({ id, failure: { code, message } });
  }
}

parentPort?.on('message', (message) => {
  Atomics.store(gate, IN_CALL, 1);
  // Looked at only now, so that who closes it either is seen here, or sees that there is a call.
  if (Atomics.load(gate, CLOSED) === 0) answer(message);
  else {
    file.close();
    parentPort?.close();
  }
  Atomics.store(gate, IN_CALL, 0);
  Atomics.notify(gate, IN_CALL);
});
