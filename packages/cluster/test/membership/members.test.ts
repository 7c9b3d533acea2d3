import { TieredError, isTieredError } from '@tiered/core';
import { ManualClock, outcomeOf } from '@tiered/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Members, type MembersParts } from '../../src/membership/members.js';
import { MemoryRecords, MemoryRegistry } from '../../src/registry/memory-registry.js';

const TTL_MS = 9_000;
const RENEWAL_MS = TTL_MS / 3;
const GONE_MS = 60_000;

/** A registry that can be away, and counts how often somebody looked. */
class AwayRegistry extends MemoryRegistry {
  isAway = false;
  looks = 0;

  override async all(options = {}) {
    this.looks += 1;
    if (this.isAway) throw new TieredError('TIERED_UNAVAILABLE', 'It is away.', { retryable: true });
    return super.all(options);
  }
}

function place() {
  const clock = new ManualClock();
  return { clock, records: new MemoryRecords(clock) };
}

const recordOf = (rank: number) => ({
  rank,
  url: `http://127.0.0.1:${rank + 1}`,
  share: true,
  plan: '',
  agreed: {},
});

/** A worker that says something once, and nothing any more: it was killed. */
function killed({ clock, records }: ReturnType<typeof place>, rank: number, record: object = recordOf(rank)) {
  records.put({ slot: `rank-${rank}`, owner: `killed ${rank}`, record, until: clock.now() + TTL_MS });
}

/** A worker that has joined, and what it was told. */
async function member(
  { clock, records }: ReturnType<typeof place>,
  { rank, ...parts }: Partial<MembersParts> & { readonly rank?: number } = {},
) {
  const told: string[] = [];
  const registry = new AwayRegistry(records);
  const members = new Members({
    registry,
    owner: `member ${rank ?? 'any'}`,
    size: Infinity,
    ttlMs: TTL_MS,
    goneAfterMs: GONE_MS,
    clock,
    onChange: () => told.push('changed'),
    onRegistry: (error) => told.push(isTieredError(error) ? error.message : 'found'),
    ...parts,
  });
  onTestFinished(() => members.leave());
  const joining = members.join(recordOf(0), rank, undefined);
  const outcome = outcomeOf(joining.then(() => true));
  // Others renew their records meanwhile.
  await clock.advance(0);
  while (Object.keys(outcome).length === 0) await clock.advance(RENEWAL_MS);
  await joining;
  const there = () =>
    [...members.others.values()]
      .filter(({ isThere }) => isThere)
      .map((one) => one.rank)
      .sort();
  return { members, told, registry, there, known: () => [...members.others.keys()] };
}

/** All records are gone, as if the file had been deleted. */
function forget(records: MemoryRecords): void {
  for (const { slot, owner } of records.all()) records.leave(slot, owner);
}

