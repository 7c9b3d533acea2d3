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

/** What may pass in a second. A part that is missing has no bound. */
export interface RateOptions {
  /** Bytes a second, such as `'150MB'`. */
  readonly bytesPerSecond?: ByteSize | undefined;
  /** Requests a second. */
  readonly operationsPerSecond?: number | undefined;
}

/** Options of `Control.join`. */
export interface ControlOptions {
  /**
   * Where the stages of all jobs meet. Opened and closed by the control. Stages that share a source need the
   * same: `SqliteRegistry.named('control')` for those of a user on one machine, a `NatsRegistry` for several.
   */
  readonly registry: Registry;
  /** The job, by which operators and others know it: 1 to 64 letters, digits, `.`, `-` and `_`. */
  readonly job: string;
  /** Of two jobs that want more, one with twice the weight gets twice as much. 0.001 to 1000. Default: 1. */
  readonly weight?: number | undefined;
  /**
   * Jobs of a higher priority get all that they want first. If they take all, a job of a lower one nearly
   * stops: it has its part by weight of a hundredth of the source, such as 0.33 % with weight 1 of 3, and
   * what is guaranteed to it. -100 to 100. Default: 0.
   */
  readonly priority?: number | undefined;
  /**
   * What the job gets of each source whatever others want. Together, jobs get up to nine tenths of a source
   * so. Default: nothing.
   */
  readonly atLeast?: RateOptions | undefined;
  /** The most that the job gets of each source. Default: no bound. */
  readonly atMost?: RateOptions | undefined;
  /** The machine, whose memory and producers are shared out together. Default: its host name. */
  readonly node?: string | undefined;
  /**
   * Whole milliseconds, at least 1,000, after which the others forget a stage that was killed, and have its
   * share. More than 400 stages look less often, and remember each other for three looks. Default: 3,000.
   */
  readonly ttlMs?: number | undefined;
  /**
   * Milliseconds for which a stage keeps its last share after the registry was lost. Then it goes by what it
   * would have if all that it knew wanted everything. Default: 30,000.
   */
  readonly keepMs?: number | undefined;
  /** Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
  /** Ends the joining. */
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

/** What the options of a job say of how it is treated. */
export type TermsOptions = Pick<ControlOptions, 'weight' | 'priority' | 'atLeast' | 'atMost'>;

/**
 * How a job is treated, as its stages say it in their records.
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

/** @throws TieredError `TIERED_CONFIG_INVALID` for what cannot stand in a record as a name. */
export function assertName(field: string, value: string): void {
  if (!name.safeParse(value).success)
    throw configError(field, '1 to 256 characters that can be printed', value);
}

function assertTerm(field: 'weight' | 'priority', value: unknown, expected: string): void {
  if (!termsRecord.safeParse({ [field]: value }).success) throw configError(field, expected, value);
}

/**
 * A bound as records have it.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names the field, also for 0, which would end all reads.
 */
export function boundRecord(field: string, rate: RateOptions | undefined): RateRecord | undefined {
  const record = rateRecord(field, rate);
  if (record?.bytes === 0) throw configError(`${field}.bytesPerSecond`, 'more than 0', 0);
  if (record?.operations === 0) throw configError(`${field}.operationsPerSecond`, 'more than 0', 0);
  return record;
}

/**
 * A rate as records have it.
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
