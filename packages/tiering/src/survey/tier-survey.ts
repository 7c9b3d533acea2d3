import type { OperationOptions } from '@tiered/core';
import type { SurveyedCopy } from './surveyed-copy.js';

/** A process that uses a tier, or did so until it was killed. */
export interface SurveyedMember {
  readonly id: string;
  /** Whether it is running, as far as is known. */
  readonly isRunning: boolean;
  /** Bytes that it lets the tier hold, and the part of them that it may claim without asking. */
  readonly quotaBytes: number;
  readonly leasedBytes: number;
  /**
   * Bytes of copies that it is writing or removing. The next member that opens the tier cleans up after a
   * dead one.
   */
  readonly unfinishedBytes: number;
}

/** Totals of a tier. */
export interface TierSummary {
  /** Bytes that everything on the tier takes, including whole blocks, directories and the index. */
  readonly usedBytes: number;
  /** The smallest quota of its members; undefined if it has none. */
  readonly quotaBytes: number | undefined;
  /** Placed copies and their bytes, by source. */
  readonly datasets: readonly { readonly name: string; readonly copies: number; readonly bytes: number }[];
  /** The processes that use the tier. Empty for a bucket, which one process uses at a time. */
  readonly members: readonly SurveyedMember[];
}

/**
 * A view of the contents of a tier, opened by `surveyTier`. It places, adopts and removes nothing, and works
 * while other processes use the tier.
 */
export interface TierSurvey extends AsyncDisposable {
  /** Totals of the tier. Costs a pass over the index, or for a bucket a listing and a request per copy. */
  summary(options?: OperationOptions): Promise<TierSummary>;
  /** The copies of an object, of any version and any source. */
  find(key: string, options?: OperationOptions): Promise<readonly SurveyedCopy[]>;
  /** All copies, a page at a time. Copies that are added or removed meanwhile may be missed. */
  copies(options?: OperationOptions): AsyncIterable<readonly SurveyedCopy[]>;
  /** Releases the tier. Idempotent. */
  close(): Promise<void>;
}
