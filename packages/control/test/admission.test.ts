import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admission, type Candidate, type PolicyRecord, type Stage } from '../src/index.js';

/** What the source gives to several jobs together: a little less than its budget. */
const GIVES = 0.985;

interface TestJob extends Partial<Pick<Stage, 'terms' | 'stall'>> {
  readonly job: string;
  readonly used: number;
  /** Undefined for everything. */
  readonly wanted?: number | undefined;
}

/** A stage that reads from the source, with bytes only. */
const stage = ({ job, used, wanted, terms = {}, stall }: TestJob): Stage => ({
  id: job,
  v: 1,
  kind: 'stage',
  job,
  node: 'node',
  terms,
  sources: { nfs: { wanted: { bytes: wanted }, used: { bytes: used, operations: 0 }, waits: 0 } },
  stall,
  tiers: {},
});

const policy = (bytes: number): PolicyRecord => ({
  v: 1,
  kind: 'policy',
  revision: 1,
  sources: { nfs: { bytes: bytes / GIVES } },
  jobs: {},
  nodes: {},
});

const candidate = (bytes: number, more: Partial<Candidate> = {}): Candidate => ({
  job: 'new',
  terms: {},
  source: 'nfs',
  wanted: { bytes, operations: Infinity },
  ...more,
});

/** What the newcomer would do to these jobs, on a source that gives so much. */
const admitted = (bytes: number, jobs: readonly TestJob[], one: Candidate) =>
  admission({ stages: jobs.map(stage), policy: policy(bytes) }, one);

const starvedBy = ({ effects }: ReturnType<typeof admission>) =>
  effects.filter(({ isStarvedByIt }) => isStarvedByIt).map(({ job }) => job);

describe('a job that has all that it wants', () => {
  const others = [
    { job: 'a', used: 47, wanted: 50 },
    { job: 'b', used: 95, wanted: 100 },
  ];

  it('is there with the newcomer, as long as both have that', () => {
    const found = admitted(200, [{ job: 'a', used: 47, wanted: 50 }], candidate(80));
    expect(found).toMatchObject({ fits: true, hasEnough: true });
    expect(found.effects.map(({ job, served, slowdown }) => [job, served, slowdown])).toEqual([
      ['new', 1, 1],
      ['a', 1, 1],
    ]);
  });

  it('starves if it could not have that any more', () => {
    const found = admitted(200, others, candidate(80));
    expect(found.fits).toBe(false);
    expect(starvedBy(found)).toEqual(['b']);
    expect(found.effects[0]).toMatchObject({ job: 'new', isStarvedByIt: false });
  });

  it('keeps it from a newcomer that comes after it, which then has too little', () => {
    const modest = admitted(200, others, candidate(80, { terms: { priority: -1 } }));
    expect(modest).toMatchObject({ fits: false, hasEnough: false });
    expect(starvedBy(modest)).toEqual([]);
    expect(modest.effects[0]?.served).toBeCloseTo(50 / 80);
  });
});

describe('a job that wants everything', () => {
  it('loses half to a newcomer of its weight, and does not starve by that', () => {
    const alone = { job: 'a', used: 150, stall: 0.25 };
    const found = admitted(150, [alone], candidate(Infinity));
    expect(found.fits).toBe(true);
    const [, a] = found.effects;
    expect(a?.before?.bytes).toBeCloseTo(150 / GIVES);
    expect(a?.after.bytes).toBeCloseTo(75);
    expect(a?.slowdown).toBeCloseTo(2);
    // It computes in 75 of 100 seconds now, and in as many of 200 then.
    expect(a?.stall?.after).toBeCloseTo(1 - 0.75 / 2);
  });

  it('starves if it keeps less than half of what it uses', () => {
    const found = admitted(150, [{ job: 'a', used: 150 }], candidate(Infinity, { terms: { weight: 2 } }));
    expect(found.fits).toBe(false);
    expect(starvedBy(found)).toEqual(['a']);
    expect(found.effects[1]?.slowdown).toBeCloseTo(3);
  });

  it('is judged by what it uses, and not by what it could have', () => {
    const found = admitted(150, [{ job: 'a', used: 40 }], candidate(Infinity, { terms: { weight: 2 } }));
    expect(found.fits).toBe(true);
    expect(found.effects[1]).toMatchObject({ slowdown: 1 });
    // It has used more than its share for a moment: that is not taken by the newcomer.
    const greedy = [
      { job: 'a', used: 140 },
      { job: 'b', used: 10 },
    ];
    expect(admitted(150, greedy, candidate(1)).effects[1]?.slowdown).toBeCloseTo(75 / 74.5);
  });

  it('starves below what is guaranteed to it', () => {
    const guaranteed = { job: 'a', used: 80, terms: { atLeast: { bytes: 80 } } };
    const rest = { job: 'b', used: 20 };
    const kept = admitted(100, [guaranteed, rest], candidate(15));
    expect(starvedBy(kept)).toEqual([]);
    const demanding = candidate(40, { terms: { atLeast: { bytes: 40 } } });
    // Nine tenths are guaranteed, as 80 to 40.
    const found = admitted(100, [guaranteed, rest], demanding);
    expect(found.effects[1]?.after.bytes).toBeCloseTo(60, 0);
    expect(starvedBy(found)).toContain('a');
  });

  it('starves as one that has less than it wants', () => {
    const some = [
      { job: 'a', used: 50, wanted: 120 },
      { job: 'b', used: 50, wanted: 120 },
    ];
    expect(starvedBy(admitted(100, some, candidate(20)))).toEqual([]);
    const first = candidate(80, { terms: { priority: 1 } });
    expect(starvedBy(admitted(100, some, first))).toEqual(['a', 'b']);
  });
});

