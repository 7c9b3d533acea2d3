import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { ReaderThreads } from '../../src/read/reader-threads.js';

// Ends reader threads while they answer batches that were left, again and again. Nothing else keeps this
// process: it prints a line each time, if it is still there.
const [root = '', key = '', rounds = '1'] = process.argv.slice(2);

async function startedThreads(): Promise<ReaderThreads> {
  const threads = new ReaderThreads({ root, mayHang: false }, 1);
  const started = once(process, 'worker') as Promise<Worker[]>;
  const ready = threads.areReady;
  const [worker] = await started;
  if (!ready && worker !== undefined) {
    worker.ref();
    await once(worker, 'online');
    worker.unref();
  }
  return threads;
}

for (let round = 0; round < Number(rounds); round++) {
  const threads = await startedThreads();
  const controller = new AbortController();
  const read = (signal?: AbortSignal) =>
    threads.read([{ key, offset: 0, target: new Uint8Array(new SharedArrayBuffer(4)) }], { signal });
  const first = read();
  const left = Array.from({ length: 50 }, () => read(controller.signal));
  await first;
  controller.abort();
  await Promise.all(left);
  await threads.close();
  process.stdout.write('ended\n');
}
