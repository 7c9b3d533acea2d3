import { grouped, own } from '@tiered/core/internal';
import type { PlaceReport, PolicyRecord, Stage } from '../records/stage-record.js';
import { maxMin, PLAIN_CLAIM, total } from './max-min.js';
import { termsOf } from './terms.js';

/**
 * A share that differs from the held bytes by less counts as met. Evicting copies for so little would cost
 * more fetches than it is worth.
 */
const SAME = 0.05;

/** The shares of a tier that several jobs of a node fill. */
export interface TierDecision {
  readonly node: string;
  /** The location of the tier. */
  readonly place: string;
  /** Bytes that the tier may hold. */
  readonly quotaBytes: number;
  readonly jobs: readonly JobAtTier[];
}

/** A job's part of a tier, in bytes. */
export interface JobAtTier extends TierPart {
  readonly job: string;
  readonly weight: number;
  /** By stage. */
  readonly stages: ReadonlyMap<string, TierPart>;
}

/** A part of a tier, in bytes. */
export interface TierPart {
  /** Bytes it could hold: the copies that it has placed, and the rest of its dataset. */
  readonly wanted: number;
  /** Copies that it has placed. */
  readonly held: number;
  /** The most that it may hold. */
  readonly share: number;
  /** Bytes it holds above its share and that others need. */
  readonly excess: number;
}

interface User {
  readonly stage: Stage;
  readonly report: PlaceReport;
}

/**
 * Shares out the tiers that several jobs of a node fill, by weighted max-min of the bytes they could use.
 * Guarantees, limits and priorities apply to rates, and do not count here.
 */
export function shareTiers(stages: readonly Stage[], policy: PolicyRecord | undefined): TierDecision[] {
  return [...grouped(stages, ({ node }) => node)].flatMap(([node, here]) => {
    const places = new Set(here.flatMap(({ places = {} }) => Object.keys(places)));
    return [...places].flatMap((place) => shareTier(node, place, usersOf(place, here), policy) ?? []);
  });
}

/** A stage's part of a tier. Undefined if no other job fills it. */
export function roomOf(tiers: readonly TierDecision[], id: string, place: string): TierPart | undefined {
  for (const tier of tiers) {
    if (tier.place !== place) continue;
    for (const { stages } of tier.jobs) {
      const room = stages.get(id);
      if (room !== undefined) return room;
    }
  }
  return undefined;
}

function usersOf(place: string, stages: readonly Stage[]): User[] {
  return stages.flatMap((stage) => {
    const report = own(stage.places, place);
    return report === undefined ? [] : [{ stage, report }];
  });
}

function shareTier(
  node: string,
  place: string,
  users: readonly User[],
  policy: PolicyRecord | undefined,
): TierDecision | undefined {
  const byJob = [...grouped(users, ({ stage }) => stage.job)];
  if (byJob.length < 2) return undefined;
  // All read the quota from the tier's index. A stage that reports less would make the others evict.
  const quotaBytes = Math.max(...users.map(({ report }) => report.quota));
  const claims = byJob.map(([job, ofJob]) => ({
    ...PLAIN_CLAIM,
    weight: termsOf(ofJob[0]?.stage.terms ?? {}, own(policy?.jobs, job) ?? {}).weight,
    wanted: total(ofJob.map(({ report }) => wantedOf(report))),
  }));
  const shares = maxMin(quotaBytes, claims);
  const held = byJob.map(([, ofJob]) => total(ofJob.map(({ report }) => report.held)));
  const needs = byJob.map(([, ofJob], at) => needOf(ofJob, held[at] ?? 0, shares[at] ?? 0));
  const above = held.map((bytes, at) => aboveShare(bytes, shares[at] ?? 0));
  // All give back the same fraction, and no more than is needed.
  const part = Math.min(1, total(needs) / Math.max(1, total(above)));
  const jobs = byJob.map(([job, ofJob], at) => {
    const { weight, wanted } = claims[at] ?? { ...PLAIN_CLAIM, wanted: 0 };
    const room = { wanted, held: held[at] ?? 0, share: shares[at] ?? 0, excess: (above[at] ?? 0) * part };
    return { job, weight, ...room, stages: roomsOfStages(room, ofJob) };
  });
  return { node, place, quotaBytes, jobs };
}

/** Divides a job's part among its stages, which give back bytes above their parts. */
function roomsOfStages(job: TierPart, users: readonly User[]): Map<string, TierPart> {
  const wanted = users.map(({ report }) => wantedOf(report));
  const shares = maxMin(
    job.share,
    wanted.map((bytes) => ({ ...PLAIN_CLAIM, wanted: bytes })),
  );
  const above = users.map(({ report }, at) => Math.max(0, report.held - (shares[at] ?? 0)));
  const part = job.excess / Math.max(1, total(above));
  return new Map(
    users.map(({ stage, report: { held } }, at) => [
      stage.id,
      {
        wanted: wanted[at] ?? 0,
        held,
        share: shares[at] ?? 0,
        excess: Math.min(1, part) * (above[at] ?? 0),
      },
    ]),
  );
}

/** The bytes a stage could use: everything if unknown. */
function wantedOf({ wanted = Infinity }: PlaceReport): number {
  return wanted;
}

/** The bytes a job lacks of its share and has no room for. */
function needOf(users: readonly User[], held: number, share: number): number {
  const free = Math.max(...users.map(({ report }) => report.free));
  const need = share - held - free;
  return need > SAME * share ? need : 0;
}

function aboveShare(held: number, share: number): number {
  return held - share > SAME * share ? held - share : 0;
}
