import { ManualClock } from '@tiered/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import { IndexClient, indexThreads } from '../../src/index/index-client.js';
import { EventEmitter } from 'node:events';

it('an index that finds its disk full says what to do', async () => {
  const { begin } = indexThreads;
  onTestFinished(() => void (indexThreads.begin = begin));
  const failure = { code: 'SQLITE_FULL', message: 'database or disk is full' };
  indexThreads.begin = () => {
    const thread = new EventEmitter();
    const postMessage = (call: { readonly id: number } | undefined) => {
      if (call === undefined) thread.emit('exit');
      else thread.emit('message', { id: call.id, failure });
    };
    return Object.assign(thread, { postMessage, ref: () => thread, unref: () => thread });
  };
  const client = new IndexClient(
    { path: 'none', durable: false, logPages: 8 },
    'fs:/cache',
    new ManualClock(),
  );
  await expect(client.call('state', { member: 'one' })).rejects.toMatchObject({
    code: 'TIERED_NO_SPACE',
    message:
      "fs:/cache: the tier's index has no room; free some on the disk, or give the tier a quota that the disk has room for: database or disk is full (SQLITE_FULL).",
  });
  await client.end();
});
