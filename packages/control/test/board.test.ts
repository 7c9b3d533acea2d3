import { MemoryRecords, MemoryRegistry, type Registry } from '@tiered/cluster/registry';
import { ManualClock, ticked } from '@tiered/core/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { Control, look, setPolicy, type Policy } from '../src/index.js';

const open = new Set<{ readonly close: () => Promise<void> }>();

afterEach(async () => {
  await Promise.all([...open].map((one) => one.close()));
  open.clear();
});

async function makeWorld() {
  const clock = new ManualClock(ticked);
  const records = new MemoryRecords(clock);
  const registry = async () => {
    const made = new MemoryRegistry(records);
    await made.open();
    open.add(made);
    return made;
  };
  const join = async (job: string, own: Registry = new MemoryRegistry(records)) => {
    const control = await Control.join({ registry: own, job, clock });
    open.add(control);
    return control;
  };
  return { clock, records, registry, join };
}

const budget = (bytes: number) => (policy: Policy) => ({
  ...policy,
  sources: { ...policy.sources, nfs: { bytes } },
});

/** A registry whose engine has one time for all records. */
class BriefRegistry extends MemoryRegistry {
  override readonly longestTtlMs = 10_000;
}

describe('what operators set', () => {
  it('[U6] is a revision, and changes what was set before', async () => {
    const { registry } = await makeWorld();
    const own = await registry();
    await setPolicy(own, budget(100), { owner: 'one', by: 'ada' });
    const weights = (policy: Policy) => ({ ...policy, jobs: { a: { weight: 2 } } });
    const set = await setPolicy(own, weights, { owner: 'two' });
    expect(set).toMatchObject({ revision: 2, sources: { nfs: { bytes: 100 } }, jobs: { a: { weight: 2 } } });
    expect((await look(own)).policy).toEqual(set);
    // The revision before is gone, and does not lie about.
    expect(await own.all()).toHaveLength(1);
  });

  it('[U6] is not lost if several set something at the same moment', async () => {
    const { registry } = await makeWorld();
    const operators = await Promise.all(Array.from({ length: 5 }, registry));
    await Promise.all(
      operators.map((own, i) =>
        setPolicy(
          own,
          (policy) => ({ ...policy, jobs: { ...policy.jobs, [`job-${i}`]: { weight: i + 1 } } }),
          {
            owner: `operator-${i}`,
          },
        ),
      ),
    );
    const [own] = operators;
    const { policy } = own === undefined ? { policy: undefined } : await look(own);
    expect(policy?.revision).toBe(5);
    expect(Object.keys(policy?.jobs ?? {})).toHaveLength(5);
  });

  it('[U6] is not taken for set if a later revision holds', async () => {
    const { registry } = await makeWorld();
    const [late, other] = [await registry(), await registry()];
    await setPolicy(other, budget(1), { owner: 'first' });
    let hasSet = false;
    // While the one decides, another one sets two more.
    const slow = new BriefRegistryOf(late);
    const put = slow.put;
    slow.put = async (entry, options) => {
      if (!hasSet) {
        hasSet = true;
        for (const bytes of [2, 3]) await setPolicy(other, budget(bytes), { owner: `other-${bytes}` });
      }
      return put(entry, options);
    };
    const set = await setPolicy(slow, (policy) => ({ ...policy, jobs: { a: { weight: 2 } } }), {
      owner: 'late',
    });
    expect((await look(other)).policy).toEqual(set);
    expect(set).toMatchObject({ sources: { nfs: { bytes: 3 } }, jobs: { a: { weight: 2 } } });
    expect(await other.all()).toHaveLength(1);
  });

  it('[U6] is refused, with the field named, if it cannot be', async () => {
    const { registry } = await makeWorld();
    const own = await registry();
    const bad = (policy: Policy) => ({ ...policy, jobs: { a: { weight: -1 } } });
    await expect(setPolicy(own, bad, { owner: 'one' })).rejects.toMatchObject({
      code: 'TIERED_CONFIG_INVALID',
      message: expect.stringContaining('jobs.a.weight') as string,
    });
    expect((await look(own)).policy).toBeUndefined();
  });

  it('[U6] is kept by the stages where records expire, or are forgotten', async () => {
    const { clock, records, registry, join } = await makeWorld();
    const stage = await join('a', new BriefRegistry(records));
    await join('b', new BriefRegistry(records));
    const own = await registry();
    await setPolicy(new BriefRegistryOf(own), budget(100), { owner: 'one' });
    await clock.advance(60_000);
    expect(stage.view().seen.policy?.sources).toEqual({ nfs: { bytes: 100 } });
    // The registry forgets everything.
    for (const { slot, owner } of await own.all()) records.leave(slot, owner);
    await clock.advance(2_000);
    expect((await look(own)).policy).toMatchObject({ revision: 1, sources: { nfs: { bytes: 100 } } });
  });

  it('lapses where records expire and no stage is there', async () => {
    const { clock, registry } = await makeWorld();
    const own = await registry();
    await setPolicy(new BriefRegistryOf(own), budget(100), { owner: 'one' });
    await clock.advance(10_001);
    expect((await look(own)).policy).toBeUndefined();
  });
});

