import { maxMin } from '@tiered/control';
import { atLeast, atMost, type Check, type Row } from '../lib/bench.js';
import type { Case, JobOf, Sharing } from './cases.js';
import { between, type Moment, type Settled, type Visit } from './measuring.js';

const MB = 1e6;
const OFF = 0.05;
const OF_ALONE = 0.97;
const BALANCE_SECONDS = 2;
/** There is a balance from the first second on in which all jobs have their shares to within this part. */
const BALANCED = 0.1;
const BALANCED_FOR_MS = 1000;

/** What jobs get that have the source for themselves, in bytes a second. */
export interface Alone {
  /** One with many producers. */
  readonly most: number;
  /** By producers: those that cannot have all of the source. */
  readonly by: ReadonlyMap<number, number>;
}

/** The weighted max-min share of each job, in bytes a second. */
function fairShares(jobs: readonly JobOf[], { most, by }: Alone): number[] {
  const claims = jobs.map(({ producers, weight = 1, computeBytesPerSecond = Infinity }) => ({
    ...{ weight, atLeast: 0, atMost: Infinity, priority: 0 },
    wanted: Math.min(computeBytesPerSecond, by.get(producers) ?? Infinity),
  }));
  return maxMin(most, claims);
}

/** A case with control or without, when it has settled. */
interface Steady {
  readonly one: Case;
  readonly sharing: Sharing;
  readonly seen: Settled;
  readonly alone: Alone;
}

export function steadyRow({ one, sharing, seen, alone }: Steady): Row {
  const { rates, cpuMs, requestMs, underWay } = seen;
  const fair = fairShares(one.jobs, alone);
  return {
    jobs: one.name,
    control: nameOf(sharing),
    'MB/s of each': rates.map(inMB),
    'fair MB/s': fair.map(inMB),
    's until the balance': sharing === undefined ? [] : secondsToBalance(seen.moments, fair),
    'furthest off %': 100 * furthestOff(rates, fair),
    'Jain’s index': jain(rates, fair),
    'all, x alone': sum(rates) / alone.most,
    'ms of a request': requestMs.map(round),
    'requests at the source': underWay,
    'CPU s/GB': sum(cpuMs) / 1000 / (sum(rates) / 1e9),
  };
}

export function steadyChecks({ one, sharing, seen: { rates }, alone }: Steady): Check[] {
  if (sharing === undefined) return [];
  const off = furthestOff(rates, fairShares(one.jobs, alone));
  return [
    atMost(`${one.name}: furthest off its share`, 100 * off, 100 * OFF, '%'),
    atLeast(`${one.name}: all jobs against the source alone`, sum(rates) / alone.most, OF_ALONE, 'x'),
  ];
}

/** How long it took until all had their new shares. */
export function visitFigures(
  { name, jobs, guest }: Case,
  { withGuest, after }: Visit,
  alone: Alone,
): { rows: Row[]; checks: Check[] } {
  const changes = [
    { change: 'one came', moments: withGuest, fair: fairShares(guest ? [...jobs, guest] : jobs, alone) },
    { change: 'it left', moments: after, fair: fairShares(jobs, alone) },
  ];
  const rows = changes.map(({ change, moments, fair }) => ({
    'jobs, control': name,
    change,
    's until the new balance': secondsToBalance(moments, fair),
    'MB/s of each afterwards': lastRates(moments).map(inMB),
    'fair MB/s': fair.map(inMB),
  }));
  const checks = changes.map(({ change, moments, fair }) =>
    atMost(`${name}: balance after ${change}`, secondsToBalance(moments, fair), BALANCE_SECONDS, 's'),
  );
  return { rows, checks };
}

/** Jobs that read two epochs. */
export function endingRow({ name }: Case, sharing: Sharing, epochs: readonly (readonly number[])[]): Row {
  const ends = epochs.map(sum);
  return {
    'two epochs': name,
    control: nameOf(sharing),
    's of the first epoch': epochs.map(([first = NaN]) => round(first)),
    's of the second': epochs.map(([, second = NaN]) => round(second)),
    's until all ended': Math.max(...ends),
    's until one ended, mean': sum(ends) / ends.length,
  };
}

/** Infinity: never. */
function secondsToBalance(moments: readonly Moment[], fair: readonly number[]): number {
  const [first] = moments;
  const elapsed = (moment: Moment) => (moment[0]?.atMs ?? NaN) - (first?.[0]?.atMs ?? NaN);
  for (const [at, from] of moments.entries()) {
    const to = moments.slice(at).find((moment) => elapsed(moment) >= elapsed(from) + BALANCED_FOR_MS);
    if (to === undefined) return Infinity;
    if (furthestOff(between(from, to).rates, fair) <= BALANCED) return elapsed(from) / 1000;
  }
  return Infinity;
}

/** Of the second half. */
function lastRates(moments: readonly Moment[]): readonly number[] {
  return between(moments[moments.length >> 1] ?? [], moments.at(-1) ?? []).rates;
}

function furthestOff(rates: readonly number[], fair: readonly number[]): number {
  return Math.max(...rates.map((rate, at) => Math.abs(rate / (fair[at] ?? NaN) - 1)));
}

/** Jain's index of what jobs get for their shares: 1 is fair, and 1 of so many jobs if one gets all. */
function jain(rates: readonly number[], fair: readonly number[]): number {
  const parts = rates.map((rate, at) => rate / (fair[at] ?? NaN));
  return sum(parts) ** 2 / (parts.length * sum(parts.map((part) => part ** 2)));
}

function nameOf(sharing: Sharing): string {
  if (sharing === undefined) return 'no';
  return sharing.budget === undefined ? 'budget measured' : 'yes';
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

function inMB(bytes: number): number {
  return round(bytes / MB);
}

function round(value: number): number {
  return Math.round(10 * value) / 10;
}
