import { ManualClock, settled } from '@tiered/core/testing';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Listener } from '../src/daemon/listener.js';
import { SessionSocket } from '../src/daemon/socket.js';
import { Ring } from '../src/ring/ring.js';
import { temporaryDirectory } from './helpers.js';

/** Where numbers are in the header of a ring, as in src-c/ring.h. */
const AT = { head: 64, isAsleep: 136 };
const HEADER_BYTES = 4096;
/** While messages come, it looks as often; after so many looks that found none it sleeps, at most as long. */
const [LOOK_MS, LOOKS, SLEEP_MS] = [10, 20, 250];

/** A listener, and programs that leave messages of slots. */
async function listening() {
  const directory = temporaryDirectory();
  const [file, address] = [path.join(directory, 'ring'), path.join(directory, 'socket')];
  const clock = new ManualClock();
  const ring = new Ring(file, clock);
  const unexpected = () => Promise.reject(new Error('Nobody asks.'));
  const socket = await SessionSocket.at(address, {
    opened: () => undefined,
    readable: unexpected,
    complete: unexpected,
  });
  const slots: number[] = [];
  const listener = new Listener(ring, socket, clock, ({ slot }) => slots.push(slot));
  onTestFinished(async () => {
    await listener.close();
    await socket.close();
    ring.close();
  });
  const fd = fs.openSync(file, 'r+');
  onTestFinished(() => fs.closeSync(fd));
  const word = Buffer.alloc(8);
  const write = (offset: number, value: bigint) => {
    word.writeBigUInt64LE(value);
    fs.writeSync(fd, word, 0, 8, offset);
  };
  let head = 0;
  return {
    clock,
    listener,
    slots,
    /** What a program does first. */
    begin: () => write(AT.head, BigInt(++head)),
    finish: (slot: number) => write(HEADER_BYTES + 8 * (head - 1), (1n << 48n) | (1n << 44n) | BigInt(slot)),
    /** Whether programs have to wake it. */
    isAsleep: () => {
      fs.readSync(fd, word, 0, 8, AT.isAsleep);
      return word.readBigUInt64LE() === 1n;
    },
    /** What a program does that finds it asleep. */
    wake: async () => {
      const connection = net.connect(address);
      await once(connection, 'connect');
      connection.destroy();
    },
  };
}

async function fallenAsleep() {
  const made = await listening();
  await made.clock.advance(LOOKS * LOOK_MS);
  expect(made.isAsleep()).toBe(true);
  return made;
}

async function turnsUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await settled();
}

it('the daemon falls asleep once it has looked for messages for a while and found none', async () => {
  const { clock, isAsleep } = await listening();
  await clock.advance(LOOKS * LOOK_MS - 1);
  expect(isAsleep()).toBe(false);
  await clock.advance(1);
  expect(isAsleep()).toBe(true);
  // It looks every now and then, and sleeps again.
  await clock.advance(10 * SLEEP_MS);
  expect(isAsleep()).toBe(true);
});

it('the daemon takes a message at once when a program wakes it, and is awake for a while', async () => {
  const { clock, slots, begin, finish, wake, isAsleep } = await fallenAsleep();
  const now = clock.now();
  begin();
  finish(7);
  for (let turn = 0; turn < 10; turn++) await settled();
  expect([slots, isAsleep()]).toEqual([[], true]);
  await wake();
  await turnsUntil(() => slots.length > 0);
  expect([slots, isAsleep(), clock.now()]).toEqual([[7], false, now]);
  // The next ones need not wake it.
  begin();
  finish(8);
  await clock.advance(LOOK_MS);
  expect([slots, isAsleep()]).toEqual([[7, 8], false]);
  // The look that found something counts from the start.
  await clock.advance(LOOKS * LOOK_MS - 1);
  expect(isAsleep()).toBe(false);
  await clock.advance(1);
  expect(isAsleep()).toBe(true);
});

it('the daemon can be woken any number of times', async () => {
  const { clock, slots, begin, finish, wake, isAsleep } = await fallenAsleep();
  for (let slot = 0; slot < 5; slot++) {
    begin();
    finish(slot);
    await wake();
    await turnsUntil(() => slots.length > slot);
    await clock.advance(LOOKS * LOOK_MS);
    expect([slots.at(-1), isAsleep()]).toEqual([slot, true]);
  }
});

it('a message is not later than a sleep, although its program could not wake the daemon', async () => {
  const { clock, slots, begin, finish } = await fallenAsleep();
  begin();
  finish(7);
  await clock.advance(SLEEP_MS - 1);
  expect(slots).toEqual([]);
  await clock.advance(1);
  expect(slots).toEqual([7]);
});

it('the daemon does not sleep while messages come, or while one is being written', async () => {
  const { clock, slots, begin, finish, isAsleep } = await listening();
  for (let slot = 0; slot < 10; slot++) {
    begin();
    finish(slot);
    await clock.advance((LOOKS - 1) * LOOK_MS);
    expect([slots.at(-1), isAsleep()]).toEqual([slot, false]);
  }
  begin();
  await clock.advance(2 * LOOKS * LOOK_MS);
  expect(isAsleep()).toBe(false);
  finish(10);
  await clock.advance(LOOK_MS);
  expect(slots.at(-1)).toBe(10);
});

it.each([
  ['asleep', LOOKS * LOOK_MS],
  ['awake', LOOK_MS],
])('a daemon that is %s when it is closed takes what has come, and waits for nothing more', async (_, ms) => {
  const { clock, slots, begin, finish, listener } = await listening();
  await clock.advance(ms);
  begin();
  finish(7);
  await listener.close();
  expect([slots, clock.sleepingInBackground]).toEqual([[7], 0]);
});
