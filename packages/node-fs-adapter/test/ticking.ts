import { ManualClock } from '@tiered/core/testing';
import type { FileSystemDriver } from '@tiered/node-fs-adapter';
import fs from 'node:fs';
import type { Worker } from 'node:worker_threads';

/** A clock by which everything takes its time. */
export class TickingClock extends ManualClock {
  override now(): number {
    this.pass(10);
    return super.now();
  }
}

/** Turns of the event loop that a call takes at least: a look at calls that wait takes two. */
const TURNS = 4;

/**
 * From now on calls of Node's pool take some turns of the event loop, as on slow storage: without that,
 * threads on a busy machine may have made all of them before anybody sees one wait. Returns what ends it.
 */
export function slowNode(): () => void {
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

/**
 * Reads, of a source that is slow by its clock, until a worker thread runs, which makes the calls of reads
 * from then on. Nothing is done where a driver has no such threads.
 */
export async function startWorker(driver: FileSystemDriver): Promise<void> {
  if (driver.capabilities.threads !== 'workers') return;
  let isOnline = false;
  const listen = (worker: Worker) => worker.once('online', () => (isOnline = true));
  process.on('worker', listen);
  const read = () => driver.read('none', { offset: 0, length: 1 });
  const restore = slowNode();
  while (!isOnline) await Promise.allSettled(Array.from({ length: 16 }, read));
  restore();
  process.off('worker', listen);
}
