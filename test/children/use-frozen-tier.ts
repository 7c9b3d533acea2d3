import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { Readable } from 'node:stream';
import { Hierarchy, systemClock, type Clock } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';

// Uses a tier, and goes on when the disk has been frozen. Prints what it has begun, and what has ended, which
// it can do only while its event loop turns.
const [what = '', directory = '', disk = ''] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);
const frozen = readline.createInterface(process.stdin)[Symbol.asyncIterator]();

/** To this clock no call is slow. So whatever may ever run on the event loop does. */
const clock: Clock = {
  now: () => 0,
  sleep: (...how) => systemClock.sleep(...how),
  turn: () => systemClock.turn(),
};
const nativeThreads = process.env['TIERED_NATIVE'] === '0' ? { nativeThreads: 0 } : {};
const tierAt = () =>
  new FileSystemDriver({ root: path.join(disk, 'tier'), writable: true, clock, ...nativeThreads });
const KIB = new Uint8Array(1024);
const source = new FileSystemDriver({ root: path.join(directory, 'source'), ...nativeThreads });

async function useDriver(): Promise<void> {
  const [tier, other] = [tierAt(), tierAt()];
  await source.open({});
  await tier.open({});
  for (const key of ['a', 'b', 'c', 'd/e']) await tier.write(key, KIB, { size: KIB.byteLength });
  const [begun, written] = [
    await tier.create('begun', { size: 2048 }),
    await tier.create('written', { size: 1024 }),
  ];
  await begun.writeAt(KIB, { offset: 0 });
  await written.writeAt(KIB, { offset: 0 });
  await tier.read('c', { offset: 0, length: 1024 });
  fs.unlinkSync(path.join(disk, 'tier', 'c'));
  say('ready');
  await frozen.next();
  const ways: Record<string, () => Promise<unknown>> = {
    // Closes the descriptor of a file that is gone.
    'stat of a deleted file': () => tier.stat('c', {}),
    create: () => tier.create('new', { size: 1024 }),
    writeAt: () => begun.writeAt(KIB, { offset: 1024 }),
    publish: () => written.publish({}),
    write: () => tier.write('small', KIB, { size: 1024 }),
    'write in a new directory': () => tier.write('new/small', KIB, { size: 1024 }),
    'write of pieces': () => tier.write('pieces', Readable.from([KIB]), { size: 1024 }),
    delete: () => tier.delete('d/e', {}),
    discard: () => begun.discard(),
    open: () => other.open({}),
  };
  const under = Object.entries(ways).map(async ([name, call]) => {
    const called = call().catch(() => undefined);
    await systemClock.turn();
    say(`began ${name}`);
    await called;
  });
  await systemClock.turn();
  say(`tier: ${(await tier.read('b', { offset: 0, length: 1024 })).byteLength}`);
  say(`source: ${(await source.read('0', { offset: 0, length: 1024 })).byteLength}`);
  await tier.close();
  say('closed');
  await frozen.next();
  await Promise.all(under);
  await Promise.all([other.close(), source.close()]);
}

async function useHierarchy(): Promise<void> {
  const tiers = [{ driver: tierAt(), quota: '40MiB' }];
  const hierarchy = new Hierarchy({ source, tiers, placement: new PlacementHandler() });
  await hierarchy.open();
  const keys = fs.readdirSync(path.join(directory, 'source'));
  for (const key of keys.slice(0, 4)) await hierarchy.read(key);
  await hierarchy.idle();
  say('ready');
  await frozen.next();
  for (const key of keys) say(`${key}: ${(await hierarchy.read(key)).byteLength}`);
  say('read all');
  await frozen.next();
  await hierarchy.close();
}

await (what === 'driver' ? useDriver() : useHierarchy());
say('ended');
process.stdin.destroy();
