import { ManualClock } from '@tiered/core/testing';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Listener } from '../src/daemon/listener.js';
import { Ring } from '../src/ring/ring.js';
import { temporaryDirectory } from './helpers.js';

/** Where the number is in the header of a ring that programs write, as in src-c/ring.h. */
const HEAD = 64;
const HEADER_BYTES = 4096;
/** While messages come, it looks as often; after so many looks that found none, as seldom. */
const [LOOK_MS, LOOKS, IDLE_LOOK_MS] = [10, 20, 50];

/** A listener, and a program that leaves messages of slots. */
function listening() {
  const file = path.join(temporaryDirectory(), 'ring');
  const clock = new ManualClock();
  const ring = new Ring(file, clock);
  const slots: number[] = [];
  const listener = new Listener(ring, clock, ({ slot }) => slots.push(slot));
  onTestFinished(async () => {
    await listener.close();
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
  const post = (slot: number) => {
    write(HEADER_BYTES + 8 * head, (1n << 48n) | (1n << 44n) | BigInt(slot));
    write(HEAD, BigInt(++head));
  };
  return { clock, listener, slots, post };
}

it('the daemon looks for messages often while some come, and seldom when none came for a while', async () => {
  const { clock, slots, post } = listening();
  for (let slot = 0; slot < 5; slot++) {
    await clock.advance((LOOKS - 1) * LOOK_MS);
    post(slot);
    await clock.advance(LOOK_MS);
    expect(slots.at(-1)).toBe(slot);
  }
  await clock.advance(LOOKS * LOOK_MS);
  post(5);
  await clock.advance(IDLE_LOOK_MS - 1);
  expect(slots.at(-1)).toBe(4);
  await clock.advance(1);
  expect(slots.at(-1)).toBe(5);
  post(6);
  await clock.advance(LOOK_MS);
  expect(slots.at(-1)).toBe(6);
});

it.each([
  ['seldom', 2 * LOOKS * LOOK_MS],
  ['often', LOOK_MS],
])('a daemon that looks %s takes what has come when it is closed, and waits for nothing', async (_, ms) => {
  const { clock, slots, post, listener } = listening();
  await clock.advance(ms);
  post(7);
  await listener.close();
  expect([slots, clock.sleepingInBackground]).toEqual([[7], 0]);
});
