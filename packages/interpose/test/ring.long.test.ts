import { ManualClock, settled } from '@tiered/core/testing';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { Ring, type Message } from '../src/ring/ring.js';
import { describeShim, program, temporaryDirectory } from './helpers.js';

const THREADS = 4;
/** Where numbers are in the header, as in src-c/ring.h. */
const AT = { head: 64, lost: 192 };
const HEADER_BYTES = 4096;
/** What programs note of files that they change. */
const WRITTEN_BYTES = 2 ** 17;
const SLOTS = 2 ** 16;

function makeRing(): { ring: Ring; file: string; clock: ManualClock } {
  const file = path.join(temporaryDirectory(), 'ring');
  const clock = new ManualClock();
  const ring = new Ring(file, clock);
  onTestFinished(() => ring.close());
  return { ring, file, clock };
}

/** Lets threads of another process leave messages, and takes them meanwhile. */
async function post(ring: Ring, file: string, count: number): Promise<{ messages: Message[]; said: string }> {
  const messages: Message[] = [];
  const posted = promisify(execFile)(await program('post'), [file, String(THREADS), String(count)]);
  let isDone = false;
  void posted.finally(() => (isDone = true));
  while (!isDone) {
    messages.push(...ring.take());
    await settled();
  }
  messages.push(...ring.take());
  return { messages, said: (await posted).stdout };
}

/** Writes a number into a file. */
function poke(file: string, offset: number, value: bigint): void {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  const fd = fs.openSync(file, 'r+');
  fs.writeSync(fd, bytes, 0, 8, offset);
  fs.closeSync(fd);
}

describeShim('the ring', () => {
  it('[I5] has its memory from the start, so that no message needs more', () => {
    const { blocks, size } = fs.statSync(makeRing().file);
    expect([size, blocks * 512 >= size]).toEqual([HEADER_BYTES + WRITTEN_BYTES + 8 * SLOTS, true]);
  });

  it('brings every message of every thread once, or counts it as lost, in the order of the thread', async () => {
    const { ring, file } = makeRing();
    const count = 200_000;
    const { messages } = await post(ring, file, count);
    expect(messages.length + ring.lost).toBe(THREADS * count);
    expect(messages.length).toBeGreaterThan(0);
    const last = new Array<number>(THREADS).fill(-1);
    const wrong = messages.filter(({ kind, generation, slot }) => {
      const [thread, i] = [Math.floor(slot / count), slot % count];
      const isLater = i > (last[thread] ?? count);
      last[thread] = i;
      return !isLater || kind !== (i % 2 === 0 ? 'copy' : 'source') || generation !== 1;
    });
    expect(wrong).toEqual([]);
  });

  it('[I4] takes as many as it has room for while nobody listens, and goes on afterwards', async () => {
    const { ring, file } = makeRing();
    const { stdout } = await promisify(execFile)(await program('post'), [file, '1', String(SLOTS + 7)]);
    expect(stdout).toBe('7\n');
    expect([ring.take().length, ring.lost]).toEqual([SLOTS, 7]);
    const { messages } = await post(ring, file, 10);
    expect([messages.length, ring.lost]).toEqual([10 * THREADS, 7]);
  });

  it('passes over a message that a program began and never finished', async () => {
    const { ring, file, clock } = makeRing();
    poke(file, AT.head, 1n);
    await promisify(execFile)(await program('post'), [file, '1', '5']);
    expect(ring.take()).toEqual([]);
    await clock.advance(999);
    expect(ring.take()).toEqual([]);
    await clock.advance(1);
    expect([ring.take().length, ring.lost]).toEqual([5, 1]);
  });

  it.each([0n, 2n ** 63n, 2n ** 64n - 1n, BigInt(SLOTS) + 100n])(
    '[I5] survives a head of %s',
    async (head) => {
      const { ring, file } = makeRing();
      await post(ring, file, 10);
      poke(file, AT.head, head);
      expect(ring.take()).toEqual([]);
      poke(file, AT.head, 0n);
      ring.take();
      const { messages } = await post(ring, file, 10);
      expect(messages.length).toBeGreaterThan(0);
    },
  );

  it.each([0, 100, HEADER_BYTES + 8])('[I5] survives a program that cuts it to %i bytes', async (bytes) => {
    const { ring, file, clock } = makeRing();
    await post(ring, file, 10);
    fs.truncateSync(file, bytes);
    expect(ring.take()).toEqual([]);
    poke(file, AT.head, BigInt(10 * THREADS + 3));
    expect(ring.take()).toEqual([]);
    for (let i = 0; i < 3; i++) {
      await clock.advance(1000);
      expect(ring.take()).toEqual([]);
    }
    expect(ring.lost).toBeGreaterThan(0);
  });

  it('counts words that are no messages', () => {
    const { ring, file } = makeRing();
    poke(file, HEADER_BYTES, (1n << 48n) | (9n << 44n));
    poke(file, AT.head, 1n);
    expect([ring.take(), ring.lost]).toEqual([[], 1]);
  });

  it('is refused by programs if it is none', async () => {
    const directory = temporaryDirectory();
    const said = async (file: string) =>
      (await promisify(execFile)(await program('post'), [file, '1', '1'])).stdout;
    const file = path.join(directory, 'ring');
    fs.writeFileSync(file, Buffer.alloc(8192), { mode: 0o600 });
    expect(await said(file)).toBe('refused: Invalid argument\n');
    fs.writeFileSync(file, Buffer.alloc(100));
    expect(await said(file)).toBe('refused: Invalid argument\n');
    fs.chmodSync(file, 0o622);
    expect(await said(file)).toBe('refused: Permission denied\n');
  });
});
