import { once } from 'node:events';
import { ManualClock } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';

// Opens the log of a root and says as whom. With a number of lines, waits for a word on stdin, appends so many, reads
// until there are as many as all are to append together, and prints them. Without, appends long lines until it is killed.
const [root = '', lines = '0', ofAll = '0'] = process.argv.slice(2);
const [count, total] = [Number(lines), Number(ofAll)];

const driver = new FileSystemDriver({ root, writable: true });
await driver.open({});
const log = await driver.openLog({});
process.stdout.write(`${log.member}\n`);

if (count > 0) {
  await once(process.stdin, 'data');
  const read: string[] = [];
  for (let next = 0; next < count;) {
    const some = Array.from({ length: Math.min(1 + (next % 3), count - next) }, (_, i) => next + i);
    log.append(some.map((i) => `${process.pid} ${i}`));
    next += some.length;
    if (next % 100 === 0) read.push(...log.readNew());
  }
  while (read.length < total) {
    read.push(...log.readNew());
    await new ManualClock().advance(0);
  }
  process.stdout.write(JSON.stringify(read));
  process.exit();
}

for (let i = 0; ; i++) {
  log.append(Array.from({ length: 20 }, (_, line) => `${i}.${line} ${'x'.repeat(5000)} ${i}.${line}`));
  if (i % 10 === 0) process.stdout.write('.');
}
