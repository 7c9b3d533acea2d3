import type { LoadedConfig, RateSettings } from '@tiered/config';
import {
  admission,
  checkedTerms,
  type Admission,
  type Candidate,
  type Rate,
  type Seen,
} from '@tiered/control';
import { parseBytes, TieredError } from '@tiered/core';
import { sourceIn, type Forecast } from '../../control-room/admit.js';
import { sourceNameOf } from '../../control/source-name.js';
import type { CommandHost } from '../host.js';
import type { MeasuredOptions } from '../options.js';
import { epochsWithin, isBusy, MBpsWithin, rateAt } from './forecast.js';
import { measuredTraining, type MeasuredTraining } from './measured-training.js';

/** What a command is told of a job that may come. */
export interface NewcomerOptions extends MeasuredOptions {
  readonly bytesPerSecond?: string;
  readonly operationsPerSecond?: number;
  readonly weight?: number;
  readonly priority?: number;
  readonly atLeast?: string;
  readonly atMost?: string;
  readonly source?: string;
  readonly job?: string;
}

/**
 * The training of a file that has a profile. Its source is listed.
 * @throws As `measuredTraining`, and `TIERED_CONFIG_INVALID` for a rate of a training that is not simulated.
 */
export async function trainingOf(
  host: CommandHost,
  file: string | undefined,
  config: LoadedConfig | undefined,
  options: MeasuredOptions,
): Promise<MeasuredTraining | undefined> {
  if (file === undefined || config?.profile === undefined) {
    if (options.computeMbps === undefined) return undefined;
    const message = '--compute-mbps: needs a file with a model, by which the job is simulated';
    throw new TieredError('TIERED_CONFIG_INVALID', message);
  }
  const { profile, hierarchy: levels } = config;
  return measuredTraining(host, { profile, config: file, levels }, options);
}

/** What is said of a job that may come. */
export interface Said extends Pick<Candidate, 'job' | 'terms' | 'budget'> {
  readonly source: string | undefined;
  readonly bytes: number | undefined;
  readonly operations: number | undefined;
}

/**
 * What options say comes before what the configuration says.
 * @throws TieredError `TIERED_CONFIG_INVALID` that names what cannot be.
 */
export async function saidOf(config: LoadedConfig | undefined, options: NewcomerOptions): Promise<Said> {
  const { control } = config ?? {};
  const { job, weight, priority, bytesPerSecond, operationsPerSecond: operations } = options;
  const rate = (flag: 'atLeast' | 'atMost', name: string) => {
    const bytes = bytesIn(options[flag], name);
    return bytes === undefined ? control?.[flag] : { ...control?.[flag], bytesPerSecond: bytes };
  };
  const budget = control?.source?.budget;
  return {
    job: job ?? control?.job ?? 'candidate',
    terms: checkedTerms({
      weight: weight ?? control?.weight,
      priority: priority ?? control?.priority,
      atLeast: rate('atLeast', '--at-least'),
      atMost: rate('atMost', '--at-most'),
    }),
    source: options.source ?? control?.source?.name ?? (config && (await sourceNameOf(config.storage))),
    budget: budget && rateIn(budget),
    bytes: bytesIn(bytesPerSecond, '--bytes-per-second'),
    operations,
  };
}

function bytesIn(text: string | undefined, flag: string): number | undefined {
  return text === undefined ? undefined : parseBytes(text, flag);
}

function rateIn({ bytesPerSecond, operationsPerSecond: operations = Infinity }: RateSettings): Rate {
  return { bytes: bytesPerSecond === undefined ? Infinity : parseBytes(bytesPerSecond), operations };
}

/** A job that may come, and what would become of all then. */
interface Judged {
  readonly candidate: Candidate;
  readonly admission: Admission;
  /** Undefined for one that cannot be simulated. */
  readonly forecast: Forecast | undefined;
}

/**
 * Finds out what would become of all jobs if this one came. One that can be simulated wants what it would
 * read if it had the source to itself. It needs what its later epochs read then, if it computes all the time.
 * Else it takes what it gets, as any job does that waits for storage anyway.
 * @throws As `sourceIn`.
 */
export async function judged(
  seen: Seen,
  { source: named, bytes, operations, ...rest }: Said,
  training: MeasuredTraining | undefined,
): Promise<Judged> {
  const { source, budget } = sourceIn(seen, named, rest.budget);
  const wants = (rate: Partial<Rate>): Rate => ({
    bytes: bytes ?? rate.bytes ?? Infinity,
    operations: operations ?? rate.operations ?? Infinity,
  });
  if (training === undefined) {
    const candidate: Candidate = { ...rest, source, wanted: wants({}) };
    return { candidate, admission: admission(seen, candidate), forecast: undefined };
  }
  const alone = await epochsWithin(training, MBpsWithin(training, budget));
  const later = wants(rateAt(training, alone.laterMBps));
  const candidate: Candidate = {
    ...rest,
    source,
    wanted: wants(rateAt(training, Math.max(alone.firstMBps, alone.laterMBps))),
    needed: isBusy(training, alone) ? later : wants({}),
  };
  const found = admission(seen, candidate);
  const { served = 1, after = budget } = found.effects[0] ?? {};
  const shared = served === 1 ? alone : await epochsWithin(training, MBpsWithin(training, after));
  const forecast = { alone, shared, later: admission(seen, { ...candidate, wanted: later }) };
  return { candidate, admission: found, forecast };
}
