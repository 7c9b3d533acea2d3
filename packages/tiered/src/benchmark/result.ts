/** What is known of a speed. */
export interface Speed {
  /** 10^6 bytes a second; the median of the tries. */
  readonly MBps: number;
  /** The highest of the tries over the lowest. */
  readonly spread: number;
}

/** What a place could give without the SDK. */
export interface Bound extends Speed {
  /** What was measured: `its driver alone`, `reading the files`, `copying in memory`. */
  readonly by: string;
}

/** What the source or a tier gives. */
export interface PlaceResult {
  /** `source` or `tier 0`. */
  readonly name: string;
  readonly kind: 'source' | 'memory' | 'files';
  /** Where it is, without secrets. */
  readonly place: string;
  /** MB/s of reads through a hierarchy, by reads at a time. */
  readonly read: readonly (readonly [number, number])[];
  /** The fewest reads at a time that give nearly the most, and what they give. */
  readonly best: { readonly atATime: number; readonly MBps: number };
  /** MB/s that a first epoch reads while it fills this tier, at best. */
  readonly filling?: number | undefined;
  readonly bound: Bound;
  /** What explains that it is below its bound, if the configuration does. */
  readonly heldBack?: 'throttle' | 'limit' | 'packed' | undefined;
  /** The most by which tries of one figure of it differ. */
  readonly spread: number;
}

/** Epochs of the whole: source, tiers and prefetcher. The first alone, then those that read what it left. */
export interface EpochResult {
  /** From 1 on: `1`, or `2 to 9`. */
  readonly name: string;
  /** How many came to their end in time. If none did, the figures are of a part of one. */
  readonly whole: number;
  /** Of all of them. */
  readonly seconds: number;
  readonly samples: number;
  readonly bytes: number;
  /** Requests to the source, and what they brought, until the tiers were filled. */
  readonly sourceRequests: number;
  readonly sourceBytes: number;
  /** Bytes that each place gave, by its name. */
  readonly from: Readonly<Record<string, number>>;
  /** The part of what the places could give, by their bounds; undefined if one is not known. */
  readonly share: number | undefined;
  /** What limited it, in words. */
  readonly verdict: string;
}

/** What a bench found. */
export interface BenchResult {
  /** What the epochs read. */
  readonly sample: {
    readonly objects: number;
    readonly bytes: number;
    /** Objects that it was drawn from: those of the beginning of the listing. */
    readonly listed: number;
  };
  /** The source, then the tiers. */
  readonly places: readonly PlaceResult[];
  /** Tiers that were not measured, and why. */
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
  readonly epochs: readonly EpochResult[];
}
