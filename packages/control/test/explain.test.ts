import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide, explain, type JobDecision, type PolicyRecord, type Stage } from '../src/index.js';

const MB = 1024 * 1024;

type Report = Stage['sources'][string];

let count = 0;

/** A stage that could use so much of the source `nfs`; everything, if it does not say. */
function stage(job: string, wanted: Report['wanted'] = {}, more: Partial<Stage> = {}): Stage {
  return {
    id: `${job}-${count++}`,
    v: 1,
    kind: 'stage',
    job,
    node: 'node',
    terms: {},
    sources: { nfs: { wanted, used: { bytes: 10 * MB, operations: 100 }, waits: 0 } },
    tiers: {},
    ...more,
  };
}

function policy(set: Partial<PolicyRecord>): PolicyRecord {
  return { v: 1, kind: 'policy', revision: 1, sources: {}, jobs: {}, nodes: {}, ...set };
}

/** Several jobs have so many MiB a second of the source together: a little less than it gives. */
const gives = (bytes: number, jobs: PolicyRecord['jobs'] = {}) =>
  policy({ sources: { nfs: { bytes: (bytes * MB) / 0.985 } }, jobs });

const why = (job: string, stages: readonly Stage[], set?: PolicyRecord) =>
  explain(decide(stages, set), job).join(' ');

const amount = (mebibytes: number) => ({ bytes: mebibytes * MB });

describe('why a job gets what it gets', () => {
  it('is said of one that has all that it wants, and of those that share the rest by weight', () => {
    const stages = [stage('a', amount(30)), stage('b'), stage('c', {}, { terms: { weight: 2 } })];
    expect(why('a', stages, gives(150))).toBe(
      'nfs gives 152.3 MiB/s. An operator has set that. a has 30 MiB/s, which is all that it wants. ' +
        'It uses 10 MiB/s in 100 requests/s.',
    );
    expect(why('c', stages, gives(150))).toContain(
      'c has 80 MiB/s. It wants everything. 150 MiB/s are shared out: a has 30 MiB/s and wants no more. ' +
        '2 jobs want more than they have and share 120 MiB/s by weight: 2 of 3 is its.',
    );
  });

  it('is said of limits', () => {
    const stages = [stage('a'), stage('b')];
    const set = gives(100, { a: { atMost: amount(10) } });
    expect(why('a', stages, set)).toContain('a has 10 MiB/s, which is its limit. It wants everything.');
    expect(why('b', stages, set)).toContain(
      '100 MiB/s are shared out: a has 10 MiB/s, its limit. b has the rest.',
    );
    const unbounded = policy({ jobs: { a: { atMost: amount(10) } } });
    expect(why('a', stages, unbounded)).toContain(
      'nothing bounds it. No budget is set, and what it gives was not measured yet. a has 10 MiB/s, which is its limit.',
    );
  });

  it('is said of guarantees, which are no part of what is shared by weight', () => {
    const stages = [stage('a'), stage('b', {}, { terms: { weight: 2 } }), stage('c')];
    const set = gives(100, { a: { atLeast: amount(70) } });
    expect(why('a', stages, set)).toContain(
      'a has 70 MiB/s, which is guaranteed to it. It wants everything. ' +
        '100 MiB/s are shared out: b, c have 30 MiB/s by weight, no more for their weight than a.',
    );
    expect(why('b', stages, set)).toContain(
      'b has 20 MiB/s. It wants everything. 100 MiB/s are shared out: a has 70 MiB/s before others. ' +
        '2 jobs want more than they have and share 30 MiB/s by weight: 2 of 3 is its.',
    );
    // All guarantees come to nine tenths at most, so that each is cut.
    const tooMuch = { a: { atLeast: amount(500) }, b: { atLeast: amount(500) }, c: { priority: 1 } };
    expect(why('a', stages, gives(100, tooMuch))).toMatch(
      /a has 44\.\d MiB\/s, which is left of its guarantee, 500 MiB\/s, since all guarantees come to nine tenths at most\. /,
    );
  });

  it('is said of priorities, and of those that only keep a little', () => {
    const stages = [stage('a'), stage('b'), stage('c')];
    const bounded = gives(100, { a: { priority: 1, atMost: amount(80) } });
    expect(why('b', stages, bounded)).toContain(
      'b has 10 MiB/s. It wants everything. 100 MiB/s are shared out: a has 80 MiB/s by a higher priority. ' +
        '2 jobs want more than they have and share 20 MiB/s by weight: 1 of 2 is its.',
    );
    const first = gives(300, { a: { priority: 1 } });
    expect(why('b', stages, first)).toContain(
      'b has 1 MiB/s, which is its part of the hundredth that all jobs keep. It wants everything. ' +
        '300 MiB/s are shared out: a has 298 MiB/s by a higher priority; c has 1 MiB/s before others.',
    );
    expect(why('a', stages, first)).toContain(
      '300 MiB/s are shared out: b, c have 2 MiB/s in spite of a lower priority. a has the rest.',
    );
    // A guarantee holds below a higher priority, too, and is the reason that counts.
    const guaranteed = gives(300, { a: { priority: 1 }, b: { atLeast: amount(50) } });
    expect(why('b', stages, guaranteed)).toContain('b has 50 MiB/s, which is guaranteed to it.');
  });

  it('is said of a job that is at its share of requests, and so needs fewer bytes', () => {
    const small = stage('small');
    const stages = [small, stage('large', amount(50))];
    const set = policy({ sources: { nfs: { bytes: 100 * MB, operations: 100 / 0.985 } } });
    const said = why('small', stages, set);
    expect(said).toContain(
      'small has 5 MiB/s, which is all that it can use with its requests. It wants everything.',
    );
    expect(said).toContain(
      '2 jobs want more than they have and share 100 requests/s by weight: 1 of 2 is its.',
    );
  });

  it('is said of a source that nothing bounds, of a job alone, and nothing of a job that is not there', () => {
    expect(why('a', [stage('a')])).toContain(
      'nothing bounds it. No budget is set, and no other job reads from it. So a reads as it likes.',
    );
    expect(why('a', [stage('a')], gives(98.5))).toContain(
      'a has 100 MiB/s. It wants everything. a has all that is shared out.',
    );
    const idle = stage('idle', { bytes: 0, operations: 0 });
    expect(why('a', [stage('a'), idle], gives(100))).toContain('a has all that is shared out.');
    expect(explain(decide([stage('a')], undefined), 'b')).toEqual([]);
  });

  it('names so many other jobs, and counts the rest', () => {
    const stages = [
      stage('a'),
      ...Array.from({ length: 40 }, (_, at) => stage(`job-${100 + at}`, amount(1))),
    ];
    expect(why('a', stages, gives(100))).toContain('job-107 and 32 more have 40 MiB/s and want no more.');
  });
});

