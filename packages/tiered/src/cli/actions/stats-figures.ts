import type { TierSummary } from '@tiered/tiering/survey';

/** What `tiered stats` says of a tier. */
export interface TierFigures {
  readonly level: number;
  readonly driver: string;
  readonly quotaBytes: number;
  /** Bytes that the file system could still take, where there is one. */
  readonly diskFreeBytes?: number;
  /** Why nothing is known of it. */
  readonly absent?: string;
  readonly summary?: TierSummary;
}

/** How much of a source is on tiers that outlive a process, and how much all tiers have room for. */
export interface Optimum {
  readonly heldBytes: number;
  readonly roomBytes: number;
  readonly datasetBytes: number;
}
