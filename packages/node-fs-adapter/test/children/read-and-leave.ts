import { FileSystemDriver } from '@tiered/node-fs-adapter';

// Reads a file by a reader thread, prints it, and ends without closing anything.
const [root = ''] = process.argv.slice(2);
const driver = new FileSystemDriver({ root, nativeThreads: 0 });
await driver.open({});
const started = new Promise<void>((resolve) => {
  process.once('worker', (worker) => {
    // Nothing else keeps this process, and who waits for a thread must not end before it starts.
    worker.ref();
    worker.once('online', () => {
      worker.unref();
      resolve();
    });
  });
});
const target = new Uint8Array(new SharedArrayBuffer(5));
await driver.readMany([{ key: 'none', offset: 0, target }], {});
await started;
const outcomes = await driver.readMany([{ key: 'file', offset: 0, target }], {});
process.stdout.write(
  JSON.stringify({ outcomes, text: Buffer.from(target).toString(), openFiles: driver.openFiles }),
);
