import type { Hierarchy } from '@tiered/core';
import type { LevelHold } from '@tiered/core/placement';
import { grouped, printable } from '@tiered/core/internal';
import { MOST_AMOUNT, name, type PlaceReport, type StageRecord } from '../records/stage-record.js';
import { maxMin, PLAIN_CLAIM } from '../shares/max-min.js';
import type { TierPart } from '../shares/tier-shares.js';

/** The most tiers in a record, and characters of a name there: registries keep small records. */
const MOST_TIERS = 8;
const LONGEST_NAME = 64;
/**
 * Bytes given back at a look, and the part of a small tier. This is about as fast as a job can fill them, so
 * a job that soon leaves has cost the others little.
 */
const GIVEN_BACK = 64 * 1024 * 1024;
const PART_GIVEN_BACK = 1 / 8;

/** A tier of a hierarchy that hierarchies of other processes may fill too. */
interface OpenTier {
  readonly hierarchy: Hierarchy;
  readonly hold: LevelHold;
  /** The location of the tier, the same for all processes of a node. */
  readonly place: string;
  readonly quotaBytes: number;
}

/** A stage's part of a tier that jobs share, in bytes. */
export type TierShare = Pick<TierPart, 'held' | 'share'>;

/** The reports on tiers. */
export type TiersSay = Pick<StageRecord, 'tiers' | 'places'>;

/** The tiers of a stage's hierarchies: how full they are, and how much of each the stage may hold. */
export class FollowedTiers {
  readonly #hierarchies = new Set<Hierarchy>();
  /** By place, the bytes that the stage may hold, for bounded tiers. */
  readonly #shares = new Map<string, number>();

  /** Follows the tiers of a hierarchy until it is closed. Returns a function that stops it. */
  add(hierarchy: Hierarchy): () => void {
    this.#hierarchies.add(hierarchy);
    // Copies placed from now on count.
    for (const { level } of hierarchy.tiers) if (isFilledByOthers(hierarchy, level)) hierarchy.holdOf(level);
    const stop = () => {
      if (!this.#hierarchies.delete(hierarchy)) return;
      for (const { hold } of openTiers(hierarchy)) hold.keepTo(Infinity);
    };
    hierarchy.once('closed', stop);
    return stop;
  }

  /** Removes all bounds, and follows no hierarchy any more. */
  clear(): void {
    this.bound(() => undefined);
    this.#hierarchies.clear();
  }

  /** Reports on all tiers. */
  look(): TiersSay {
    const tiers = [...this.#hierarchies].flatMap((hierarchy) => hierarchy.stats().tiers).slice(0, MOST_TIERS);
    const entries = tiers.map(({ driver, usedBytes, quotaBytes }) => [
      printable(driver, LONGEST_NAME),
      { used: usedBytes, most: quotaBytes },
    ]);
    const places = [...this.#byPlace()].slice(0, MOST_TIERS).map(([place, here]) => [place, reportOf(here)]);
    return {
      tiers: Object.fromEntries(entries) as StageRecord['tiers'],
      places: Object.fromEntries(places) as StageRecord['places'],
    };
  }

  /**
   * Bounds each tier to the stage's share, and gives back some of the bytes that others need.
   * @param roomOf Returns the stage's part of a tier; undefined if it is unbounded.
   */
  bound(roomOf: (place: string) => TierPart | undefined): void {
    this.#shares.clear();
    for (const [place, here] of this.#byPlace()) {
      const room = roomOf(place);
      if (room !== undefined) this.#shares.set(place, Math.floor(room.share));
      const claims = here.map((tier) => ({ ...PLAIN_CLAIM, wanted: wantedOf(tier) }));
      const shares = room === undefined ? [] : maxMin(room.share, claims);
      let excess = room?.excess ?? 0;
      for (const [at, { hold, quotaBytes }] of here.entries()) {
        const share = Math.floor(shares[at] ?? Infinity);
        hold.keepTo(share);
        const above = hold.heldBytes - share;
        const given = Math.min(excess, above, GIVEN_BACK, quotaBytes * PART_GIVEN_BACK);
        if (given <= 0) continue;
        hold.giveBack(given);
        excess -= given;
      }
    }
  }

  /** For each tier that is shared out, the bytes that the stage holds and may hold. */
  get shares(): Readonly<Record<string, TierShare>> {
    const shared = [...this.#byPlace()].flatMap(([place, here]) => {
      const share = this.#shares.get(place);
      return share === undefined ? [] : [[place, { held: heldOf(here), share }] as const];
    });
    return Object.fromEntries(shared);
  }

  #byPlace(): Map<string, OpenTier[]> {
    return grouped([...this.#hierarchies].flatMap(openTiers), ({ place }) => place);
  }
}

/** Whether other processes fill a tier: they do if they can find its index. */
function isFilledByOthers({ tiers }: Hierarchy, level: number): boolean {
  const driver = tiers[level]?.driver;
  return driver?.capabilities.index === true && name.safeParse(driver.location).success;
}

function openTiers(hierarchy: Hierarchy): OpenTier[] {
  const { tiers } = hierarchy.stats();
  return tiers.flatMap(({ level, quotaBytes }) => {
    if (!isFilledByOthers(hierarchy, level)) return [];
    const hold = hierarchy.holdOf(level);
    const place = hierarchy.tiers[level]?.driver.location;
    return hold === undefined || place === undefined ? [] : [{ hierarchy, hold, place, quotaBytes }];
  });
}

/** Bytes that a tier's hierarchy could keep there; unknown if it knows only the objects read so far. */
function wantedOf({ hierarchy, hold }: OpenTier): number {
  return hierarchy.isScanned ? hold.heldBytes + hierarchy.namespace.sourceBytes : Infinity;
}

function heldOf(here: readonly OpenTier[]): number {
  return here.reduce((bytes, { hold }) => bytes + hold.heldBytes, 0);
}

function reportOf(here: readonly OpenTier[]): PlaceReport {
  const wanted = here.reduce((bytes, tier) => bytes + wantedOf(tier), 0);
  return {
    quota: Math.max(...here.map(({ quotaBytes }) => quotaBytes)),
    held: heldOf(here),
    free: Math.max(...here.map(({ hold }) => hold.freeBytes)),
    wanted: wanted === Infinity ? undefined : Math.min(wanted, MOST_AMOUNT),
  };
}
