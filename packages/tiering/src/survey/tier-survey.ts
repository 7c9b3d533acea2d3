import type { OperationOptions } from '@tiered/core';
import type { SurveyedCopy } from './surveyed-copy.js';

/** A process that uses a tier, or did so until it was killed. */
export interface SurveyedMember {
  readonly id: string;
  /** Whether it runs, as far as can be known. */
  readonly isRunning: boolean;
  /** Bytes that it lets the tier hold, and bytes of these that it may claim without asking. */
  readonly quotaBytes: number;
  readonly leasedBytes: number;
  /**
   * Bytes of copies that it is writing or removing. The next member that opens the tier clears up after a
   * dead one.
   */
  readonly unfinishedBytes: number;
}

/** What a tier holds, in sums. */
export interface TierSummary {
  /** Bytes that everything on the tier takes: whole blocks, directories and the index too. */
  readonly usedBytes: number;
  /** The smallest quota of its members; undefined if it has none. */
  readonly quotaBytes: number | undefined;
  /** Copies that are placed, and their bytes, by the source that they are of. */
  readonly datasets: readonly { readonly name: string; readonly copies: number; readonly bytes: number }[];
  /** Who uses the tier. Empty for a bucket, which one process uses at a time. */
  readonly members: readonly SurveyedMember[];
}

/**
 * A look at what a tier holds, made by `surveyTier`. It places, adopts and removes nothing, and it may be
 * made while other processes use the tier.
 */
export interface TierSurvey extends AsyncDisposable {
  /** Sums over the tier. Costs a pass over the index; of a bucket, a listing and a request for each copy. */
  summary(options?: OperationOptions): Promise<TierSummary>;
  /** The copies of an object, of any version, and of any source. */
  find(key: string, options?: OperationOptions): Promise<readonly SurveyedCopy[]>;
  /** All copies, a page at a time. Copies that come or go meanwhile may be missed. */
  copies(options?: OperationOptions): AsyncIterable<readonly SurveyedCopy[]>;
  /** Lets go of the tier. Idempotent. */
  close(): Promise<void>;
}
