import {
  admission,
  type Admission,
  type Candidate,
  type Effect,
  type Rate,
  type Seen,
} from '@tiered/control';
import { TieredError } from '@tiered/core';
import { percentOf, rateOf, timeOf } from '../words.js';

/** A source that jobs share. */
export interface SharedSource {
  readonly source: string;
  /** What it gives to all of them. */
  readonly budget: Rate;
}

const NO_BOUND: Rate = { bytes: Infinity, operations: Infinity };

/**
 * The source that is meant, and what it gives.
 * @param source As it was named.
 * @param own What the job that may come says that it gives.
 * @throws TieredError `TIERED_CONFIG_INVALID` if it is not said which of several sources that is,
 * `TIERED_NOT_FOUND` for one whose budget nobody knows.
 */
export function sourceIn(seen: Seen, source: string | undefined, own: Rate | undefined): SharedSource {
  const sources = [...new Set(seen.stages.flatMap((stage) => Object.keys(stage.sources)))].sort();
  const meant = source ?? (sources.length === 1 ? sources[0] : undefined);
  if (meant === undefined) {
    const known = sources.length === 0 ? 'no job reads from any now' : `jobs read from ${sources.join(', ')}`;
    throw new TieredError('TIERED_CONFIG_INVALID', `admit: name the source with --source; ${known}`);
  }
  // No job has such a name.
  const anyone = { job: '~', terms: {}, source: meant, wanted: NO_BOUND, budget: own };
  const { budget } = admission(seen, anyone);
  if (budget.bytes < Infinity || budget.operations < Infinity) return { source: meant, budget };
  const set = `tiered control set --source ${meant} --bytes-per-second 150MB`;
  const others = sources.length === 0 ? 'nor from any other source' : `there are: ${sources.join(', ')}`;
  throw new TieredError(
    'TIERED_NOT_FOUND',
    sources.includes(meant)
      ? `Nobody has said yet what ${meant} gives; say it: ${set}`
      : `No job reads from ${meant} now; ${others}. If it is new, say first what it gives: ${set}`,
  );
}

/** Seconds of the epochs of a job. */
interface EpochSeconds {
  readonly firstSeconds: number;
  readonly laterSeconds: number;
}

/** What the simulator says of a job that may come. */
export interface Forecast {
  /** If it had the source to itself. */
  readonly alone: EpochSeconds;
  /** With its share. */
  readonly shared: EpochSeconds;
  /** All jobs once it has filled its tiers. */
  readonly later: Admission;
}

/** What would become of all jobs, in sentences: the answer first. */
export function verdictLines(
  candidate: Candidate,
  admission: Admission,
  forecast: Forecast | undefined,
): string[] {
  const { budget, effects } = admission;
  const [own, ...others] = effects;
  if (own === undefined) return [];
  return [
    ...answerTo(candidate, admission, own, others),
    `  ${ownText(own, scarcestOf(own, budget))}${epochsText(forecast)}`,
    ...others.map((effect) => `  ${otherText(effect, scarcestOf(effect, budget))}`),
    ...(forecast === undefined ? [] : laterLines(forecast.later)),
  ];
}

/** Nobody tells more than this from all. */
const ALL = 0.995;

function answerTo(
  candidate: Candidate,
  { fits, hasEnough, budget }: Admission,
  own: Effect,
  others: readonly Effect[],
): string[] {
  const { job, source } = candidate;
  const names = (which: (effect: Effect) => boolean) => {
    const found = others.filter(which).map((effect) => effect.job);
    return found.length === 0 ? undefined : found.join(', ');
  };
  const starved = names(({ isStarvedByIt }) => isStarvedByIt);
  if (starved !== undefined)
    return [
      `It does not fit: ${starved} would not have enough of ${source} any more.`,
      ...(hasEnough ? [] : [`${job} itself would have ${shortText(candidate, own)}.`]),
    ];
  if (!fits) return [`It does not fit: ${job} would have ${shortText(candidate, own)} of ${source}.`];
  const slowed = names(({ isSlowedByIt }) => isSlowedByIt);
  if (slowed !== undefined) return [`It fits: no job would starve, though ${slowed} would take longer.`];
  if (others.length === 0) return [`It fits: no other job reads from ${source} now.`];
  const isServed = own.wanted[scarcestOf(own, budget)] < Infinity && own.served > ALL;
  const has = isServed ? `would have all that it wants of ${source}, and ` : '';
  return [`It fits: ${job} ${has}takes from no job what that job needs.`];
}

