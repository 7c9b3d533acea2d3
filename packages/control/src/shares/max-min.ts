/** A claim to a part of a shared resource. */
export interface Claim {
  /** More than 0. Of two claims that want more, one with twice the weight gets twice as much. */
  readonly weight: number;
  /** The amount it could use; `Infinity` if it could use everything. */
  readonly wanted: number;
  /** The amount it gets, as far as it wants it, before any claim gets more. */
  readonly atLeast: number;
  readonly atMost: number;
  /** Claims of a higher priority get all that they want before others get more than their `atLeast`. */
  readonly priority: number;
}

/**
 * The reason why a claim gets no more: it wants no more (`wanted`), it may have no more (`atMost`), it has
 * its part by weight (`weight`), or its part by weight would be no more than its guarantee (`atLeast`).
 */
export type BoundBy = 'wanted' | 'atMost' | 'weight' | 'atLeast';

/** The amount a claim gets, and the reason why it gets no more. */
export interface Portion {
  readonly amount: number;
  readonly boundBy: BoundBy;
}

/** The defaults of a claim that only says how much it wants. */
export const PLAIN_CLAIM = { weight: 1, atLeast: 0, atMost: Infinity, priority: 0 };

/**
 * The part of the whole that all `atLeast` together may take. If they add up to more, all are scaled down, so
 * that a claim that needs everything does not leave the others with nothing.
 */
export const MOST_GUARANTEED = 0.9;

/**
 * Shares out an amount by weighted max-min: no claim can get more without taking from one that has less for
 * its weight. The part that one claim does not want goes to the others. The part that none wants is left.
 * @param whole The amount, at least 0.
 * @returns The share of each claim, in the same order.
 */
export function maxMin(whole: number, claims: readonly Claim[]): number[] {
  return portions(whole, claims).map(({ amount }) => amount);
}

/** Like `maxMin`, with the reasons. */
export function portions(whole: number, claims: readonly Claim[]): Portion[] {
  const mosts = claims.map(({ wanted, atMost }) => Math.min(wanted, atMost));
  const leasts = guaranteed(whole, claims, mosts);
  const shares = [...leasts];
  for (const priority of new Set(claims.map((claim) => claim.priority).toSorted((a, b) => b - a))) {
    const taken = total(shares);
    const bounds = claims.flatMap((claim, at) =>
      claim.priority === priority
        ? [{ at, weight: claim.weight, least: leasts[at] ?? 0, most: mosts[at] ?? 0 }]
        : [],
    );
    const level = levelOf(whole - taken + total(bounds.map(({ least }) => least)), bounds);
    for (const bound of bounds) shares[bound.at] = amountAt(level, bound);
  }
  return claims.map((claim, at) => {
    const amount = shares[at] ?? 0;
    return { amount, boundBy: boundOf(amount, leasts[at] ?? 0, claim) };
  });
}

/** Amounts that differ by less count as equal, because of rounding. */
const SAME = 1e-9;

function boundOf(amount: number, least: number, { wanted, atMost }: Claim): BoundBy {
  if (amount >= Math.min(wanted, atMost) * (1 - SAME)) return wanted <= atMost ? 'wanted' : 'atMost';
  return least > 0 && amount <= least * (1 + SAME) ? 'atLeast' : 'weight';
}

interface Bound {
  readonly weight: number;
  readonly least: number;
  readonly most: number;
}

/** The amount each claim gets whatever the others want. */
function guaranteed(whole: number, claims: readonly Claim[], mosts: readonly number[]): number[] {
  const wanted = claims.map(({ atLeast }, at) => Math.min(atLeast, mosts[at] ?? 0, whole));
  const most = whole * MOST_GUARANTEED;
  const sum = total(wanted);
  return sum <= most ? wanted : wanted.map((amount) => (amount / sum) * most);
}

/** The amount of a claim at a water level: level times weight, within its bounds. */
function amountAt(level: number, { weight, least, most }: Bound): number {
  return Math.min(most, Math.max(least, level * weight));
}

/** The level at which all amounts add up to `amount`; `Infinity` if all claims are satisfied below that. */
function levelOf(amount: number, bounds: readonly Bound[]): number {
  // The sum grows linearly between two of these levels.
  const turns = bounds
    .flatMap(({ weight, least, most }) => [
      { at: least / weight, rise: weight },
      { at: most / weight, rise: -weight },
    ])
    .toSorted((a, b) => a.at - b.at);
  let [level, sum, rise] = [0, total(bounds.map(({ least }) => least)), 0];
  for (const turn of turns) {
    const before = sum;
    if (rise > 0) sum += (turn.at - level) * rise;
    if (sum >= amount && rise > 0) return level + Math.max(0, amount - before) / rise;
    level = turn.at;
    rise += turn.rise;
  }
  return Infinity;
}

/** The sum. */
export function total(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}
