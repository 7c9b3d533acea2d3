import fs from 'node:fs';
import { ManualClock, ticked } from '@tiered/core/testing';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { describe, expect, it, onTestFinished } from 'vitest';
import { THREADS } from '../src/read/thread-pool.js';
import { place, putFile, textOf, turn, withCode, type Place } from './helpers.js';

const KEYS = Array.from({ length: 64 }, (_, i) => `dir-${i % 3}/${i}`);

/** A clock by which everything takes its time. */
class TickingClock extends ManualClock {
  override now(): number {
    this.pass(10);
    return super.now();
  }
}

/** Turns of the event loop that a call takes at least: a look at reads that wait takes two. */
const TURNS = 4;

/**
 * From now on calls of Node's pool take some turns of the event loop, as on slow storage: without that,
 * threads on a busy machine may have made all of them before anybody sees one wait. Returns what ends it.
 */
function slowNode(): () => void {
  const { open, read, fstat } = fs;
  const late =
    <T extends unknown[]>(call: (...args: T) => unknown) =>
    (...args: T) =>
      void turns().then(() => call(...args));
  Object.assign(fs, { open: late(open), read: late(read), fstat: late(fstat) });
  return () => void Object.assign(fs, { open, read, fstat });
}

async function turns(): Promise<void> {
  const clock = new ManualClock();
  for (let turn = 0; turn < TURNS; turn++) await clock.turn();
}

/** What this process warned of, since the test began. */
function warnings(): string[] {
  const found: string[] = [];
  const listen = ({ name, message }: Error) => {
    if (name === 'TieredWarning') found.push(message);
  };
  process.on('warning', listen);
  onTestFinished(() => void process.off('warning', listen));
  return found;
}

/** A driver on files that hold their own keys, which are read in Node's pool. */
async function withFiles(options: Parameters<typeof place>[0]): Promise<Place> {
  const there = await place({ nativeThreads: 0, maxOpenFiles: 1, blockingCalls: false, ...options });
  for (const key of KEYS) await putFile(there.root, key, Buffer.from(key));
  return there;
}

/** Reads all files, so many at a time. */
async function readAll({ driver }: Place, atATime = KEYS.length): Promise<string[]> {
  const texts: string[] = [];
  for (let i = 0; i < KEYS.length; i += atATime)
    texts.push(...(await Promise.all(KEYS.slice(i, i + atATime).map((key) => textOf(driver, key)))));
  return texts;
}

/** More than are enough for a warning, if all of them are slow. */
const ROUNDS = 10;

// The order counts: a process warns once.
describe('reads in Node’s pool', () => {
  it('are as many at a time as it has threads, of which a tier leaves one', () => {
    const of = (options: object) => {
      const { threads, readsAtOnce } = new FileSystemDriver({ root: '/data', ...options }).capabilities;
      return [threads, readsAtOnce];
    };
    expect(of({ nativeThreads: 0 })).toEqual(['node', THREADS]);
    expect(of({ nativeThreads: 0, writable: true })).toEqual(['node', THREADS - 1]);
    for (const nativeThreads of [-1, 0.5, 257, Number.NaN])
      expect(() => of({ nativeThreads })).toThrow(withCode('TIERED_CONFIG_INVALID'));
  });

  it('of fast storage are no reason for a warning, however many wait', async () => {
    const found = warnings();
    const there = await withFiles({ clock: new ManualClock() });
    onTestFinished(slowNode());
    for (let round = 0; round < ROUNDS; round++) expect(await readAll(there)).toEqual(KEYS);
    await turn();
    expect(found).toEqual([]);
  });

  it('of storage that is slow for once are none either', async () => {
    const found = warnings();
    const clock = new ManualClock();
    const there = await withFiles({ clock });
    onTestFinished(slowNode());
    for (let round = 0; round < ROUNDS; round++) {
      const reading = readAll(there);
      await ticked();
      clock.pass(round === 3 ? 1000 : 0);
      expect(await reading).toEqual(KEYS);
    }
    await turn();
    expect(found).toEqual([]);
  });

  it('that are seen to end late, because the event loop computes, are none either', async () => {
    const found = warnings();
    const clock = new ManualClock();
    const there = await withFiles({ clock });
    let isOver = false;
    const several = async () => {
      for (let round = 0; round < ROUNDS; round++) expect(await readAll(there, 16)).toEqual(KEYS);
    };
    const reading = Promise.all([1, 2, 3].map(several)).finally(() => (isOver = true));
    while (!isOver) {
      // Meanwhile all calls end that have begun.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      clock.pass(1000);
      await turn();
    }
    await reading;
    expect(found).toEqual([]);
  });

  it('that are slow, and no more than it has threads, are none, nor are those of a tier', async () => {
    const found = warnings();
    onTestFinished(slowNode());
    const few = await withFiles({ clock: new TickingClock() });
    for (let round = 0; round < ROUNDS; round++) expect(await readAll(few, THREADS)).toEqual(KEYS);
    const tier = await withFiles({ clock: new TickingClock(), writable: true });
    for (let round = 0; round < ROUNDS; round++) expect(await readAll(tier)).toEqual(KEYS);
    await turn();
    expect(found).toEqual([]);
  });

  it('that wait for slow storage have the process warned once, which says what to do', async () => {
    const found = warnings();
    onTestFinished(slowNode());
    const there = await withFiles({ clock: new TickingClock() });
    while (found.length === 0) expect(await readAll(there)).toEqual(KEYS);
    const other = await withFiles({ clock: new TickingClock() });
    for (let round = 0; round < ROUNDS; round++) expect(await readAll(other)).toEqual(KEYS);
    await turn();
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`${there.driver.name}: reads of slow storage wait for the ${THREADS} threads`);
    expect(found[0]).toContain('set UV_THREADPOOL_SIZE=64 in the environment before Node starts.');
  });
});
