import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { ManualClock, ticked } from '@tiered/core/testing';
import type { DescribedSequence } from '@tiered/prefetch/sampling';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Control, type ControlOptions } from '../src/index.js';

const DESCRIBED: DescribedSequence = {
  ...{ sampler: 'rank', first: 0, samples: 10, seed: 1, epochs: 3, epoch: 0 },
  ...{ workers: 2, worker: 1, batchSize: 4, dropLast: false },
};

function makeWorld() {
  const clock = new ManualClock(ticked);
  const records = new MemoryRecords(clock);
  const join = async (job: string, options: Partial<ControlOptions> = {}) => {
    const registry = new MemoryRegistry(records);
    const control = await Control.join({ registry, job, clock, node: 'n', ...options });
    onTestFinished(() => control.close());
    let changes = 0;
    control.on('sequencesChanged', () => (changes += 1));
    return { control, changes: () => changes };
  };
  /** A record that no stage of this version puts. */
  const put = async (record: object) => {
    const registry = new MemoryRegistry(records);
    await registry.open();
    const stage = { v: 1, kind: 'stage', job: 'liar', node: 'n', terms: {}, sources: {}, tiers: {} };
    const entry = { slot: 'stage.liar', owner: 'liar', record: { ...stage, ...record } };
    expect(await registry.put(entry, { ttlMs: 60_000 })).toBe(true);
  };
  return { clock, join, put };
}

describe('what stages say that they read', () => {
  it('[U11] is known to the others of the node that read the same, until it ends', async () => {
    const { clock, join } = makeWorld();
    const [one, two, far] = [await join('one'), await join('two'), await join('far', { node: 'other' })];
    let epoch = 0;
    const stop = one.control.followSequence('d', () => ({ ...DESCRIBED, epoch }));
    two.control.followSequence('d', () => ({ ...DESCRIBED, worker: 0 }));
    far.control.followSequence('d', () => DESCRIBED);
    const told = (control: Control) =>
      control.sequencesOf('d').map(({ job, sequence }) => [job, sequence.worker, sequence.epoch]);
    // Its own at once.
    expect(told(one.control)).toEqual([['one', 1, 0]]);
    await clock.advance(1500);
    expect(told(one.control).sort()).toEqual(told(two.control).sort());
    expect(told(two.control)).toContainEqual(['one', 1, 0]);
    expect(told(two.control)).toHaveLength(2);
    expect(two.control.sequencesOf('other')).toEqual([]);
    const before = two.changes();
    await clock.advance(3000);
    expect(two.changes()).toBe(before);
    epoch = 2;
    await clock.advance(1500);
    expect(told(two.control)).toContainEqual(['one', 1, 2]);
    expect(two.changes()).toBe(before + 1);
    stop();
    await clock.advance(1500);
    expect(told(two.control)).toEqual([['two', 0, 0]]);
    expect(two.changes()).toBe(before + 2);
    await two.control.close();
    expect(two.control.sequencesOf('d')).toEqual([]);
  });

  it.each([
    { samples: 1e15 },
    { epochs: 1e9 },
    { sampler: 'unknown' },
    { dataset: '__proto__ ' },
    { seed: -1 },
    { worker: 0.5 },
    { epoch: null },
  ])('[U11] is left out of a record if it cannot be, and the stage is one all the same: %o', async (lie) => {
    const { clock, join, put } = makeWorld();
    const { control } = await join('one');
    await put({
      sequences: [
        { dataset: 'd', ...DESCRIBED, ...lie },
        { dataset: 'd', ...DESCRIBED },
      ],
    });
    await clock.advance(1500);
    expect(control.view().seen.stages.map(({ job }) => job)).toContain('liar');
    expect(control.sequencesOf('d').map(({ sequence }) => sequence)).toEqual([DESCRIBED]);
  });

  it.each([[Array(5).fill({ dataset: 'd', ...DESCRIBED })], ['all'], [{ length: 1e15 }]])(
    '[U11] is nothing in a record that says too much: %o',
    async (sequences) => {
      const { clock, join, put } = makeWorld();
      const { control } = await join('one');
      await put({ sequences });
      await clock.advance(1500);
      expect(control.view().seen.stages.map(({ job }) => job)).toContain('liar');
      expect(control.sequencesOf('d')).toEqual([]);
    },
  );

  it('is refused where it is said if it cannot be in a record, and there are four at most', async () => {
    const { join } = makeWorld();
    const { control } = await join('one');
    expect(() => control.followSequence('a key/with.dots', () => DESCRIBED)).toThrow(/^dataset: /);
    expect(() => control.followSequence('d', () => ({ ...DESCRIBED, worker: 2 }))).toThrow(/^worker: /);
    for (let i = 0; i < 5; i++) control.followSequence('d', () => ({ ...DESCRIBED, seed: i }));
    expect(control.sequencesOf('d').map(({ sequence: { seed } }) => seed)).toEqual([0, 1, 2, 3]);
  });
});
