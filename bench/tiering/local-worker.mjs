// A reader of a loader made by hand: reads pieces of files as it is told, by calls that block, into memory
// that it shares.
import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort, workerData as memory } from 'node:worker_threads';

// Pieces of a file come one after the other.
let open = -1;

parentPort.on('message', (reads) => {
  const lengths = reads.map(({ file, offset, length, at, isLast }) => {
    if (offset === 0) open = openSync(file);
    const count = readSync(open, memory, at, length, offset);
    if (isLast) closeSync(open);
    return count;
  });
  parentPort.postMessage(lengths);
});
