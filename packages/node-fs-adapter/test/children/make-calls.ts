import fs from 'node:fs';
import { FileSystemDriver } from '@tiered/node-fs-adapter';

// Does one thing on a root, while its calls are recorded, in a process of its own.
const [what = '', root = ''] = process.argv.slice(2);
const mark = (text: string) => fs.appendFileSync(process.env['RECORD_FILE'] ?? '', `-- ${text}\n`);
const KEYS = ['a', 'dir/b', 'dir/c'];

async function versions(driver: FileSystemDriver): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const page of driver.list({})) for (const { key, version } of page) found.set(key, version);
  return found;
}

async function reads(driver: FileSystemDriver): Promise<void> {
  const known = await versions(driver);
  mark('a version');
  for (const key of KEYS) await driver.read(key, { offset: 0, length: 5, version: known.get(key) });
  for (const key of KEYS)
    await driver.readInto(key, new Uint8Array(2), { offset: 1, version: known.get(key) });
  mark('end');
  await driver.close();
  await driver.open({});
  mark('any version');
  for (const key of KEYS) await driver.read(key, { offset: 0, length: 5 });
  for (const key of KEYS) await driver.readInto(key, new Uint8Array(2), { offset: 1 });
  mark('end');
}

async function pieces(driver: FileSystemDriver): Promise<void> {
  const [target, all] = [new Uint8Array(1000), new Float64Array(2000)];
  for (let i = 0; i < 2000; i += 2) all.set([i % 5, 1], i);
  mark('pieces');
  await driver.readMany([{ key: 'a', offset: 0, target, pieces: all }], {});
  mark('end');
}

async function writes(driver: FileSystemDriver): Promise<void> {
  mark('written');
  await driver.write('new/er/object', new Uint8Array(5), { size: 5 });
  mark('written if absent');
  await driver.write('new/other', new Uint8Array(5), { size: 5, ifAbsent: true });
  mark('deleted');
  await driver.delete('new/er/object', {});
  mark('end');
}

const driver = new FileSystemDriver({
  root: what === 'writes' ? `${root}/on/tier` : root,
  writable: what === 'writes',
  fsync: true,
  nativeThreads: 0,
  ...(what === 'blocking' && { blockingCalls: true }),
});
mark('opened');
await driver.open({});
if (what === 'writes') await writes(driver);
else if (what === 'pieces') await pieces(driver);
else await reads(driver);
await driver.close();
process.exit();
