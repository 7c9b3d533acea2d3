import { describe, expect, it } from 'vitest';
import { admission, decide, explain, type PolicyRecord, type Stage } from '../src/index.js';

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

const why = (job: string, stages: readonly Stage[], set: PolicyRecord | undefined) =>
  explain(decide(stages, set), job).join(' ');

describe('why a job gets what it gets', () => {
  it('is said of one that has all that it wants, and of those that share the rest by weight', () => {
    const stages = [stage('a', 30), stage('b', undefined), stage('c', undefined, { terms: { weight: 2 } })];
    const set = policy(150);
    expect(why('a', stages, set)).toBe(
      'nfs gives 152.3 MiB/s. An operator has set that. a has 30 MiB/s, which is all that it wants. ' +
        'It uses 30 MiB/s in 100 requests/s.',
    );
    expect(why('c', stages, set)).toContain(
      'c has 80 MiB/s. It wants everything. 2 jobs want more than they have and share 120 MiB/s by weight: ' +
        '2 of 3 is its. a has all that is wanted there.',
    );
  });

  it('is said of limits, guarantees and priorities', () => {
    const stages = [stage('a', undefined), stage('b', undefined), stage('c', undefined)];
    const set = (jobs: PolicyRecord['jobs']) => policy(100, jobs);
    const limited = set({ a: { atMost: { bytes: 10 * MB } } });
    expect(why('a', stages, limited)).toContain('a has 10 MiB/s, which is its limit.');
    const guaranteed = set({ a: { atLeast: { bytes: 60 * MB } } });
    expect(why('a', stages, guaranteed)).toContain('a has 60 MiB/s, which is guaranteed to it.');
    const first = set({ a: { priority: 1, atMost: { bytes: 80 * MB } } });
    expect(why('b', stages, first)).toContain(
      'b has 10 MiB/s. It wants everything, and jobs of a higher priority come first: a.',
    );
  });

  it('is said of a source that nothing bounds, and nothing of a job that is not there', () => {
    expect(why('a', [stage('a', undefined)], undefined)).toContain('nothing bounds it');
    expect(explain(decide([stage('a', 1)], undefined), 'b')).toEqual([]);
  });
});

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