/** An open registry, as one whose engine has one time for all records. */
class BriefRegistryOf implements Registry {
  readonly name = 'brief';
  readonly longestTtlMs = 10_000;
  readonly #inner: Registry;

  constructor(inner: Registry) {
    this.#inner = inner;
  }

  open: Registry['open'] = (options) => this.#inner.open(options);
  put: Registry['put'] = (entry, options) => this.#inner.put(entry, options);
  all: Registry['all'] = (options) => this.#inner.all(options);
  watch: Registry['watch'] = (changed) => this.#inner.watch(changed);
  leave: Registry['leave'] = (slot, owner, options) => this.#inner.leave(slot, owner, options);
  close: Registry['close'] = () => this.#inner.close();
}

describe('the stages of a registry', () => {
  it('[U5] see each other, and whoever has left or was killed no more', async () => {
    const { clock, records, registry, join } = await makeWorld();
    const [a, b] = [await join('a'), await join('b')];
    await clock.advance(600);
    const jobs = () => a.view().seen.stages.map(({ job }) => job);
    expect(jobs().toSorted()).toEqual(['a', 'b']);
    await b.close();
    await clock.advance(600);
    expect(jobs()).toEqual(['a']);
    // One that was killed: its record stays, and is not put again.
    const killed = new MemoryRegistry(records);
    await killed.open();
    open.add(killed);
    const [entry] = (await (await registry()).all()).filter(({ slot }) => slot.startsWith('stage.'));
    const record = { ...(entry?.record as object), job: 'killed' };
    await killed.put({ slot: 'stage.killed', owner: 'killed', record }, { ttlMs: 3000 });
    await clock.advance(1_000);
    expect(jobs().toSorted()).toEqual(['a', 'killed']);
    await clock.advance(3_000);
    expect(jobs()).toEqual(['a']);
  });

  it('[U7] take no notice of records that are none of theirs, or nonsense', async () => {
    const { clock, registry, join } = await makeWorld();
    const control = await join('a');
    const own = await registry();
    const put = (slot: string, record: unknown) => own.put({ slot, owner: slot, record }, { ttlMs: 60_000 });
    await put('rank-0', { rank: 0, url: '', share: true });
    await put('stage.nonsense', { v: 1, kind: 'stage', job: '<script>' });
    await put('stage.negative', {
      v: 1,
      kind: 'stage',
      job: 'x',
      node: 'n',
      terms: { weight: -5 },
      sources: {},
      tiers: {},
    });
    await put('policy.7', { v: 1, kind: 'policy', revision: 8, sources: {}, jobs: {}, nodes: {} });
    await put('policy.8', 'nothing');
    const bare = { v: 1, kind: 'stage', job: 'x', node: 'n', terms: {}, sources: {}, tiers: {} };
    await put('stage.endless', { ...bare, needs: 1e308 });
    await put('stage.prototype', { ...bare, job: '__proto__' });
    const nothing = { wanted: {}, used: { bytes: 1, operations: 1 }, waits: 0, budget: { bytes: 0 } };
    await put('stage.closed', { ...bare, sources: { nfs: nothing } });
    await clock.advance(1_000);
    expect(control.view().seen.stages.map(({ job }) => job)).toEqual(['a']);
    expect(control.view().seen.policy).toBeUndefined();
  });

  it('cannot meet in a registry that keeps no records of stages', async () => {
    const { join } = await makeWorld();
    const { StaticRegistry } = await import('@tiered/cluster/registry');
    const list = new StaticRegistry({ members: [{ rank: 0, url: 'http://127.0.0.1:1' }] });
    await expect(join('a', list)).rejects.toMatchObject({ code: 'TIERED_CONFIG_INVALID' });
  });
});
