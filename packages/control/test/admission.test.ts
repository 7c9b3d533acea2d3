import { describe, expect, it } from 'vitest';
import { admission, type PolicyRecord, type Stage } from '../src/index.js';

const MB = 1024 * 1024;

/** A stage that wants so many MiB a second of the source, and gets along with what it has. */
function stage(job: string, wanted: number | undefined, more: Partial<Stage> = {}): Stage {
  const bytes = wanted === undefined ? undefined : wanted * MB;
  return {
    id: job,
    v: 1,
    kind: 'stage',
    job,
    node: 'node',
    terms: {},
    sources: { nfs: { wanted: { bytes }, used: { bytes: (wanted ?? 10) * MB, operations: 100 }, waits: 0 } },
    tiers: {},
    ...more,
  };
}

/** Several jobs have so much of the source together: a little less than it gives. */
function policy(bytes: number, jobs: PolicyRecord['jobs'] = {}): PolicyRecord {
  return {
    v: 1,
    kind: 'policy',
    revision: 1,
    sources: { nfs: { bytes: (bytes * MB) / 0.985 } },
    jobs,
    nodes: {},
  };
}

describe('whether one more job fits', () => {
  const candidate = (wanted: number, terms: Stage['terms'] = {}) => ({
    job: 'new',
    terms,
    source: 'nfs',
    wanted: { bytes: wanted * MB, operations: Infinity },
  });
  const seen = (stages: readonly Stage[], bytes: number) => ({ stages, policy: policy(bytes) });

  it('is told by what each would have', () => {
    const found = admission(seen([stage('a', 50), stage('b', 60)], 200), candidate(80));
    expect(found.fits).toBe(true);
    expect(found.effects.map(({ job, served }) => [job, served])).toEqual([
      ['new', 1],
      ['a', 1],
      ['b', 1],
    ]);
  });

  it('is denied if others would starve by it, or itself', () => {
    const others = [stage('a', 50), stage('b', 100)];
    const found = admission(seen(others, 200), candidate(80));
    expect(found.fits).toBe(false);
    expect(found.effects).toMatchObject([
      { job: 'new', isStarvedByIt: false },
      { job: 'a', served: 1, isStarvedByIt: false },
      { job: 'b', isStarvedByIt: true },
    ]);
    // A job that leaves the others what they have gets too little itself.
    const modest = admission(seen(others, 200), candidate(80, { priority: -1 }));
    expect(modest.fits).toBe(false);
    expect(modest.effects.filter(({ isStarvedByIt }) => isStarvedByIt)).toEqual([]);
    expect(modest.effects[0]?.served).toBeCloseTo(50 / 80);
  });
});
