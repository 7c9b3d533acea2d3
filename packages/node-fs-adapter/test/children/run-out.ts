import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { isTieredError, type TieredError } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';

// Runs into a limit that its parent has set, and prints how each step ended: a code, or what it resolved to.
const [what = '', root = ''] = process.argv.slice(2);
const outcomes: Record<string, unknown> = {};

async function step(name: string, run: () => Promise<unknown>): Promise<void> {
  outcomes[name] = await run().then(
    (value) => value ?? 'done',
    (error: unknown) =>
      isTieredError(error) ? `${error.code}${error.retryable ? ', retryable' : ''}` : String(error),
  );
}

const driver = new FileSystemDriver({ root, writable: true, maxOpenFiles: 1000 });
const write = (key: string, size: number) => driver.write(key, new Uint8Array(size), { size });
const read = async (key: string) => (await driver.read(key, { offset: 0, length: 10 })).byteLength;
const temporaryFiles = () => fs.readdirSync(path.join(root, '.tiered', 'tmp')).length;

await driver.open({});
if (what === 'space') {
  await step('fits', () => write('kept', 10_000));
  await step('too large', () => write('dir/large', 4_000_000));
  await step('too large, in place of an object', () => write('kept', 4_000_000));
  outcomes['temporary files'] = temporaryFiles();
  await step('the object of before', async () => (await driver.stat('kept', {})).size);
  await step('fits again', () => write('new', 10_000));
}
if (what === 'read-only') {
  await write('kept', 10);
  execFileSync('mount', ['-o', 'remount,ro', root]);
  await step('write', () => write('new', 10));
  await step('delete', () => driver.delete('kept', {}));
  await step('read', () => read('kept'));
  execFileSync('mount', ['-o', 'remount,rw', root]);
  await step('write when it is writable again', () => write('new', 10));
}
if (what === 'descriptors') {
  const keys = Array.from({ length: 200 }, (_, i) => `${i}`);
  for (const key of keys) await write(key, 10);
  // A file stays open from its second read on.
  const results = await Promise.allSettled([...keys, ...keys].map(read));
  const failed = results
    .filter((result) => result.status === 'rejected')
    .map(({ reason }) => reason as TieredError);
  await step('too many', () => Promise.reject(failed[0] ?? new Error('none failed')));
  outcomes['kinds of failure'] = new Set(failed.map(({ code }) => code)).size;
  await driver.close();
  await driver.open({});
  await step('read after that', () => read('0'));
}
await driver.close();
outcomes['open files'] = driver.openFiles;
process.stdout.write(JSON.stringify(outcomes));
