import fs from 'node:fs';
import path from 'node:path';
import { ManualClock } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';

// Leaves a batch that hangs in a reader thread (`hanging-thread.mjs`), and prints what became of it.
const [root = ''] = process.argv.slice(2);
const directory = process.env['HANG_IN'] ?? '';
const clock = new ManualClock();
const driver = new FileSystemDriver({
  root,
  writable: true,
  blockingCalls: false,
  nativeThreads: 0,
  readerThreads: 1,
  clock,
});
await driver.open({});
const keys = ['a', 'hangs', 'b'];
for (const key of keys) await driver.write(key, Buffer.from(key), { size: key.length });

const online = new Promise<void>((resolve) => {
  process.once('worker', (worker) => {
    worker.ref();
    worker.once('online', resolve);
  });
});
const memory = new SharedArrayBuffer(30);
const targets = keys.map((_, i) => new Uint8Array(memory, i * 10, 10));
const requestOf = (key: string, i: number) => ({ key, offset: 0, target: targets[i] ?? new Uint8Array() });
const texts = () => targets.map((target) => Buffer.from(target).toString().replace(/\0.*/, ''));
await driver.readMany([requestOf('none', 0)], {});
await online;

/** Has the batch read until it hangs, leaves it, and resolves to its outcomes. */
async function leave(): Promise<unknown[]> {
  const controller = new AbortController();
  const reading = driver.readMany(keys.map(requestOf), { signal: controller.signal });
  while (!fs.existsSync(path.join(directory, 'hung'))) await clock.advance(0);
  fs.rmSync(path.join(directory, 'hung'));
  controller.abort('no longer wanted');
  return (await reading).map((one) => ('error' in one ? one.error : one));
}

const report: Record<string, unknown> = {};
const answer = () => fs.writeFileSync(path.join(directory, 'never'), 'late bytes');
report['outcomes'] = await leave();
report['texts'] = texts();

// By the thread pool, because the only thread hangs. Into other memory: that of the batch is looked at again.
const others = ['a', 'b'].map((key) => ({
  key,
  offset: 0,
  target: new Uint8Array(new SharedArrayBuffer(1)),
}));
await driver.readMany(others, {});
report['meanwhile, singly'] = others.map(({ target }) => Buffer.from(target).toString());

const kept = others.length;
report['open files while it hangs'] = driver.openFiles - kept;
answer();
while (driver.openFiles > kept) await clock.advance(0);
report['texts when the disk has answered'] = texts();

// The next batch is read singly, as after one that was slow.
await driver.readMany(others, {});
await leave();
await clock.run(driver.close());
report['closed while it hangs'] = true;
answer();
process.stdout.write(JSON.stringify(report));