/** An amount in words, and by how much it may be rounded. */
interface Named {
  readonly value: number;
  readonly within: number;
}

const UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50, requests: 1 };

function amountsIn(text: string): Named[] {
  return [...text.matchAll(/\b(\d+)(\.\d)? (\w+)\/s/g)].map(([, whole, fraction = '', unit = 'B']) => {
    const size = UNITS[unit as keyof typeof UNITS];
    const isFine = fraction !== '' || (unit !== 'B' && unit !== 'requests');
    return { value: Number(`${whole}${fraction}`) * size, within: (isFine ? 0.051 : 0.51) * size };
  });
}

function sumOf(amounts: readonly Named[]): Named {
  return amounts.reduce((a, b) => ({ value: a.value + b.value, within: a.within + b.within }), NOTHING);
}

const NOTHING: Named = { value: 0, within: 1e-6 };

/** What one sentence of a job says of one part of its share. */
function expectTrue(said: string, { job, share }: JobDecision, part: 'bytes' | 'operations'): void {
  const isNear = (amounts: Named, expected: number) =>
    expect(Math.abs(amounts.value - expected), said).toBeLessThanOrEqual(
      amounts.within + 1e-9 * Math.abs(expected),
    );
  const [first = NOTHING] = amountsIn(said.slice(said.indexOf(`${job} has`)));
  isNear(first, share[part]);
  const byWeight = /share (\S+ \S+) by weight: (\S+) of (\S+) is its/.exec(said);
  const left = sumOf(amountsIn(byWeight?.[1] ?? ''));
  if (byWeight !== null) {
    const fraction = Number(byWeight[2]) / Number(byWeight[3]);
    // Weights have six digits.
    isNear({ value: left.value * fraction, within: left.within + 1e-5 * left.value }, share[part]);
  }
  const sharedOut = /(\S+ \S+) are shared out: (.*?)\.(?= |$)/.exec(said);
  if (sharedOut === null) return;
  const [whole = NOTHING] = amountsIn(sharedOut[1] ?? '');
  const all = sumOf([
    ...amountsIn(sharedOut[2] ?? ''),
    byWeight === null ? { value: share[part], within: 0 } : left,
    { value: 0, within: whole.within },
  ]);
  isNear(all, whole.value);
}

describe('the numbers of an explanation', () => {
  const bytes = fc.oneof(fc.constantFrom(1, 5e5, 7e7), fc.integer({ min: 1, max: 4e9 }));
  const operations = fc.integer({ min: 1, max: 5000 });
  const rate = fc.record({ bytes, operations }, { requiredKeys: [] });
  const terms = fc.record(
    {
      weight: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.double({ min: 0.001, max: 1000, noNaN: true })),
      priority: fc.integer({ min: -1, max: 1 }),
      atLeast: rate,
      atMost: rate,
    },
    { requiredKeys: [] },
  );
  const report = fc.record({
    wanted: rate,
    used: fc.record({ bytes, operations: fc.nat(2000) }),
    waits: fc.constant(0),
    budget: fc.option(rate, { nil: undefined }),
    measured: fc.option(bytes, { nil: undefined }),
  });
  const record = fc.record({
    job: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    terms,
    report,
    needs: fc.option(bytes, { nil: undefined }),
  });
  const policies = fc.option(
    fc
      .record({
        nfs: fc.option(fc.record({ bytes, operations }, { requiredKeys: [] }), { nil: undefined }),
        jobs: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), terms),
      })
      .map(({ nfs, jobs }) => policy({ sources: nfs === undefined ? {} : { nfs }, jobs })),
    { nil: undefined },
  );

  it('[U2] add up to what was decided', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 8 }), policies, (records, set) => {
        const stages = records.map(({ job, report: nfs, ...rest }) =>
          stage(job, {}, { ...rest, sources: { nfs } }),
        );
        const decision = decide(stages, set);
        for (const job of decision.sources.get('nfs')?.jobs ?? []) {
          const said = explain(decision, job.job).slice(1, -1);
          const parts = (['bytes', 'operations'] as const).filter((part) =>
            said.some((sentence) => sentence.startsWith(`${job.job} has`) && isOf(sentence, part)),
          );
          expect(parts).toHaveLength(said.length);
          parts.forEach((part, at) => expectTrue(said[at] ?? '', job, part));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

function isOf(sentence: string, part: 'bytes' | 'operations'): boolean {
  return (part === 'operations') === /^\S+ has [\d.]+ requests\/s/.test(sentence);
}
