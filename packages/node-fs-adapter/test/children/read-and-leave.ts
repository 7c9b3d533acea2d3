import { FileSystemDriver } from '@tiered/node-fs-adapter';

// Reads a file by a batch, prints it, and ends without closing anything.
const [root = ''] = process.argv.slice(2);
const driver = new FileSystemDriver({ root });
await driver.open({});
await driver.stat('file', {});
const target = new Uint8Array(new SharedArrayBuffer(5));
const outcomes = await driver.readMany([{ key: 'file', offset: 0, target }], {});
process.stdout.write(JSON.stringify({ outcomes, text: Buffer.from(target).toString() }));
