import { MOST_AMOUNT, type RateRecord, type TermsRecord } from '../records/stage-record.js';
import { NO_BOUND, NO_RATE, type Rate } from './rate.js';

/** How a job is treated. */
export interface Terms {
  readonly weight: number;
  readonly priority: number;
  readonly atLeast: Rate;
  readonly atMost: Rate;
}

const PLAIN_TERMS: Terms = { weight: 1, priority: 0, atLeast: NO_RATE, atMost: NO_BOUND };

/** What operators say comes before what the job says. */
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
 * A rate of a record.
 * @param missing What a part stands for that is missing.
 */
export function rateOf({ bytes, operations }: RateRecord, missing = NO_BOUND): Rate {
  return { bytes: bytes ?? missing.bytes, operations: operations ?? missing.operations };
}

/** A rate as records have it. What is more than an amount there has no bound. */
export function recordOf({ bytes, operations }: Rate): RateRecord {
  return {
    bytes: bytes <= MOST_AMOUNT ? bytes : undefined,
    operations: operations <= MOST_AMOUNT ? operations : undefined,
  };
}
