/** The settings that an autotuner chooses. */
export interface Tuning {
  /** Reads in flight at the same time, at least 1. */
  readonly producers: number;
  /** Bytes of samples that may be in flight or waiting for consumers. */
  readonly memoryBytes: number;
  /**
   * Samples that may be ready for consumers, PRISMA's N. `Infinity` if only bytes count. As in PRISMA
   * (thesis, section 4.2.3), each producer may hold one more, which it is reading, or has read and keeps
   * until there is room.
   */
  readonly samples: number;
}

/** The limits that an autotuner must respect. */
export interface TuningLimits {
  /** Most reads in flight at the same time: the budget of the source. */
  readonly producers: number;
  /** Most bytes: the memory budget. */
  readonly memoryBytes: number;
  /** Settings that the user gave and that are not tuned. */
  readonly fixed: Partial<Tuning>;
  /** Mean size of the first objects, in bytes. Undefined if only the source can tell. */
  readonly objectBytes: number | undefined;
}

/** An observation since the last decision, or since the beginning, under a single tuning. */
export interface TuningObservation {
  readonly elapsedMs: number;
  readonly tuning: Tuning;
  /** Reads that ended: their number, their bytes, and the milliseconds that they took, summed over them. */
  readonly read: { readonly samples: number; readonly bytes: number; readonly ms: number };
  /** Samples that consumers took. */
  readonly taken: { readonly samples: number; readonly bytes: number };
  /** Milliseconds in which at least one consumer waited for a sample. */
  readonly starvedMs: number;
  /** Milliseconds in which a producer was free but had no room for its next read. */
  readonly fullMs: number;
  /** Mean number of producers at work. */
  readonly busyProducers: number;
  /**
   * The number of producers that are useful now. Fewer than the limit if they read batches, which use up the
   * request budget, or if the source makes only so many reads at a time.
   */
  readonly usableProducers: number;
  /**
   * PRISMA's records of buffer usage, one for each sample added or taken. Each is the used share of
   * `tuning.samples`, or of `tuning.memoryBytes` if `samples` is `Infinity`, in percent. It covers all
   * prefetchers on the buffer together, because they share both.
   */
  readonly usage: { readonly records: number; readonly sum: number; readonly sumOfSquares: number };
}

/** A decision, possibly to change nothing. */
export interface TuningDecision {
  readonly tuning: Tuning;
  /** One sentence for the log, with the figures behind the decision. */
  readonly reason: string;
  /** Milliseconds until the next observation. Undefined to end tuning. */
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
 * Chooses how many producers read ahead and how much memory they may fill. It decides by the observations it
 * is shown, at the intervals it asks for. An autotuner serves one staging buffer, and only computes: it has
 * no clock, no I/O and no randomness.
 */
export interface Autotuner {
  readonly name: string;
  /** Returns the initial tuning. */
  begin(limits: TuningLimits): TuningDecision;
  /** Returns the next tuning, and when to look again. */
  decide(observation: TuningObservation): TuningDecision;
}
