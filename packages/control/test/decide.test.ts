import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide, type PolicyRecord, type Stage } from '../src/index.js';
import { guaranteedOf, shareOf } from '../src/shares/decide.js';

interface Wants {
  readonly bytes?: number;
  readonly operations?: number;
  readonly used?: { readonly bytes: number; readonly operations: number };
}

let count = 0;

/** A stage that could use so much of the source `nfs`; everything, if it does not say. */
function stage(
  job: string,
  { used = { bytes: 100, operations: 1 }, ...wanted }: Wants,
  more: Partial<Stage> = {},
): Stage {
  return {
    id: `${job}-${count++}`,
    v: 1,
    kind: 'stage',
    job,
    node: 'node',
    terms: {},
    sources: { nfs: { wanted, used, waits: 0 } },
    tiers: {},
    ...more,
  };
}

function policy(set: Partial<PolicyRecord>): PolicyRecord {
  return { v: 1, kind: 'policy', revision: 1, sources: {}, jobs: {}, nodes: {}, ...set };
}

/** What a source has to give for several jobs to have so much of it together. */
const toShare = (amount: number) => amount / 0.985;

function gives(bytes: number, operations?: number) {
  const most = operations === undefined ? undefined : toShare(operations);
  return policy({ sources: { nfs: { bytes: toShare(bytes), operations: most } } });
}

function sharesOf(stages: readonly Stage[], set: PolicyRecord | undefined) {
  const decision = decide(stages, set);
  return stages.map(({ id }) => shareOf(decision, id, 'nfs'));
}

const bytesOf = (stages: readonly Stage[], set: PolicyRecord | undefined) =>
  sharesOf(stages, set).map(({ bytes }) => Math.round(bytes));

