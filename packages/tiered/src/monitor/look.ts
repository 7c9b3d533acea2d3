import type { HierarchyStats } from '@tiered/core';

/** What a process says of itself when it is watched. Sent as JSON. */
export interface MonitorLook {
  /** Of this form. */
  readonly version: 1;
  readonly pid: number;
  /** Milliseconds since monitoring began. */
  readonly forMs: number;
  readonly hierarchy: HierarchyStats;
  /** The objects that were placed last, the latest first. */
  readonly placed: readonly { readonly key: string; readonly level: number }[];
  /** Undefined while nothing is read through a prefetcher. */
  readonly prefetcher?: PrefetcherLook | undefined;
  /** What programs opened that the process serves; undefined where it serves none. */
  readonly programs?: ProgramsLook | undefined;
}

/** What is said of programs that know nothing of tiers. */
export interface ProgramsLook {
  /** The path below which they find the objects. */
  readonly root: string;
  /** How often they opened files, and how often they got a copy. */
  readonly opens: number;
  readonly redirected: number;
  /** Sizes of the files that they opened in the source, and as copies. */
  readonly sourceBytes: number;
  readonly copyBytes: number;
  /** From 1 on; 0 where epochs cannot be told apart. */
  readonly epoch: number;
}

/** What is said of the latest prefetcher. */
export interface PrefetcherLook {
  /** Counted from 0; undefined before the first sample. */
  readonly epoch: number | undefined;
  /** Samples and bytes that consumers took, in all. */
  readonly samples: number;
  readonly bytes: number;
  /** The share of the time in which consumers waited, 0 to 1, in this epoch. */
  readonly starved: number;
  readonly producers: number;
  readonly heldBytes: number;
  readonly memoryBytes: number;
  /** What limits it, in words. */
  readonly verdict: string;
}
