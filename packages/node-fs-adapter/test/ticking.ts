import { ManualClock } from '@tiered/core/testing';
import fs from 'node:fs';

/** A clock by which everything takes its time. */
export class TickingClock extends ManualClock {
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
