import { ManualClock } from '@tiered/core/testing';
import { describe, expect, it } from 'vitest';
import { ThreadPool } from '../src/read/thread-pool.js';

async function provenPool(mayLeave: boolean): Promise<ThreadPool> {
  const pool = new ThreadPool(new ManualClock(), mayLeave);
  expect(pool.isProven).toBe(false);
  await pool.watch(() => Promise.resolve());
  expect(pool.isProven).toBe(true);
  return pool;
}

describe('[B2] storage whose call was left by an abort', () => {
  it('has shown nothing, so that the event loop does not wait for it next', async () => {
    const controller = new AbortController();
    const pool = await provenPool(true);
    const left = pool.watchUntilAborted(controller.signal, async () => {
      controller.abort();
      // As a native read does, which goes on below.
      throw controller.signal.reason;
    });
    await expect(left).rejects.toBe(controller.signal.reason);
    expect(pool.isProven).toBe(false);
  });

  it('has answered where calls are waited for to their end, or nobody aborted', async () => {
    const source = await provenPool(false);
    await source.watchUntilAborted(AbortSignal.abort(), () => Promise.resolve());
    const tier = await provenPool(true);
    await tier.watchUntilAborted(new AbortController().signal, () => Promise.resolve());
    expect([source.isProven, tier.isProven]).toEqual([true, true]);
  });
});
