import { systemClock } from '@tiered/core';
import { isMainThread, Worker } from 'node:worker_threads';
import { IndexClient } from '../../../packages/tiering/src/index/index-client.js';

/**
 * Ends an index while its thread has much to do: by `end`, with the process, or with the thread that opened
 * it.
 */
const [how = '', path = ''] = process.argv.slice(2);
const ROUNDS = 20;
const CALLS = 50;
const COPIES = 20_000;

/** A thread that goes through all copies, again and again: it is in the database nearly always. */
async function busyClient(): Promise<IndexClient> {
  const client = new IndexClient({ path, durable: false, logPages: 128 }, 'a tier', systemClock);
  if ((await client.call('open', undefined)) === 'new') await fill(client);
  for (let calls = 0; calls < CALLS; calls++)
    void client.call('unknown', { tags: [-1] }).catch(() => undefined);
  return client;
}

async function fill(client: IndexClient): Promise<void> {
  const member = 'a';
  await client.call('join', { member, quota: 1e9, dataset: 'data' });
  const sizes = { size: 1, bytes: 1, occupied: 1 };
  const rowOf = (tag: number) => ({ key: `key ${tag}`, dataset: 1, tag, version: 'v', ...sizes });
  const claims = Array.from({ length: COPIES }, (_, tag) => rowOf(tag));
  const nothing = { quota: undefined, seen: undefined, directoryBytes: 0, wants: 0, spare: 0, hold: 0 };
  const noChanges = { placed: [], packed: [], sealed: [], moved: [], leaving: [], gone: [] };
  await client.call('apply', { member, ...nothing, claims, ...noChanges });
}

if (how === 'end') {
  for (let round = 0; round < ROUNDS; round++) {
    const client = await busyClient();
    for (let turns = 0; turns < round; turns++) await systemClock.turn();
    await client.end();
  }
} else if (how === 'thread' && isMainThread) {
  for (let round = 0; round < ROUNDS; round++) {
    const worker = new Worker(process.argv[1] ?? '', { argv: ['exit', path] });
    await new Promise((resolve) => worker.once('exit', resolve));
  }
} else {
  await busyClient();
  await systemClock.turn();
  process.exit(isMainThread ? 7 : 0);
}
