import { settled } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import { FreshCalls } from '../src/hierarchy/fresh-calls.js';

/** Work that ends when the test says so, and gives how many there were before it. */
function heldCalls() {
  const begun: { key: string; signal: AbortSignal; end: (error?: Error) => void }[] = [];
  const calls = new FreshCalls((key, signal) => {
    const number = begun.length;
    return new Promise<number>((resolve, reject) => {
      const end = (error?: Error) => (error === undefined ? resolve(number) : reject(error));
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      begun.push({ key, signal, end });
    });
  });
  return { calls, begun };
}

const { signal } = new AbortController();

it('[X5] gives what was begun after the call, once for all who wait for it', async () => {
  const { calls, begun } = heldCalls();
  const first = calls.call('a', signal);
  await settled();
  const later = [calls.call('a', signal), calls.call('a', signal)];
  const other = calls.call('b', signal);
  await settled();
  expect(begun.map(({ key }) => key)).toEqual(['a', 'b']);
  begun[0]?.end();
  expect(await first).toBe(0);
  await settled();
  expect(begun.map(({ key }) => key)).toEqual(['a', 'b', 'a']);
  begun[2]?.end();
  expect(await Promise.all(later)).toEqual([2, 2]);
  begun[1]?.end();
  expect(await other).toBe(1);
  const anew = calls.call('a', signal);
  await settled();
  begun[3]?.end();
  expect(await anew).toBe(3);
});

it('[X5] begins the next one also when the one before has failed', async () => {
  const { calls, begun } = heldCalls();
  const first = calls.call('a', signal);
  await settled();
  const second = calls.call('a', signal);
  begun[0]?.end(new Error('broken'));
  await expect(first).rejects.toThrow('broken');
  await settled();
  begun[1]?.end();
  expect(await second).toBe(1);
});

it('[X2] aborts what nobody waits for any more, and only that', async () => {
  const { calls, begun } = heldCalls();
  const [one, other] = [new AbortController(), new AbortController()];
  const both = [calls.call('a', one.signal), calls.call('a', other.signal)];
  await settled();
  one.abort(new Error('gone'));
  await expect(both[0]).rejects.toThrow('gone');
  expect(begun[0]?.signal.aborted).toBe(false);
  other.abort(new Error('gone too'));
  await expect(both[1]).rejects.toThrow('gone too');
  expect(begun[0]?.signal.aborted).toBe(true);
});

it('[X2] begins nothing for those who have left while it was ahead', async () => {
  const { calls, begun } = heldCalls();
  const first = calls.call('a', signal);
  await settled();
  const leaving = new AbortController();
  const left = calls.call('a', leaving.signal);
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  const stays = calls.call('a', signal);
  begun[0]?.end();
  await first;
  await settled();
  expect(begun).toHaveLength(2);
  begun[1]?.end();
  expect(await stays).toBe(1);
});
