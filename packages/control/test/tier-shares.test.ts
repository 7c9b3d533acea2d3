import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide, type PolicyRecord, type Stage, type TierPart } from '../src/index.js';
import { roomOf } from '../src/shares/tier-shares.js';
import { stageRecord, type PlaceReport } from '../src/records/stage-record.js';

const PLACE = 'file:///nvme/cache/';

function stage(id: string, job: string, report: Partial<PlaceReport>, more: Partial<Stage> = {}): Stage {
  const place = { quota: 1000, held: 0, free: 1000, ...report };
  const record = { v: 1, kind: 'stage', job, node: 'node', terms: {}, sources: {}, tiers: {} } as const;
  return { id, ...record, places: { [PLACE]: place }, ...more };
}

const roomsOf = (stages: readonly Stage[], policy?: PolicyRecord) => {
  const { tiers } = decide(stages, policy);
  return stages.map(({ id }) => roomOf(tiers, id, PLACE));
};
const round = (room: TierPart | undefined) =>
  room && { share: Math.round(room.share), excess: Math.round(room.excess) };
const sum = (amounts: readonly number[]) => amounts.reduce((a, b) => a + b, 0);

const bytes = fc.nat(2000);
const reports = fc.record({ held: bytes, free: bytes, wanted: bytes }, { requiredKeys: ['held', 'free'] });
const some = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'constructor'), reports), { minLength: 2, maxLength: 9 })
  .filter((list) => list.some(([job]) => job !== list[0]?.[0]));
const weights = fc.record({ a: fc.integer({ min: 1, max: 9 }), b: fc.integer({ min: 1, max: 9 }) });

const policyOf = (set: { readonly a: number; readonly b: number }): PolicyRecord => ({
  v: 1,
  kind: 'policy',
  revision: 1,
  sources: {},
  nodes: {},
  // Guarantees and limits are of rates.
  jobs: {
    a: { weight: set.a, priority: 3, atLeast: { bytes: 900 } },
    b: { weight: set.b, atMost: { bytes: 1 } },
  },
});

describe('the room of a tier that jobs share', () => {
  it('[U2] [U10] is given out once, to each its part by weight as far as it wants it, in whatever order records come', () => {
    fc.assert(
      fc.property(some, fc.nat(2000), weights, (list, quota, set) => {
        const stages = list.map(([job, report], i) => stage(`${i}`, job, { ...report, quota }));
        const policy = policyOf(set);
        const { tiers } = decide(stages, policy);
        const [{ jobs } = { jobs: [] }] = tiers;
        expect(sum(jobs.map(({ share }) => share))).toBeLessThanOrEqual(quota * (1 + 1e-9));
        const all = sum(jobs.map(({ weight }) => weight));
        for (const job of jobs) {
          const part = Math.min(job.wanted, (quota * job.weight) / all);
          expect(job.share).toBeGreaterThanOrEqual(part * (1 - 1e-9));
          const rooms = [...job.stages.values()];
          expect(sum(rooms.map(({ share }) => share))).toBeLessThanOrEqual(job.share * (1 + 1e-9) + 1e-9);
          for (const { held, share, excess } of rooms)
            expect(excess).toBeLessThanOrEqual(Math.max(0, held - share) * (1 + 1e-9));
        }
        const lacking = sum(
          jobs.map((job) => Math.max(0, job.share - sum([...job.stages.values()].map(({ held }) => held)))),
        );
        expect(sum(jobs.map(({ excess }) => excess))).toBeLessThanOrEqual(lacking * (1 + 1e-9));
        const another = decide(stages.toReversed(), policy).tiers;
        for (const { id } of stages) expect(roomOf(another, id, PLACE)).toEqual(roomOf(tiers, id, PLACE));
      }),
    );
  });

  it.each<[string, [job: string, report: Partial<PlaceReport>][], (readonly [number, number] | undefined)[]]>(
    [
      ['one that is alone is not bounded', [['a', { held: 900 }]], [undefined]],
      ['nor are stages of one job', [['a', {}], ['a', {}]], [undefined, undefined]], // prettier-ignore
      ['unknown wants are all', [['a', {}], ['b', { wanted: 2000 }]], [[500, 0], [500, 0]]], // prettier-ignore
      ['room that one does not want goes to the others', [['a', { wanted: 100 }], ['b', {}]], [[100, 0], [900, 0]]], // prettier-ignore
      ['stages of a job have its part together', [['a', {}], ['a', {}], ['b', {}]], [[250, 0], [250, 0], [500, 0]]], // prettier-ignore
      ['who is above its share keeps it while there is room', [['a', { held: 700 }], ['b', { free: 800 }]], [[500, 0], [500, 0]]], // prettier-ignore
      ['and gives back what others lack', [['a', { held: 900, free: 50 }], ['b', { held: 100, free: 50 }]], [[500, 350], [500, 0]]], // prettier-ignore
      ['but nothing for a twentieth', [['a', { held: 525, free: 0 }], ['b', { held: 475, free: 0 }]], [[500, 0], [500, 0]]], // prettier-ignore
      ['nor if others want no more', [['a', { held: 900, free: 0 }], ['b', { held: 100, free: 0, wanted: 100 }]], [[900, 0], [100, 0]]], // prettier-ignore
      ['all that are above give back alike', [['a', { held: 500, free: 0 }], ['b', { held: 500, free: 0 }], ['c', { free: 0, wanted: 200 }]], [[400, 100], [400, 100], [200, 0]]], // prettier-ignore
      ['of a job, the stages that are above', [['a', { held: 600, free: 0 }], ['a', { held: 150, free: 0 }], ['b', { held: 250, free: 0 }]], [[250, 250], [250, 0], [500, 0]]], // prettier-ignore
    ],
  )('%s', (_, list, expected) => {
    const stages = list.map(([job, report], i) => stage(`${i}`, job, report));
    expect(roomsOf(stages).map(round)).toEqual(
      expected.map((room) => room && { share: room[0], excess: room[1] }),
    );
  });

  it('is that of one node', () => {
    const stages = [stage('1', 'a', {}), stage('2', 'b', {}, { node: 'another' })];
    expect(roomsOf(stages)).toEqual([undefined, undefined]);
  });

  it('[U7] is said in records that bound what others make up', () => {
    const record = stage('1', 'a', {});
    expect(stageRecord.safeParse(record).success).toBe(true);
    for (const held of [-1, NaN, 1e16, '1'])
      expect(
        stageRecord.safeParse({ ...record, places: { [PLACE]: { quota: 1, held, free: 0 } } }).success,
      ).toBe(false);
    const named = { ...record, places: { ...record.places, constructor: { quota: 1, held: 0, free: 0 } } };
    expect(roomsOf([named, stage('2', 'b', {})]).map((room) => room?.share)).toEqual([500, 500]);
  });
});
