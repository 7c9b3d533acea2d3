// A reader of a pool made by hand: reads whole files as it is told, and hands their memory over.
import { readFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';

parentPort.on('message', (files) => {
  const buffers = files.map((file) => {
    const bytes = readFileSync(file);
    return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
  });
  parentPort.postMessage(buffers, buffers);
});
