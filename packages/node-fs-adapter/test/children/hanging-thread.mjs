// @ts-check
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { isMainThread } from 'node:worker_threads';

// In threads a blocking read of a file that is named `hangs` waits, in the kernel, until somebody writes to
// the pipe `never`. It says so by making the file `hung`.
const directory = process.env['HANG_IN'] ?? '';
const fifo = path.join(directory, 'never');

if (isMainThread) execFileSync('mkfifo', [fifo]);
else {
  const { readSync } = fs;
  // The pipe stands for a disk, the reads of which the kernel counts.
  const { resourceUsage } = process;
  let fsRead = 0;
  process.resourceUsage = () => ({ ...resourceUsage(), fsRead: (fsRead += 1) });
  fs.readSync = /** @type {any} */ (
    (/** @type {number} */ fd, /** @type {Uint8Array} */ bytes, /** @type {any[]} */ ...rest) => {
      if (!fs.readlinkSync(`/proc/self/fd/${fd}`).endsWith('/hangs')) return readSync(fd, bytes, ...rest);
      const pipe = fs.openSync(fifo, fs.constants.O_RDWR);
      fs.writeFileSync(path.join(directory, 'hung'), '');
      try {
        return readSync(pipe, bytes, 0, 10, null);
      } finally {
        fs.closeSync(pipe);
      }
    }
  );
}