type Part = keyof Rate;

/** Of bytes and requests, those that the source bounds; of both, those that the job lacks more of. */
function scarcestOf({ wanted, used, after }: Effect, budget: Rate): Part {
  if (budget.operations === Infinity) return 'bytes';
  if (budget.bytes === Infinity) return 'operations';
  const lack = (part: Part) => (wanted[part] === Infinity ? used : wanted)[part] / after[part];
  return lack('operations') > lack('bytes') ? 'operations' : 'bytes';
}

/** How much of what it has to have. */
function shortText({ needed }: Candidate, own: Effect): string {
  if (needed === undefined) return `${percentOf(own.served)} of what it wants`;
  const parts = (['bytes', 'operations'] as const).map((part) =>
    needed[part] === Infinity || needed[part] === 0 ? 1 : own.after[part] / needed[part],
  );
  return `${percentOf(Math.min(...parts))} of what its later epochs need`;
}

function ownText(effect: Effect, part: Part): string {
  const { job, wanted, before, after } = effect;
  const wants =
    wanted[part] === Infinity
      ? 'it wants everything'
      : `${percentOf(Math.min(1, after[part] / wanted[part]))} of the ${shown(wanted, part)} that it wants`;
  const now = before === undefined ? '' : `; now it has ${shown(before, part)}`;
  return `${job} would have ${shown(after, part)}, ${wants}${now}`;
}

function otherText(effect: Effect, part: Part): string {
  const { job, wanted, used, before = used, after, slowdown, stall, isSlowedByIt } = effect;
  const waits =
    stall === undefined
      ? ''
      : `, and its consumers wait ${percentOf(stall.after)} of the time, now ${percentOf(stall.before)}`;
  const longer = isSlowedByIt ? `: its epochs take about ${timesText(slowdown)} times as long${waits}` : '';
  if (wanted[part] < Infinity) return `${ownText(effect, part)}${longer}`;
  // What it has used beyond its share is not for it to keep.
  const now = shown(used[part] < before[part] ? used : before, part);
  return isSlowedByIt
    ? `${job} would have ${shown(after, part)} of the ${now} that it uses now${longer}`
    : `${job} would have ${shown(after, part)}, and uses ${now} now`;
}

function epochsText(forecast: Forecast | undefined): string {
  if (forecast === undefined) return '';
  const { alone, shared } = forecast;
  const epoch = (of: keyof EpochSeconds) => {
    const [without, then] = [timeOf(alone[of]), timeOf(shared[of])];
    return `${then} (${without === then ? 'as' : without} with the source to itself)`;
  };
  return `: its first epoch takes ${epoch('firstSeconds')}, each later one ${epoch('laterSeconds')}`;
}

/** A job that reads less once its tiers are full leaves more to the others. */
function laterLines({ effects }: Admission): string[] {
  const [own, ...others] = effects;
  if (own === undefined || others.length === 0) return [];
  const slowed = others.filter(({ isSlowedByIt }) => isSlowedByIt);
  const { bytes } = own.wanted;
  const reads =
    bytes > 0
      ? `reads ${shown(own.wanted, 'bytes')} of the source if it can`
      : 'reads nothing from the source';
  const then = slowed.map(({ job, slowdown }) => `${job} takes ${timesText(slowdown)} times as long as now`);
  return [
    `After its first epoch, ${own.job} ${reads}, and ${then.join(', ') || 'no other job takes longer than now'}.`,
  ];
}

const timesText = (times: number): string => times.toFixed(times < 10 ? 1 : 0);

function shown(rate: Rate, part: Part): string {
  const { [part]: amount } = rate;
  if (part === 'bytes') return amount === Infinity ? 'no bound' : rateOf(amount / 1e6);
  return amount === Infinity ? 'any requests' : `${Math.round(amount).toLocaleString('en')} requests/s`;
}
