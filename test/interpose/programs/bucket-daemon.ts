/*
 * A daemon in a process of its own, which can be stopped and killed, of a source that is no directory and
 * gives no byte until it is told to. Its argument says as JSON what it serves. Answers each line with its
 * process: `place KEY` when the object has a copy, `held` when the source is being read, `release` when it
 * gives what was asked for until then.
 */
import { MemoryDriver } from '@tiered/core';
import { HoldingDriver, settled, someBytes } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { Interposer } from '@tiered/interpose';
import readline from 'node:readline';

/** What it serves, at which paths: each object has as many bytes, of its place in the list as a seed. */
export interface Served {
  readonly keys: readonly string[];
  readonly bytes: number;
  readonly tier: string;
  readonly at: string;
  readonly root: string;
}

const { keys, bytes, tier, at, root } = JSON.parse(process.argv[2] ?? '') as Served;

const objects = new MemoryDriver({ quota: '1GiB' });
for (const [i, key] of keys.entries()) await objects.write(key, someBytes(bytes, i), { size: bytes });
const source = new HoldingDriver(objects, { operations: ['read', 'readInto', 'readMany'] });
const interposer = await Interposer.open({
  hierarchy: {
    source,
    tiers: [{ driver: new FileSystemDriver({ root: tier, writable: true }), quota: '1GiB' }],
    placement: new PlacementHandler(),
  },
  root,
  at,
});

async function place(key: string): Promise<void> {
  let isPlaced = false;
  const placed = interposer.hierarchy.place(key).finally(() => (isPlaced = true));
  while (!isPlaced) await source.releaseAll();
  await placed;
}

for await (const line of readline.createInterface(process.stdin)) {
  const [command, key = ''] = line.split(' ');
  if (command === 'place') await place(key);
  else if (command === 'held') while (source.held.length === 0) await settled();
  else await source.releaseAll();
  console.log(process.pid);
}
await source.releaseAll();
await interposer.close();
