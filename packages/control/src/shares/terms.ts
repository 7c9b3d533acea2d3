import { MOST_AMOUNT, type RateRecord, type TermsRecord } from '../records/stage-record.js';
import { NO_BOUND, NO_RATE, type Rate } from './rate.js';

/** The terms under which a job gets its shares. */
export interface Terms {
  readonly weight: number;
  readonly priority: number;
  readonly atLeast: Rate;
  readonly atMost: Rate;
}

const PLAIN_TERMS: Terms = { weight: 1, priority: 0, atLeast: NO_RATE, atMost: NO_BOUND };

/** Combines the job's own terms with those that operators set, which take precedence. */
export function termsOf(own: TermsRecord, set: TermsRecord): Terms {
  const {
    weight = PLAIN_TERMS.weight,
    priority = PLAIN_TERMS.priority,
    atLeast,
    atMost,
  } = { ...own, ...set };
  return { weight, priority, atLeast: rateOf(atLeast ?? {}, NO_RATE), atMost: rateOf(atMost ?? {}) };
}

/**
 * Converts the rate of a record.
 * @param missing The value of a missing part.
 */
export function rateOf({ bytes, operations }: RateRecord, missing = NO_BOUND): Rate {
  return { bytes: bytes ?? missing.bytes, operations: operations ?? missing.operations };
}

/** Converts a rate for a record. A part larger than the largest amount there has no bound. */
export function recordOf({ bytes, operations }: Rate): RateRecord {
  return {
    bytes: bytes <= MOST_AMOUNT ? bytes : undefined,
    operations: operations <= MOST_AMOUNT ? operations : undefined,
  };
}
