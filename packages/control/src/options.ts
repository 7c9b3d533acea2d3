import os from 'node:os';
import { parseBytes, systemClock, type ByteSize, type Clock } from '@tiered/core';
import { assertCounts, configError } from '@tiered/core/internal';
import type { Registry } from '@tiered/cluster/registry';
import {
  job as jobName,
  name,
  termsRecord,
  type RateRecord,
  type TermsRecord,
} from './records/stage-record.js';

/** A rate limit. A missing part is unbounded. */
export interface RateOptions {
  /** Bytes a second, such as `'150MB'`. */
  readonly bytesPerSecond?: ByteSize | undefined;
  /** Requests a second. */
  readonly operationsPerSecond?: number | undefined;
}

/** Options of `Control.join`. */
export interface ControlOptions {
  /**
   * The registry where the stages of all jobs meet. Opened and closed by the control. Stages that share a
   * source need the same registry: `SqliteRegistry.named('control')` for one user's stages on one machine, a
   * `NatsRegistry` for several machines.
   */
  readonly registry: Registry;
  /** The job's name, as operators and other jobs see it: 1 to 64 letters, digits, `.`, `-` and `_`. */
  readonly job: string;
  /**
   * The weight of the job. Of two jobs that want more, one with twice the weight gets twice as much. 0.001 to
   * 1000. Default: 1.
   */
  readonly weight?: number | undefined;
  /**
   * Jobs of a higher priority are served first, with all that they want. If they take everything, a job of
   * lower priority nearly stops: it keeps its part by weight of a hundredth of the source, such as 0.33 %
   * with weight 1 of 3, and its guarantees. -100 to 100. Default: 0.
   */
  readonly priority?: number | undefined;
  /**
   * The rate guaranteed to the job at each source, whatever others want. The guarantees of all jobs together
   * take up to nine tenths of a source. Default: no guarantee.
   */
  readonly atLeast?: RateOptions | undefined;
  /** The most the job gets of each source. Default: no bound. */
  readonly atMost?: RateOptions | undefined;
  /**
   * The name of the machine. The memory and producers of one machine are shared out together. Default: its
   * host name.
   */
  readonly node?: string | undefined;
  /**
   * Whole milliseconds, at least 1,000, after which the others forget a killed stage and get its share. More
   * than 200 stages look less often; from 400 on, they remember each other for three looks. Default: 3,000.
   */
  readonly ttlMs?: number | undefined;
  /**
   * Milliseconds for which a stage keeps its last share after the registry is lost. Then it uses the share it
   * would have if all the stages it knew wanted everything. Default: 30,000.
   */
  readonly keepMs?: number | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
  /** Aborts the join. */
  readonly signal?: AbortSignal | undefined;
}

/** The options with their defaults. */
export interface CheckedOptions {
  readonly registry: Registry;
  readonly job: string;
  readonly terms: TermsRecord;
  readonly node: string;
  readonly ttlMs: number;
  readonly keepMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/**
 * Fills in the defaults.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field.
 */
export function checkedOptions(options: ControlOptions): CheckedOptions {
  const { registry, job, ttlMs = 3_000, keepMs = 30_000, signal } = options;
  if (!jobName.safeParse(job).success)
    throw configError('job', '1 to 64 letters, digits, ".", "-" and "_"', job);
  const terms = checkedTerms(options);
  assertCounts({ ttlMs }, 1_000);
  if (!(keepMs >= 0)) throw configError('keepMs', 'milliseconds of at least 0', keepMs);
  const { node = os.hostname(), clock = systemClock } = options;
  assertName('node', node);
  return { registry, job, terms, node, ttlMs, keepMs, clock, signal };
}

/** The options that set the terms of a job. */
export type TermsOptions = Pick<ControlOptions, 'weight' | 'priority' | 'atLeast' | 'atMost'>;

/**
 * Checks a job's terms, and makes the record of them that its stages put.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field.
 */
export function checkedTerms({ weight, priority, atLeast, atMost }: TermsOptions): TermsRecord {
  assertTerm('weight', weight, '0.001 to 1000');
  assertTerm('priority', priority, 'a whole number from -100 to 100');
  return {
    weight,
    priority,
    atLeast: rateRecord('atLeast', atLeast),
    atMost: boundRecord('atMost', atMost),
  };
}

/** @throws TieredError `TIERED_CONFIG_INVALID` for a value that cannot be a name in a record. */
export function assertName(field: string, value: string): void {
  if (!name.safeParse(value).success)
    throw configError(field, '1 to 256 characters that can be printed', value);
}

function assertTerm(field: 'weight' | 'priority', value: unknown, expected: string): void {
  if (!termsRecord.safeParse({ [field]: value }).success) throw configError(field, expected, value);
}

/**
 * Checks a bound, and converts it to a record.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field, also for 0, which would end all reads.
 */
export function boundRecord(field: string, rate: RateOptions | undefined): RateRecord | undefined {
  const record = rateRecord(field, rate);
  if (record?.bytes === 0) throw configError(`${field}.bytesPerSecond`, 'more than 0', 0);
  if (record?.operations === 0) throw configError(`${field}.operationsPerSecond`, 'more than 0', 0);
  return record;
}

/**
 * Checks a rate, and converts it to a record.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field.
 */
function rateRecord(field: string, rate: RateOptions | undefined): RateRecord | undefined {
  if (rate === undefined) return undefined;
  const { bytesPerSecond, operationsPerSecond: operations } = rate;
  const bytes =
    bytesPerSecond === undefined ? undefined : parseBytes(bytesPerSecond, `${field}.bytesPerSecond`);
  if (operations !== undefined && !(operations >= 0 && operations < Infinity))
    throw configError(`${field}.operationsPerSecond`, 'a number of at least 0', operations);
  return { bytes, operations };
}
