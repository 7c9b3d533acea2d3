import { TieredError } from '@tiered/core';
import { ManualClock, settled } from '@tiered/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import { Rescans } from '../src/daemon/growing.js';

/** Rescans every 100 ms that take so long each, and when they began. */
function rescans(tookMs: (number: number) => number, result: () => Promise<void> = () => Promise.resolve()) {
  const clock = new ManualClock();
  const began: number[] = [];
  const start = clock.now();
  const work = async (signal: AbortSignal) => {
    began.push(clock.now() - start);
    const ms = tookMs(began.length);
    if (ms > 0) await clock.sleep(ms, signal);
    await result();
  };
  const made = new Rescans(work, 100, clock);
  onTestFinished(() => made.close());
  const pass = async (ms: number) => {
    for (let i = 0; i < ms; i++) {
      await clock.advance(1);
      for (let turns = 0; turns < 5; turns++) await settled();
    }
  };
  return { made, began, pass };
}

it('[I15] the source is listed again each time, and less often where that takes long', async () => {
  const { began, pass } = rescans((number) => (number === 2 ? 10 : 0));
  await pass(600);
  // Twenty times ten after the second one.
  expect(began).toEqual([100, 200, 410, 510]);
});

it('[I15] a source that cannot be listed is tried again', async () => {
  const { began, pass } = rescans(
    () => 0,
    () => Promise.reject(new TieredError('TIERED_DEADLINE', 'No answer.')),
  );
  await pass(250);
  expect(began).toEqual([100, 200]);
});

it('[I15] a listing that is under way ends with the daemon', async () => {
  const { made, began, pass } = rescans(() => 1000);
  await pass(150);
  expect(began).toEqual([100]);
  await made.close();
});
