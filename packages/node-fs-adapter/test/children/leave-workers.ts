import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { startWorker, TickingClock } from '../ticking.js';

// Reads files by worker threads, prints them, and ends without closing anything.
const [root = '', ...keys] = process.argv.slice(2);
const driver = new FileSystemDriver({ root, nativeThreads: 0, clock: new TickingClock() });
await driver.open({});
await startWorker(driver);
const read = await Promise.all(keys.map((key) => driver.read(key, { offset: 0, length: 100 })));
const texts = read.map((bytes) => Buffer.from(bytes).toString());
process.stdout.write(JSON.stringify({ texts, threads: driver.capabilities.threads }));
