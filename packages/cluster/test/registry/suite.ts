import assert from 'node:assert/strict';
import type { Registry, RegistryEntry } from '../../src/registry/index.js';

/** Registries on one engine, for one test. */
interface RegistrySubject {
  /** Another registry on the engine, with an injected clock if it takes one; not open. */
  readonly make: () => Registry;
  /** Lets time pass where the clock is injected. */
  readonly pass: (ms: number) => Promise<void>;
  /** Closes what is left, and removes what was stored. */
  readonly cleanUp: () => Promise<void>;
}

/** What the suite needs. */
export interface RegistrySuite {
  readonly test: (name: string, run: () => Promise<void>) => unknown;
  /** @param ttlMs How long records live in the test, for engines with one time for all. */
  readonly factory: (ttlMs: number) => Promise<RegistrySubject>;
}

/** How long records live, in milliseconds: no test takes as long, however busy the machine is. */
export const LONG_MS = 600_000;
/** How long they live in tests that wait for their end. */
export const SHORT_MS = 1000;

export const entryOf = (slot: string, owner: string, record: unknown = { by: owner }): RegistryEntry => ({
  slot,
  owner,
  record,
});

/**
 * Repeats a look until it is as wanted. The test's own time limit bounds it.
 * @param pass Lets time pass between two looks where a clock is injected.
 */
export async function until(look: () => Promise<boolean>, pass?: () => Promise<void>): Promise<void> {
  while (!(await look())) await pass?.();
}

const slotsOf = async (registry: Registry) => (await registry.all({})).map(({ slot }) => slot).sort();

type Test = (subject: RegistrySubject, open: () => Promise<Registry>) => Promise<void>;

