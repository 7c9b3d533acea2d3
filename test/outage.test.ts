import { loadHierarchy, type HierarchyConfig } from '@tiered/config';
import { isTieredError } from '@tiered/core';
import { ManualClock, outcomeOf, someBytes } from '@tiered/core/testing';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BUCKET, place } from '../packages/s3-adapter/test/helpers.js';

const BYTES = someBytes(1000, 1);
const MINUTE = 60_000;

/** A hierarchy on a bucket whose server fails from its start on, and a clock of both. */
async function onFailingServer(options: object) {
  const { server } = await place();
  server.createBucket(BUCKET, { public: true });
  server.put(BUCKET, 'a', BYTES);
  const clock = new ManualClock();
  const s3 = { driver: 's3', bucket: BUCKET, endpoint: server.endpoint, anonymous: true, proxy: 'none' };
  const hierarchy = await (await loadHierarchy({ source: { ...s3, ...options } }, { clock })).open();
  onTestFinished(() => hierarchy.close());
  server.faults.set([{ fault: { kind: 'status', status: 503, code: 'SlowDown' } }]);
  const pass = async (ms: number) => {
    for (const until = clock.now() + ms; clock.now() < until;) {
      await clock.turn();
      if (clock.sleeping > 0) await clock.advance(100);
    }
  };
  return { server, clock, hierarchy, pass };
}

describe('a source that fails for a while', () => {
  it('[O4] is waited for as long as one setting says, five minutes or more, also by a file', async () => {
    const { server, clock, hierarchy, pass } = await onFailingServer({ deadlineMs: 10 * MINUTE });
    const reading = outcomeOf(hierarchy.read('a'));
    await pass(5 * MINUTE);
    expect(reading).toEqual({});
    // With growing pauses: a server that is down is not asked a thousand times.
    expect(server.requests.GetObject).toBeGreaterThan(50);
    expect(server.requests.GetObject).toBeLessThan(300);
    server.faults.set([]);
    while (reading.value === undefined && reading.error === undefined) {
      await clock.turn();
      if (clock.sleeping > 0) await clock.advance(100);
    }
    expect(reading.error).toBeUndefined();
    expect(Buffer.from(reading.value as Uint8Array)).toEqual(Buffer.from(BYTES));
  });

  it('[O4] is waited for until the deadline unless said otherwise, and the error names both options', async () => {
    const { clock, hierarchy } = await onFailingServer({});
    const start = clock.now();
    const error: unknown = await clock.run(hierarchy.read('a')).catch((reason: unknown) => reason);
    expect(isTieredError(error, 'TIERED_DEADLINE')).toBe(true);
    expect((error as Error).message).toMatch(/deadlineMs: 60000 .*attempts: without a bound/);
    expect(clock.now() - start).toBeGreaterThan(50_000);
    expect(clock.now() - start).toBeLessThanOrEqual(MINUTE);
  });

  it('[O4] is tried as often as was said, and the error names both options', async () => {
    const { clock, server, hierarchy } = await onFailingServer({ attempts: 3 });
    const read = clock.run(hierarchy.read('a'));
    await expect(read).rejects.toMatchObject({ code: 'TIERED_IO', attempts: 3 });
    await expect(read).rejects.toThrow(/attempts: 3 .*deadlineMs: 60000/);
    expect(server.requests.GetObject).toBe(3);
  });

  it('[O4] is given up sooner if it has never answered and nothing was said: the endpoint may be wrong', async () => {
    const config = (options: object): HierarchyConfig => ({
      source: {
        driver: 's3',
        bucket: BUCKET,
        endpoint: 'http://127.0.0.1:1',
        anonymous: true,
        proxy: 'none',
        ...options,
      },
    });
    for (const [options, least, most] of [
      [{}, 500, 10_000],
      [{ deadlineMs: 2 * MINUTE }, MINUTE, 2 * MINUTE],
    ] as const) {
      const clock = new ManualClock();
      const hierarchy = await loadHierarchy(config(options), { clock });
      await expect(clock.run(hierarchy.open())).rejects.toThrow(/attempts.*deadlineMs|deadlineMs.*attempts/);
      expect(clock.now()).toBeGreaterThan(least);
      expect(clock.now()).toBeLessThan(most);
    }
  });

  it('that is a directory is waited for with retry, whose deadline is the one setting', async () => {
    const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
    onTestFinished(() => fs.rm(directory, { recursive: true }));
    const [root, away] = [path.join(directory, 'data'), path.join(directory, 'away')];
    await fs.mkdir(root);
    await fs.writeFile(path.join(root, 'a'), BYTES);
    const clock = new ManualClock();
    const source = { driver: 'fs', root, retry: { deadlineMs: 10 * MINUTE } };
    const hierarchy = await (await loadHierarchy({ source }, { clock })).open();
    onTestFinished(() => hierarchy.close());
    await fs.rename(root, away);
    const reading = outcomeOf(hierarchy.read('a'));
    const hasEnded = () => reading.value !== undefined || reading.error !== undefined;
    const goOn = async () => {
      // Time stands still while a try is at the disk, which takes as long as it likes: between two, the
      // deadline and the pause sleep.
      while (clock.sleeping < 2 && !hasEnded()) await clock.turn();
      await clock.advance(100);
    };
    while (clock.now() < 5 * MINUTE) await goOn();
    expect(reading).toEqual({});
    await fs.rename(away, root);
    while (!hasEnded()) await goOn();
    expect(reading.error).toBeUndefined();
    expect(Buffer.from(reading.value as Uint8Array)).toEqual(Buffer.from(BYTES));
  });
});
