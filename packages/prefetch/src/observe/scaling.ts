/** Numbers of reads under way that differ by less than the square root of two are alike. */
const BINS_AN_OCTAVE = 2;
/** Numbers that differ by this factor show what more reads at a time change. */
const APART = 1.5;
/**
 * Reads that end so close to the one before, in parts of the time that is usual between two, end together
 * with it.
 */
const TOGETHER = 0.2;
/**
 * Throughput that rises with this power of the reads under way is halfway between not rising and rising as
 * they do.
 */
const HALFWAY = 0.5;
/** The last read's part in what a read usually takes. */
const NEWEST = 0.1;

/** What happened while about so many reads were under way. */
interface Bin {
  ms: number;
  /** Milliseconds times the reads under way in them. */
  readMs: number;
  ended: number;
}

/**
 * What a place gives as more of its reads are under way, seen in passing: how many end in a second while 4
 * are under way, while 8 are. If they wait for its latency, twice as many end; if they wait for each other,
 * as at a link or at a bound on operations, no more do. How long reads take, and how unequally, would tell
 * neither: jitter spreads them as queueing does.
 *
 * Costs a few additions a read.
 */
export class Scaling {
  readonly #bins: Bin[] = [];
  #underWay: number;
  #countedTo: number;
  #endedAt = -Infinity;
  /** Under way when the reads that end together began to end. */
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

  /** Milliseconds of all reads together, until this moment. */
  readMs(now: number): number {
    this.#count(now);
    return sum(this.#bins).readMs;
  }

  began(now: number, reads: number): void {
    this.#count(now);
    this.#underWay += reads;
  }

  /** @param ms What they took. */
  ended(now: number, reads: number, ms: number): void {
    this.#count(now);
    this.#usualMs += (this.#usualMs === 0 ? 1 : NEWEST) * (ms - this.#usualMs);
    // Of reads that end together each would find fewer under way, and that they ended so fast was not because
    // of that.
    if (now - this.#endedAt > (TOGETHER * this.#usualMs) / this.#underWay) this.#before = this.#underWay;
    this.#endedAt = now;
    this.#bin(this.#before).ended += reads;
    this.#underWay -= reads;
  }

  /**
   * The power of the reads under way with which throughput rises: 1 if in proportion, 0 if not at all. From
   * the number that was there most of the time to larger ones, if these were seen, else from smaller ones to
   * it. Undefined if what was seen is too little to tell on which side of the half it is.
   * @param longer What was seen in a longer time, for what was not seen in this one.
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

  /** What was seen at about so many under way, at clearly fewer, and at clearly more. */
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

/** Undefined unless it is a standard error away from halfway, by the counts of independent events. */
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
