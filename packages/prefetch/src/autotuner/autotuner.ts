/** What an autotuner chooses. */
export interface Tuning {
  /** Reads under way at the same time, at least 1. */
  readonly producers: number;
  /** Bytes of samples that may be on their way or waiting for consumers. */
  readonly memoryBytes: number;
  /**
   * Samples that may be there for consumers, PRISMA's N; `Infinity` where bytes alone decide. As in PRISMA
   * (thesis, section 4.2.3) each producer may hold one more, which it reads, or has read and keeps until
   * there is room.
   */
  readonly samples: number;
}

/** What an autotuner has to keep to. */
export interface TuningLimits {
  /** Concurrent reads at most: the budget of the source. */
  readonly producers: number;
  /** Bytes at most: the budget of memory. */
  readonly memoryBytes: number;
  /** What is not to be tuned, because the user gave it. */
  readonly fixed: Partial<Tuning>;
  /**
   * Mean size of the objects that come first, in bytes; undefined if it is not known without asking the
   * source.
   */
  readonly objectBytes: number | undefined;
}

/** What happened since the last decision (or since the beginning), with one tuning in force. */
export interface TuningObservation {
  readonly elapsedMs: number;
  readonly tuning: Tuning;
  /** Reads that ended: how many, their bytes, and the sum of the times that they took. */
  readonly read: { readonly samples: number; readonly bytes: number; readonly ms: number };
  /** What consumers took. */
  readonly taken: { readonly samples: number; readonly bytes: number };
  /** Milliseconds in which at least one consumer waited for a sample. */
  readonly starvedMs: number;
  /** Milliseconds in which a producer was free, and there was no room for what it would have read. */
  readonly fullMs: number;
  /** Mean number of producers at work. */
  readonly busyProducers: number;
  /**
   * Producers that there is use for now: fewer than the limit where they read batches, which use up the
   * budget of requests, and where the source makes only so many reads at a time.
   */
  readonly usableProducers: number;
  /**
   * PRISMA's records of buffer usage, one each time a sample is put in or taken out: the share of
   * `tuning.samples` (or of `tuning.memoryBytes`, if that is not finite) in use, in percent.
   */
  readonly usage: { readonly records: number; readonly sum: number; readonly sumOfSquares: number };
}

/** A decision, also one to leave everything as it is. */
export interface TuningDecision {
  readonly tuning: Tuning;
  /** For the log: one sentence, with the figures it rests on. */
  readonly reason: string;
  /** Milliseconds until the next observation is wanted; undefined to end tuning. */
  readonly nextInMs: number | undefined;
}

/** A decision with what it was made from; without that, the first. */
export interface TuningEvent {
  /** Milliseconds since the staging buffer was made. */
  readonly atMs: number;
  readonly autotuner: string;
  readonly observation: TuningObservation | undefined;
  readonly decision: TuningDecision;
}

/**
 * Chooses how many producers read ahead and how much memory they may fill, from what it is shown at the
 * intervals it asks for. Serves one staging buffer. It computes and does nothing else: no clock, no I/O, no
 * chance.
 */
export interface Autotuner {
  readonly name: string;
  /** The tuning to begin with. */
  begin(limits: TuningLimits): TuningDecision;
  decide(observation: TuningObservation): TuningDecision;
}
