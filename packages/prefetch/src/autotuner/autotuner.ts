/** What an autotuner chooses. */
export interface Tuning {
  /** Reads under way at the same time, at least 1. */
  readonly producers: number;
  /** Bytes of samples that may be under way or waiting for consumers. */
  readonly memoryBytes: number;
  /**
   * Samples that may be there for consumers, PRISMA's N. `Infinity` where only bytes count. As in PRISMA
   * (thesis, section 4.2.3), each producer may hold one more, which it is reading, or has read and keeps
   * until there is room.
   */
  readonly samples: number;
}

/** What an autotuner must keep to. */
export interface TuningLimits {
  /** The most reads at the same time: the budget of the source. */
  readonly producers: number;
  /** The most bytes: the budget of memory. */
  readonly memoryBytes: number;
  /** What the user gave, and is not to be tuned. */
  readonly fixed: Partial<Tuning>;
  /** Mean size of the objects that come first, in bytes. Undefined if only the source could tell. */
  readonly objectBytes: number | undefined;
}

/** What happened since the last decision, or since the beginning, with one tuning in force. */
export interface TuningObservation {
  readonly elapsedMs: number;
  readonly tuning: Tuning;
  /** Reads that ended: their number, their bytes, and the milliseconds that they took, summed over them. */
  readonly read: { readonly samples: number; readonly bytes: number; readonly ms: number };
  /** What consumers took. */
  readonly taken: { readonly samples: number; readonly bytes: number };
  /** Milliseconds in which at least one consumer waited for a sample. */
  readonly starvedMs: number;
  /** Milliseconds in which a producer was free and had no room for what it would have read. */
  readonly fullMs: number;
  /** Mean number of producers at work. */
  readonly busyProducers: number;
  /**
   * How many producers there is use for now. Fewer than the limit where they read batches, which use up the
   * budget of requests, and where the source makes only so many reads at a time.
   */
  readonly usableProducers: number;
  /**
   * PRISMA's records of buffer usage, one each time a sample is put in or taken out. Each is the share in use
   * of `tuning.samples`, or of `tuning.memoryBytes` if `samples` is `Infinity`, in percent: of all
   * prefetchers on the buffer together, as both are theirs together.
   */
  readonly usage: { readonly records: number; readonly sum: number; readonly sumOfSquares: number };
}

/** A decision. It may be to leave everything as it is. */
export interface TuningDecision {
  readonly tuning: Tuning;
  /** One sentence for the log, with the figures behind the decision. */
  readonly reason: string;
  /** Milliseconds until the next observation is wanted. Undefined to end tuning. */
  readonly nextInMs: number | undefined;
}

/** A decision and the observation behind it. The first decision has none. */
export interface TuningEvent {
  /** Milliseconds since the staging buffer was made. */
  readonly atMs: number;
  readonly autotuner: string;
  readonly observation: TuningObservation | undefined;
  readonly decision: TuningDecision;
}

/**
 * Chooses how many producers read ahead and how much memory they may fill. It decides by the observations
 * that it is shown, at the intervals that it asks for. An autotuner serves one staging buffer, and only
 * computes: it has no clock, no I/O and no randomness.
 */
export interface Autotuner {
  readonly name: string;
  /** The tuning to begin with. */
  begin(limits: TuningLimits): TuningDecision;
  /** Returns the tuning to go on with, and when to look again. */
  decide(observation: TuningObservation): TuningDecision;
}