describe('the shares of all', () => {
  it('[U2] do not depend on the order in which the records come', () => {
    const wants = fc.record({ bytes: fc.nat(1000), operations: fc.nat(100) }, { requiredKeys: [] });
    const some = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), wants), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(some, fc.nat(2000), (list, budget) => {
        const stages = list.map(([job, want]) => stage(job, want));
        const [one, other] = [stages, stages.toReversed()].map((all) => decide(all, gives(budget, 50)));
        for (const { id } of stages)
          expect(shareOf(other ?? decide([], undefined), id, 'nfs')).toEqual(
            shareOf(one ?? decide([], undefined), id, 'nfs'),
          );
      }),
    );
  });

  it('[U2] are of jobs first, and then of their stages, so that a job gains nothing by more of them', () => {
    const stages = [
      stage('one', {}),
      stage('four', {}),
      stage('four', {}),
      stage('four', { bytes: 10 }),
      stage('four', {}),
    ];
    const [one = 0, ...four] = bytesOf(stages, gives(200));
    expect(one).toBe(100);
    expect(four.reduce((a, b) => a + b, 0)).toBe(100);
    expect(four).toEqual([30, 30, 10, 30]);
  });

  it('leave to jobs of large objects the bytes that a job of small ones cannot use', () => {
    // 20 requests a second of 1 byte each are 20 bytes, whatever it says of bytes.
    const small = stage('small', { used: { bytes: 40, operations: 40 } });
    const large = stage('large', { used: { bytes: 9000, operations: 9 } });
    const [ofSmall, ofLarge] = sharesOf([small, large], gives(10_000, 100));
    expect(ofSmall?.operations).toBeGreaterThan(80);
    expect(ofLarge?.bytes).toBeGreaterThan(9_900);
  });

  it('come from what operators set, else from options, else from what was measured by several jobs', () => {
    const withBudget = (bytes: number | undefined, measured: number) => {
      const made = stage(`job-${measured}`, {});
      const report = { wanted: {}, used: { bytes: 1, operations: 1 }, waits: 0, budget: { bytes }, measured };
      return { ...made, sources: { nfs: bytes === undefined ? { ...report, budget: undefined } : report } };
    };
    const given = [withBudget(500, 70), withBudget(300, 80), withBudget(undefined, 90)];
    const measured = [70, 80, 90_000].map((bytes) => withBudget(undefined, bytes));
    const found = (stages: readonly Stage[], set?: PolicyRecord) => {
      const { budget, budgetFrom } = decide(stages, set).sources.get('nfs') ?? { budget: { bytes: 0 } };
      return [budgetFrom, budget.bytes];
    };
    expect(found(given, policy({ sources: { nfs: { bytes: 1000 } } }))).toEqual(['policy', 1000]);
    expect(found(given)).toEqual(['options', 300]);
    // One stage that lies is not the one in the middle.
    expect(found(measured)).toEqual(['measured', 80]);
    expect(found(measured.slice(0, 1))).toEqual(['none', Infinity]);
  });

  it('[U6] go by what operators say of a job before what it says itself', () => {
    const heavy = stage('heavy', {}, { terms: { weight: 3, priority: 1 } });
    const light = stage('light', {});
    expect(bytesOf([heavy, light], gives(100))).toEqual([100, 0]);
    const set = policy({ ...gives(100), jobs: { heavy: { weight: 1, priority: 0 } } });
    expect(bytesOf([heavy, light], set)).toEqual([50, 50]);
  });

  it('[U2] guarantee what a job needs to end in time, together with what its other stages need', () => {
    const late = [stage('late', {}, { needs: 30 }), stage('late', {}, { needs: 40 })];
    expect(bytesOf([...late, stage('a', {}), stage('b', {})], gives(100))).toEqual([35, 35, 15, 15]);
  });

  it('[U2] leave to each job a little, whatever the priorities', () => {
    const stages = [stage('first', {}, { terms: { priority: 1 } }), stage('last', {})];
    const [first = 0, last = 0] = sharesOf(stages, gives(1000)).map(({ bytes }) => bytes);
    expect(last).toBeGreaterThan(4);
    expect(first + last).toBeCloseTo(1000);
  });

  it('have room for a job that does not read yet, out of what nobody wants', () => {
    expect(bytesOf([stage('reads', { bytes: 40 }), stage('idle', { bytes: 0 })], gives(100))).toEqual([
      70, 30,
    ]);
  });

  it('[U2] let a stage read that wanted nothing a moment ago, whatever the others take', () => {
    const stages = [stage('idle', { bytes: 0, operations: 0 }), stage('greedy', {})];
    const [idle = 0, greedy = 0] = bytesOf(stages, gives(1000));
    expect(idle).toBe(5);
    expect(greedy).toBeGreaterThan(990);
  });

  it('go to the stages of a job that read, and not to its idle ones', () => {
    const idle = Array.from({ length: 7 }, () => stage('many', { bytes: 0, operations: 0 }));
    const used = { bytes: 100_000, operations: 1 };
    const stages = [stage('many', { used }), ...idle, stage('other', { used })];
    const [reads = 0] = bytesOf(stages, gives(150e6, 1500));
    expect(reads).toBeGreaterThan(74e6);
  });

  it('[U7] are of names that objects seem to have already, too', () => {
    const report = { wanted: {}, used: { bytes: 1, operations: 1 }, waits: 0 };
    const named = {
      ...stage('constructor', {}, { node: 'valueOf' }),
      sources: { constructor: report, toString: report },
    };
    const set = policy({ sources: { constructor: { bytes: 100 } } });
    const decision = decide([named, stage('a', {})], set);
    expect(shareOf(decision, named.id, 'constructor').bytes).toBe(100);
    expect(shareOf(decision, named.id, 'toString').bytes).toBe(Infinity);
    expect(decision.nodes.get(named.id)?.memory).toBe(Infinity);
  });

  it('[U2] leave something to others, whatever is guaranteed', () => {
    const most = { atLeast: { bytes: 1e15 } };
    const stages = [
      stage('a', {}, { terms: most }),
      stage('b', {}, { terms: most, needs: 1e15 }),
      stage('c', {}),
    ];
    expect(bytesOf(stages, gives(90))).toEqual([40, 40, 9]);
  });

  it('say what a stage can count on, whatever the others want', () => {
    const stages = [stage('a', { bytes: 10 }), stage('b', { bytes: 10 }, { terms: { weight: 3 } })];
    const [a] = stages;
    expect(guaranteedOf(a?.id ?? '', 'nfs', stages, gives(100)).bytes).toBeCloseTo(25);
  });

  it('bound nothing of a source that nobody says anything about', () => {
    expect(sharesOf([stage('a', {})], undefined)).toEqual([{ bytes: Infinity, operations: Infinity }]);
    expect(shareOf(decide([], undefined), 'nobody', 'nfs').bytes).toBe(Infinity);
  });
});

describe('the shares of a node', () => {
  const on = (node: string, job: string, memory: number, producers: number) =>
    stage(job, {}, { node, memory: { used: 0, most: memory }, producers: { used: 0, most: producers } });

  it('are by weight, of what operators let its stages use together', () => {
    const stages = [on('one', 'a', 500, 64), on('one', 'b', 100, 4), on('two', 'a', 500, 64)];
    const { nodes } = decide(stages, policy({ nodes: { one: { memory: 400, producers: 12 } } }));
    expect(stages.map(({ id }) => nodes.get(id))).toEqual([
      { memory: 300, producers: 8 },
      { memory: 100, producers: 4 },
      { memory: Infinity, producers: Infinity },
    ]);
  });

  it('leave each stage one request, and each node that is not named to `*`', () => {
    const stages = [1, 2, 3].map((i) => on('node', `job-${i}`, 10, 10));
    const { nodes } = decide(stages, policy({ nodes: { '*': { producers: 2 } } }));
    expect(stages.map(({ id }) => nodes.get(id)?.producers)).toEqual([1, 1, 1]);
  });
});
