/** Numbers of reads in flight are alike if they differ by less than the square root of two. */
const BINS_AN_OCTAVE = 2;
/** Numbers that differ by at least this factor show the effect of more reads at a time. */
const APART = 1.5;
/** Reads end together if less than this part of the usual time between two of them has passed. */
const TOGETHER = 0.2;
/**
 * This power is halfway between throughput that does not rise and throughput that rises in proportion to the
 * reads in flight.
 */
const HALFWAY = 0.5;
/** The weight of the last read in the time that a read usually takes. */
const NEWEST = 0.1;

/** Counts while about this many reads were in flight. */
interface Bin {
  ms: number;
  /** Milliseconds times the reads in flight in them. */
  readMs: number;
  ended: number;
}

/**
 * Measures how throughput of a place changes as more of its reads are in flight. Nothing is changed to find
 * out: it counts how many reads end in a second while 4 are in flight, and how many while 8 are. If reads
 * wait for the latency of the place, twice as many end. If they wait for each other, as at a link or a limit
 * of operations, no more end. The durations of reads, and their variation, would not tell the two apart,
 * because jitter spreads them as queueing does.
 *
 * Costs a few additions per read.
 */
export class Scaling {
  readonly #bins: Bin[] = [];
  #underWay: number;
  #countedTo: number;
  #endedAt = -Infinity;
  /** Reads that were in flight when the first of those that ended together ended. */
  #before = 0;
  #usualMs = 0;

  /** @param underWay Reads that began before. */
  constructor(now: number, underWay = 0) {
    this.#countedTo = now;
    this.#underWay = underWay;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** Milliseconds of all reads, summed over them, until now. */
  readMs(now: number): number {
    this.#count(now);
    return sum(this.#bins).readMs;
  }

  began(now: number, reads: number): void {
    this.#count(now);
    this.#underWay += reads;
  }

  /** @param ms How long they took. */
  ended(now: number, reads: number, ms: number): void {
    this.#count(now);
    this.#usualMs += (this.#usualMs === 0 ? 1 : NEWEST) * (ms - this.#usualMs);
    // Reads that end together all count for the number that was in flight when the first of them ended.
    // Otherwise reads would seem to end faster with fewer in flight.
    if (now - this.#endedAt > (TOGETHER * this.#usualMs) / this.#underWay) this.#before = this.#underWay;
    this.#endedAt = now;
    this.#bin(this.#before).ended += reads;
    this.#underWay -= reads;
  }

  /**
   * Returns the power of the reads in flight with which throughput rises: 1 if in proportion, 0 if not at
   * all. Compares the number that was in flight for most of the time with larger ones, if these were seen,
   * otherwise with smaller ones. Undefined if too little was seen to say whether the power is above or below
   * one half.
   * @param longer The counts of a longer time, for numbers that were not seen in this one.
   */
  power(longer: Scaling = this): number | undefined {
    const usual = this.#seen.reduce<Bin | undefined>(
      (most, bin) => (bin.ms > (most?.ms ?? 0) ? bin : most),
      undefined,
    );
    if (usual === undefined) return undefined;
    const at = underWayIn(usual);
    const [now, ever] = [this.#around(at), longer.#around(at)];
    return (
      powerOf(now.near, now.more) ??
      powerOf(ever.near, ever.more) ??
      powerOf(now.fewer, now.near) ??
      powerOf(ever.fewer, ever.near)
    );
  }

  get #seen(): Bin[] {
    return this.#bins.filter(({ ms }) => ms > 0);
  }

  /** Sums the counts at about this many in flight, at clearly fewer, and at clearly more. */
  #around(at: number): { readonly fewer: Bin; readonly near: Bin; readonly more: Bin } {
    const some = (isAmong: (many: number) => boolean) =>
      sum(this.#seen.filter((bin) => isAmong(underWayIn(bin))));
    return {
      fewer: some((many) => many <= at / APART),
      near: some((many) => many > at / APART && many < at * APART),
      more: some((many) => many >= at * APART),
    };
  }

  #bin(underWay: number): Bin {
    const index = Math.floor(BINS_AN_OCTAVE * Math.log2(Math.max(1, underWay)));
    while (this.#bins.length <= index) this.#bins.push({ ms: 0, readMs: 0, ended: 0 });
    return this.#bins[index] as Bin;
  }

  #count(now: number): void {
    const ms = now - this.#countedTo;
    this.#countedTo = now;
    if (ms === 0 || this.#underWay === 0) return;
    const bin = this.#bin(this.#underWay);
    bin.ms += ms;
    bin.readMs += ms * this.#underWay;
  }
}

/**
 * Undefined unless the power is at least a standard error away from halfway. The error assumes that reads end
 * independently.
 */
function powerOf(fewer: Bin, more: Bin): number | undefined {
  if (fewer.ended === 0 || more.ended === 0) return undefined;
  const times = Math.log(underWayIn(more) / underWayIn(fewer));
  const power = Math.log(more.ended / more.ms / (fewer.ended / fewer.ms)) / times;
  const error = Math.sqrt(1 / fewer.ended + 1 / more.ended) / times;
  return Math.abs(power - HALFWAY) < error ? undefined : power;
}

function underWayIn({ ms, readMs }: Bin): number {
  return readMs / ms;
}

function sum(bins: readonly Bin[]): Bin {
  const total: Bin = { ms: 0, readMs: 0, ended: 0 };
  for (const { ms, readMs, ended } of bins) {
    total.ms += ms;
    total.readMs += readMs;
    total.ended += ended;
  }
  return total;
}