/** What every registry does whose members put records. The static list is tested by itself. */
const TESTS: Readonly<Record<string, Test>> = {
  'puts a record that all see': async (_, open) => {
    const [one, other] = [await open(), await open()];
    const record = { rank: 3, url: 'http://127.0.0.1:9400', text: 'ä\u0000"', nested: [null, true, 1.5] };
    assert.equal(await one.put(entryOf('rank-3', 'a', record), { ttlMs: LONG_MS }), true);
    for (const registry of [one, other])
      assert.deepEqual(await registry.all({}), [entryOf('rank-3', 'a', record)]);
  },

  'renews a record, and takes what is new of it': async ({ pass }, open) => {
    const [one, other] = [await open(), await open()];
    await one.put(entryOf('rank-0', 'a', 1), { ttlMs: LONG_MS });
    for (let i = 2; i < 5; i++) {
      await pass(LONG_MS - 1);
      assert.equal(await one.put(entryOf('rank-0', 'a', i), { ttlMs: LONG_MS }), true);
      assert.deepEqual(await other.all({}), [entryOf('rank-0', 'a', i)]);
    }
  },

  'lets an owner renew through another registry': async (_, open) => {
    const [one, other] = [await open(), await open()];
    await one.put(entryOf('rank-0', 'a', 1), { ttlMs: LONG_MS });
    assert.equal(await other.put(entryOf('rank-0', 'a', 2), { ttlMs: LONG_MS }), true);
    assert.equal(await one.put(entryOf('rank-0', 'a', 3), { ttlMs: LONG_MS }), true);
    assert.deepEqual(await other.all({}), [entryOf('rank-0', 'a', 3)]);
  },

  'refuses another owner, and changes nothing': async (_, open) => {
    const [one, other] = [await open(), await open()];
    await one.put(entryOf('rank-0', 'a'), { ttlMs: LONG_MS });
    assert.equal(await other.put(entryOf('rank-0', 'b'), { ttlMs: LONG_MS }), false);
    assert.deepEqual(await one.all({}), [entryOf('rank-0', 'a')]);
    assert.equal(await other.put(entryOf('rank-1', 'b'), { ttlMs: LONG_MS }), true);
    assert.deepEqual(await slotsOf(one), ['rank-0', 'rank-1']);
  },

  'removes the record of a member that leaves': async (_, open) => {
    const [one, other] = [await open(), await open()];
    await one.put(entryOf('rank-0', 'a'), { ttlMs: LONG_MS });
    await one.leave('rank-0', 'a', {});
    assert.deepEqual(await other.all({}), []);
    // Nothing is there to remove.
    await one.leave('rank-0', 'a', {});
    assert.equal(await other.put(entryOf('rank-0', 'b'), { ttlMs: LONG_MS }), true);
    assert.deepEqual(await one.all({}), [entryOf('rank-0', 'b')]);
  },

  'lets only the owner leave': async (_, open) => {
    const [one, other] = [await open(), await open()];
    await one.put(entryOf('rank-0', 'a'), { ttlMs: LONG_MS });
    await other.leave('rank-0', 'b', {});
    await other.leave('rank-1', 'b', {});
    assert.deepEqual(await one.all({}), [entryOf('rank-0', 'a')]);
  },

  'keeps records when their registry is closed': async (_, open) => {
    const [one, other] = [await open(), await open()];
    await one.put(entryOf('rank-0', 'a'), { ttlMs: LONG_MS });
    await one.close();
    assert.deepEqual(await slotsOf(other), ['rank-0']);
  },

  'keeps records of 16 KiB, and refuses larger ones': async (_, open) => {
    const registry = await open();
    const most = 'x'.repeat(16 * 1024 - 2);
    assert.equal(await registry.put(entryOf('rank-0', 'a', most), { ttlMs: LONG_MS }), true);
    assert.deepEqual(await registry.all({}), [entryOf('rank-0', 'a', most)]);
    await assert.rejects(registry.put(entryOf('rank-0', 'a', `${most}x`), { ttlMs: LONG_MS }), {
      code: 'TIERED_TOO_LARGE',
    });
    assert.deepEqual(await registry.all({}), [entryOf('rank-0', 'a', most)]);
  },

  'refuses names and times that cannot be': async (_, open) => {
    const registry = await open();
    const refused = { code: 'TIERED_CONFIG_INVALID' };
    for (const slot of ['', '.', 'a..b', 'a.', 'a b', '*', '>', '../a', 'a/b', 'a'.repeat(129)]) {
      await assert.rejects(registry.put(entryOf(slot, 'a'), { ttlMs: LONG_MS }), refused);
      await assert.rejects(registry.leave(slot, 'a', {}), refused);
    }
    for (const owner of ['', 'a\u0000', '\ud800', 'a'.repeat(257)])
      await assert.rejects(registry.put(entryOf('rank-0', owner), { ttlMs: LONG_MS }), refused);
    for (const ttlMs of [999, 1000.5, Number.NaN, Number.POSITIVE_INFINITY])
      await assert.rejects(registry.put(entryOf('rank-0', 'a'), { ttlMs }), refused);
    await assert.rejects(
      registry.put({ slot: 'rank-0', owner: 'a', record: undefined }, { ttlMs: LONG_MS }),
      refused,
    );
    assert.deepEqual(await registry.all({}), []);
  },

  'gives a slot to one of those that want it at the same time': async (_, open) => {
    const registries = await Promise.all(Array.from({ length: 5 }, open));
    const owners = registries.map((registry, i) =>
      registry.put(entryOf('rank-0', `${i}`), { ttlMs: LONG_MS }),
    );
    assert.equal((await Promise.all(owners)).filter((isMine) => isMine).length, 1);
  },

  'keeps many records': async (_, open) => {
    const registry = await open();
    const slots = Array.from({ length: 64 }, (_slot, i) => `rank-${i}`).sort();
    await Promise.all(slots.map((slot) => registry.put(entryOf(slot, slot), { ttlMs: LONG_MS })));
    assert.deepEqual(await slotsOf(registry), slots);
  },

  'tells who watches of new records, changes and removals': async ({ pass }, open) => {
    const [one, other] = [await open(), await open()];
    let hints = 0;
    const stop = other.watch(() => (hints += 1));
    const hinted = async (change: () => Promise<unknown>) => {
      const before = hints;
      // Whoever begins to watch may miss what happens while that begins.
      await until(
        async () => (await change(), hints > before),
        () => pass(500),
      );
    };
    let i = 0;
    const put = () => one.put(entryOf('rank-0', 'a', (i += 1)), { ttlMs: LONG_MS });
    await hinted(put);
    await hinted(put);
    await hinted(async () => (await put(), one.leave('rank-0', 'a', {})));
    stop();
  },

  'tells nobody who has stopped watching': async ({ pass }, open) => {
    const registry = await open();
    let [stopped, hints] = [0, 0];
    registry.watch(() => (stopped += 1))();
    registry.watch(() => (hints += 1));
    await until(
      async () => (await registry.put(entryOf('rank-0', 'a'), { ttlMs: LONG_MS })) && hints > 0,
      () => pass(500),
    );
    assert.equal(stopped, 0);
  },

  'ends calls by their signals': async (_, open) => {
    const registry = await open();
    const reason = new Error('not needed');
    const signal = AbortSignal.abort(reason);
    await assert.rejects(registry.put(entryOf('rank-0', 'a'), { ttlMs: LONG_MS, signal }), reason);
    await assert.rejects(registry.all({ signal }), reason);
    await assert.rejects(registry.leave('rank-0', 'a', { signal }), reason);
    const controller = new AbortController();
    const call = registry.all({ signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(call, reason);
  },

  'answers nobody before it is open and after it is closed': async ({ make }) => {
    const registry = make();
    const calls = () => [
      registry.put(entryOf('rank-0', 'a'), { ttlMs: LONG_MS }),
      registry.all({}),
      registry.leave('rank-0', 'a', {}),
    ];
    for (const call of calls()) await assert.rejects(call, { code: 'TIERED_NOT_OPEN' });
    await registry.open({});
    await registry.open({});
    registry.watch(() => undefined);
    const underWay = registry.all({});
    await Promise.all([registry.close(), assert.rejects(underWay, { code: 'TIERED_CLOSED' })]);
    await registry.close();
    for (const call of [registry.open({}), ...calls()]) await assert.rejects(call, { code: 'TIERED_CLOSED' });
  },
};

/** What becomes of records that are not renewed. */
const EXPIRY: Readonly<Record<string, Test>> = {
  'forgets a record that is not renewed, and gives its slot to another': async ({ pass }, open) => {
    const [one, other] = [await open(), await open()];
    await one.put(entryOf('rank-0', 'a'), { ttlMs: SHORT_MS });
    await pass(SHORT_MS);
    await until(async () => (await slotsOf(other)).length === 0);
    assert.equal(await other.put(entryOf('rank-0', 'b'), { ttlMs: SHORT_MS }), true);
  },

  'lets an owner put again what has expired': async ({ pass }, open) => {
    const one = await open();
    await one.put(entryOf('rank-0', 'a', 1), { ttlMs: SHORT_MS });
    await pass(SHORT_MS);
    await until(async () => (await slotsOf(one)).length === 0);
    assert.equal(await one.put(entryOf('rank-0', 'a', 2), { ttlMs: SHORT_MS }), true);
  },
};

/** Registers the tests of the `Registry` contract for one engine. */
export function registrySuite({ test, factory }: RegistrySuite): void {
  const tests = [
    ...Object.entries(TESTS).map((one) => [...one, LONG_MS] as const),
    ...Object.entries(EXPIRY).map((one) => [...one, SHORT_MS] as const),
  ];
  for (const [name, run, ttlMs] of tests) {
    test(name, async () => {
      const subject = await factory(ttlMs);
      const opened: Registry[] = [];
      const open = async () => {
        const registry = subject.make();
        opened.push(registry);
        await registry.open({});
        return registry;
      };
      try {
        await run(subject, open);
      } finally {
        await Promise.all(opened.map((registry) => registry.close()));
        await subject.cleanUp();
      }
    });
  }
}