describe('a member', () => {
  it('[Z6] that was killed is asked no more when its record has expired, and is gone later', async () => {
    const at = place();
    killed(at, 1);
    const { there, known } = await member(at, { rank: 0 });
    expect(there()).toEqual([1]);
    await at.clock.advance(TTL_MS - 1);
    expect(there()).toEqual([1]);
    await at.clock.advance(1 + RENEWAL_MS);
    expect([there(), known()]).toEqual([[], [1]]);
    await at.clock.advance(GONE_MS);
    expect(known()).toEqual([]);
  });

  it('[Z6] takes the rank of one that was killed once its record has expired', async () => {
    const at = place();
    killed(at, 0);
    const { members } = await member(at, { rank: 0 });
    expect(members.rank).toBe(0);
    expect(at.clock.now()).toBeGreaterThanOrEqual(TTL_MS);
    expect(at.clock.now()).toBeLessThanOrEqual(TTL_MS + RENEWAL_MS);
  });

  it('[Z6] without a rank takes none beyond the size, and waits for one that was killed', async () => {
    const at = place();
    const first = await member(at, { owner: 'first', size: 2 });
    killed(at, 1);
    const second = await member(at, { owner: 'second', size: 2 });
    expect([first.members.rank, second.members.rank]).toEqual([0, 1]);
    await expect(member(at, { owner: 'third', size: 2 })).rejects.toThrow(/^size: expected /);
  });

  it('looks soon after a hint, once for many, and less often where they are for nothing', async () => {
    const at = place();
    const { there, registry } = await member(at, { rank: 0 });
    const before = registry.looks;
    for (const rank of [1, 2, 3]) killed(at, rank);
    await at.clock.advance(RENEWAL_MS - 1);
    expect([there(), registry.looks]).toEqual([[1, 2, 3], before + 1]);
    for (let hint = 0; hint < 100; hint++) {
      killed(at, 1);
      await at.clock.advance(100);
    }
    // After 100 ms, then 200, 400 and so on; and at three or four renewals.
    expect(registry.looks - before).toBeLessThanOrEqual(14);
  });

  it('[Z6] renews its record in time, however many hints there are', async () => {
    const at = place();
    await member(at, { rank: 0 });
    for (let hint = 0; hint < 300; hint++) {
      killed(at, 1);
      await at.clock.advance(100);
      const left = at.records
        .all()
        .map(({ slot, until }) => (slot === 'rank-0' ? until - at.clock.now() : TTL_MS));
      expect(Math.min(...left)).toBeGreaterThanOrEqual(TTL_MS - RENEWAL_MS);
    }
  });

  it('[Z6] goes on with those that it knows while the registry is away, and says so once', async () => {
    const at = place();
    const { there, told, registry } = await member(at, { rank: 0 });
    await member(at, { rank: 1 });
    await at.clock.advance(RENEWAL_MS);
    told.length = 0;
    registry.isAway = true;
    await at.clock.advance(10 * GONE_MS);
    expect([there(), told]).toEqual([[1], ['It is away.']]);
    registry.isAway = false;
    await at.clock.advance(RENEWAL_MS);
    expect([there(), told]).toEqual([[1], ['It is away.', 'found']]);
  });

  it('[Z6] goes on with those that it knows when the registry has forgotten everybody', async () => {
    const at = place();
    const { there, told } = await member(at, { rank: 0 });
    const others = await Promise.all([1, 2, 3].map(async (rank) => member(at, { rank })));
    killed(at, 4);
    await at.clock.advance(RENEWAL_MS);
    expect(there()).toEqual([1, 2, 3, 4]);
    await at.clock.advance(RENEWAL_MS / 2);
    told.length = 0;
    forget(at.records);
    // Each puts its record again at its time, and nobody is left out until all have.
    for (let passed = 0; passed < TTL_MS; passed += 500) {
      await at.clock.advance(500);
      expect(there()).toEqual([1, 2, 3, 4]);
    }
    expect(told).toEqual([]);
    // One that was killed meanwhile puts none.
    await at.clock.advance(2 * RENEWAL_MS);
    for (const one of [there, ...others.map((other) => other.there)]) expect(one()).not.toContain(4);
    expect(there()).toEqual([1, 2, 3]);
  });

  it('[Z6] whose rank another one has taken is told so, and goes on', async () => {
    const at = place();
    const { told, there } = await member(at, { rank: 0 });
    await member(at, { rank: 1 });
    await at.clock.advance(RENEWAL_MS);
    forget(at.records);
    killed(at, 0);
    await at.clock.advance(RENEWAL_MS);
    expect(told.at(-1)).toMatch(/^Another worker has taken rank 0/);
    expect(there()).toEqual([1]);
  });

  it('[Z2] passes over records that no worker puts', async () => {
    const at = place();
    const wrong = [
      { ...recordOf(1), url: 'nowhere' },
      { ...recordOf(2), url: 'file:///etc/passwd' },
      { ...recordOf(3), rank: 7 },
      { ...recordOf(4), share: 'yes' },
      { ...recordOf(5), plan: 'x'.repeat(1_000) },
      [],
    ];
    for (const [i, record] of wrong.entries()) killed(at, i + 1, record);
    killed(at, 9);
    const { there } = await member(at, { rank: 0 });
    expect(there()).toEqual([9]);
  });

  it('[Z7] that leaves is soon there no more, and leaves nothing', async () => {
    const at = place();
    const { there } = await member(at, { rank: 0 });
    const other = await member(at, { rank: 1 });
    await at.clock.advance(RENEWAL_MS);
    expect(there()).toEqual([1]);
    await other.members.leave();
    await at.clock.advance(RENEWAL_MS - 1);
    expect(there()).toEqual([]);
    expect(at.records.all().map(({ slot }) => slot)).toEqual(['rank-0']);
  });
});
