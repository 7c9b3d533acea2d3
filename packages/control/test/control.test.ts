import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { MemoryDriver } from '@tiered/core';
import { ManualClock, ticked } from '@tiered/core/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { admission, Control, explain, look } from '../src/index.js';
import { slowSource, startJob, type Job, type JobOptions } from './jobs.js';

const BUDGET = { bytesPerSecond: '150MB' };

interface World {
  readonly clock: ManualClock;
  readonly records: MemoryRecords;
  readonly start: (options: Omit<JobOptions, 'clock' | 'records'>) => Promise<Job>;
  /** Bytes a second that each job took in the next seconds. */
  readonly ratesIn: (seconds: number) => Promise<number[]>;
}

const jobs: Job[] = [];

afterEach(async () => {
  await Promise.all(jobs.splice(0).map((job) => job.stop()));
});

async function makeWorld(source: Parameters<typeof slowSource>[1] = {}): Promise<World> {
  const clock = new ManualClock(ticked);
  const records = new MemoryRecords(clock);
  const driver = await slowSource(clock, source);
  await clock.run(driver.open({}));
  return {
    clock,
    records,
    start: async (options) => {
      const job = await clock.run(startJob(driver, { ...options, clock, records }));
      jobs.push(job);
      return job;
    },
    ratesIn: async (seconds) => {
      const before = jobs.map((job) => job.bytes());
      await clock.advance(seconds * 1000);
      return jobs.map((job, at) => (job.bytes() - (before[at] ?? 0)) / seconds);
    },
  };
}

/** Checks rates in MB/s, each to within a twentieth. */
function expectRates(rates: readonly number[], expected: readonly number[]): void {
  expect(rates).toHaveLength(expected.length);
  for (const [at, rate] of rates.entries()) {
    expect(rate / 1e6).toBeGreaterThan((expected[at] ?? 0) * 0.95);
    expect(rate / 1e6).toBeLessThan((expected[at] ?? 0) * 1.05);
  }
}

describe('jobs that share a source', () => {
  it('[U4] have equal parts of it, however many requests each makes', async () => {
    const { start, ratesIn } = await makeWorld();
    await start({ job: 'modest', producers: 2, source: { budget: BUDGET } });
    await start({ job: 'greedy', producers: 32, source: { budget: BUDGET } });
    await ratesIn(3);
    expectRates(await ratesIn(5), [75, 75]);
  });

  it('[U4] have parts by weight', async () => {
    const { start, ratesIn } = await makeWorld();
    for (const weight of [1, 2, 4])
      await start({ job: `of-weight-${weight}`, weight, producers: 16, source: { budget: BUDGET } });
    await ratesIn(3);
    expectRates(await ratesIn(5), [150 / 7, 300 / 7, 600 / 7]);
  });

  it('[U4] leave to each other what they do not need', async () => {
    const { start, ratesIn } = await makeWorld();
    // 100 KB in 4 ms: 25 MB/s.
    await start({ job: 'computes', computeMs: 4, producers: 8, source: { budget: BUDGET } });
    await start({ job: 'reads', producers: 16, source: { budget: BUDGET } });
    await start({ job: 'reads-too', producers: 4, source: { budget: BUDGET } });
    await ratesIn(4);
    expectRates(await ratesIn(5), [25, 62.5, 62.5]);
  });

  it('[U4] have a new balance within two seconds after one came, and after one left', async () => {
    const { start, ratesIn } = await makeWorld();
    await start({ job: 'first', producers: 16, source: { budget: BUDGET } });
    expectRates(await ratesIn(3), [150]);
    const second = await start({ job: 'second', producers: 16, source: { budget: BUDGET } });
    await ratesIn(2);
    expectRates(await ratesIn(3), [75, 75]);
    jobs.pop();
    await second.stop();
    await ratesIn(2);
    expectRates(await ratesIn(3), [150]);
  });

  it('are told what one more does to them before it comes', async () => {
    const { clock, records, start, ratesIn } = await makeWorld();
    await start({ job: 'computes', computeMs: 4, producers: 8, source: { budget: BUDGET } });
    await start({ job: 'reads', producers: 16, source: { budget: BUDGET } });
    await ratesIn(4);
    const before = await ratesIn(5);
    const registry = new MemoryRegistry(records);
    await clock.run(registry.open({}));
    const seen = await clock.run(look(registry));
    await registry.close();
    const [source = ''] = Object.keys(seen.stages[0]?.sources ?? {});
    const wanted = { bytes: Infinity, operations: Infinity };
    const { fits, effects } = admission(seen, { job: 'new', terms: { weight: 2 }, source, wanted });
    expect(fits, 'reads keeps a third').toBe(false);
    await start({ job: 'new', weight: 2, producers: 16, source: { budget: BUDGET } });
    await ratesIn(4);
    const after = await ratesIn(5);
    for (const [at, job] of ['computes', 'reads', 'new'].entries()) {
      const effect = effects.find((one) => one.job === job);
      const really = Math.max(1, (before[at] ?? 0) / (after[at] ?? 0));
      expect(effect?.slowdown ?? 0, job).toBeGreaterThan(really * 0.9);
      expect(effect?.slowdown ?? 0, job).toBeLessThan(really * 1.1);
    }
    expect(effects.map(({ job, isStarvedByIt }) => [job, isStarvedByIt])).toEqual([
      ['new', false],
      ['computes', false],
      ['reads', true],
    ]);
  });

  it('[U4] find out what the source gives, if nobody says it', async () => {
    const { start, ratesIn } = await makeWorld({ bytesPerSecond: 100e6 });
    await start({ job: 'modest', producers: 4 });
    await start({ job: 'greedy', producers: 48 });
    await ratesIn(20);
    const rates = await ratesIn(20);
    expect((rates[0] ?? 0) + (rates[1] ?? 0)).toBeGreaterThan(0.94 * 100e6);
    expect((rates[1] ?? 0) / (rates[0] ?? 0)).toBeLessThan(1.25);
  });
});

describe('what a stage sees', () => {
  it('has its own sources at once, and those of others with their next record', async () => {
    const clock = new ManualClock(ticked);
    const records = new MemoryRecords(clock);
    const join = (job: string) =>
      clock.run(Control.join({ job, clock, registry: new MemoryRegistry(records) }));
    const [a, b] = [await join('a'), await join('b')];
    await clock.advance(1000);
    a.source(new MemoryDriver(), { name: 'nfs', budget: BUDGET });
    expect(explain(a.view().decision, 'a').join(' ')).toContain('nfs gives 143.1 MiB/s.');
    expect(explain(b.view().decision, 'a')).toEqual([]);
    await clock.advance(1000);
    expect(explain(b.view().decision, 'a').join(' ')).toContain('nfs gives 143.1 MiB/s.');
    await clock.run(Promise.all([a.close(), b.close()]));
  });
});