it('names the newcomer first, and the others by name, whatever their processes are called', () => {
  const stages = ['c', 'a', 'b'].map((job, at) => ({ ...stage({ job, used: 1 }), id: `${at}` }));
  const { effects } = admission({ stages, policy: policy(100) }, candidate(1));
  expect(effects.map(({ job }) => job)).toEqual(['new', 'a', 'b', 'c']);
});

describe('the newcomer', () => {
  const busy = [{ job: 'a', used: 100 }];

  it('has enough with what it needs, which may be less than it could use', () => {
    expect(admitted(100, busy, candidate(90)).hasEnough).toBe(false);
    const needed = { bytes: 45, operations: Infinity };
    expect(admitted(100, busy, candidate(90, { needed })).hasEnough).toBe(true);
    expect(admitted(100, busy, candidate(90, { needed: { ...needed, bytes: 60 } })).hasEnough).toBe(false);
  });

  it('is another stage of a job that is there, which needs what it uses as well', () => {
    expect(admitted(100, busy, candidate(10, { job: 'a' }))).toMatchObject({ hasEnough: false });
    const found = admitted(100, [{ job: 'a', used: 60, wanted: 63 }], candidate(30, { job: 'a' }));
    expect(found).toMatchObject({ fits: true, effects: [{ job: 'a' }] });
  });

  it('may say what the source gives, where nobody else does', () => {
    const budget = { bytes: 100, operations: Infinity };
    const alone = admission({ stages: [], policy: undefined }, candidate(120, { budget }));
    expect(alone).toMatchObject({
      hasEnough: false,
      budget,
      effects: [{ job: 'new', after: { bytes: 100 } }],
    });
  });
});

it('starves nobody who keeps its share, and slows down nobody who keeps what it uses', () => {
  const amount = fc.integer({ min: 0, max: 200 });
  const terms = fc.record(
    {
      weight: fc.integer({ min: 1, max: 9 }),
      priority: fc.integer({ min: -1, max: 1 }),
      atLeast: fc.record({ bytes: amount }),
    },
    { requiredKeys: [] },
  );
  const jobs = fc.uniqueArray(
    fc.record({
      job: fc.constantFrom('a', 'b', 'c', 'constructor'),
      used: amount,
      wanted: fc.option(amount, { nil: undefined }),
      terms,
    }),
    { selector: ({ job }) => job },
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), jobs, amount, terms, (bytes, others, wanted, own) => {
      const { fits, hasEnough, effects } = admitted(bytes, others, candidate(wanted, { terms: own }));
      expect(effects.map(({ job }) => job).toSorted()).toEqual(
        ['new', ...others.map(({ job }) => job)].toSorted(),
      );
      expect(fits).toBe(hasEnough && !effects.some(({ isStarvedByIt }) => isStarvedByIt));
      for (const { before, after, used, slowdown, isStarvedByIt } of effects) {
        if (before === undefined || after.bytes >= before.bytes) expect(isStarvedByIt).toBe(false);
        if (after.bytes >= used.bytes) expect(slowdown).toBe(1);
        expect(slowdown).toBeGreaterThanOrEqual(1);
      }
    }),
  );
});
