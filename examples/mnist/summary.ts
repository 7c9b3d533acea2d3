import type { Dataset } from './dataset.js';
import { megabytes, percent, seconds } from './format.js';
import { phasesOf, type Outcome } from './run.js';
import type { SetupName } from './setups.js';

/** Below this share of waiting in the slowest setup there is little that faster storage could gain. */
const TOO_LITTLE_WAITING = 0.2;

/** What differs by less may differ the other way in the next run. */
const CLEARLY_FASTER = 1.05;

/** Seconds from the beginning of a setup's run to the trained model: copying included, testing not. */
export function totalSeconds(outcome: Outcome): number {
  return sum(phasesOf(outcome).map((phase) => phase.seconds));
}

/** Of these, how long the model had nothing to do. It has nothing to do while everything is copied first. */
export function waitedSeconds({ filling, epochs }: Outcome): number {
  return (filling?.seconds ?? 0) + sum(epochs.map(({ stallSeconds }) => stallSeconds));
}

/** What was gained, and by what. */
export function takeawayOf(outcomes: readonly Outcome[], dataset: Dataset): string {
  const { baseline, tiered } = compared(outcomes);
  const [took, before] = [totalSeconds(tiered), totalSeconds(baseline)];
  const gained = took === 0 ? 1 : before / took;
  const than =
    gained >= CLEARLY_FASTER
      ? `: ${gained.toFixed(1)} x as fast`
      : gained > 1 / CLEARLY_FASTER
        ? ', hardly another time'
        : ', which is slower';
  const bytes = percent(ratio(sourceBytes(tiered), sourceBytes(baseline)));
  return (
    `tiered trained the model in ${seconds(took)} s, where a loop by hand took ${seconds(before)} s${than}. ` +
    `With room for ${percent(tiered.keptBytes / dataset.bytes)} of the data, ${tiered.epochs.length} epochs read ${bytes} of the bytes from the source.`
  );
}

/** Why this run's seconds say little, if they do: the model hardly waited for data, even without tiers. */
export function caveatOf(outcomes: readonly Outcome[]): string | undefined {
  const { baseline } = compared(outcomes);
  const share = ratio(waitedSeconds(baseline), totalSeconds(baseline));
  if (share >= TOO_LITTLE_WAITING) return undefined;
  return (
    `In this run compute was the limit, and not reading: with ${baseline.setup.name} the model waited for data ` +
    `${percent(share)} of the time. The seconds say little; operations and bytes hold all the same.`
  );
}

/** A figure that matters, and what it is made of. */
interface Figure {
  readonly name: string;
  readonly value: string;
  readonly detail: string;
}

/** How the tiered setup compares with the loop by hand. */
export function figuresOf(outcomes: readonly Outcome[], dataset: Pick<Dataset, 'bytes'>): Figure[] {
  const { baseline, tiered, bound } = compared(outcomes);
  const figure = (
    name: string,
    unit: string,
    of: (outcome: Outcome) => number,
    shown: (value: number) => string,
  ) => ({
    name,
    value: percent(ratio(of(tiered), of(baseline))),
    detail: `${shown(of(tiered))}${unit} instead of ${shown(of(baseline))}${unit}`,
  });
  const [took, before] = [totalSeconds(tiered), totalSeconds(baseline)];
  const last = tiered.epochs.at(-1);
  return [
    {
      name: 'as fast as a loop by hand',
      value: `${(took === 0 ? 1 : before / took).toFixed(1)} x`,
      detail: `${seconds(took)} s instead of ${seconds(before)} s; ${seconds(totalSeconds(bound))} s is the bound`,
    },
    {
      name: 'hit ratio in the last epoch',
      value: percent(last === undefined ? 0 : 1 - ratio(last.bytesFrom.source, last.bytes)),
      detail: `of the bytes came from tiers with room for ${percent(tiered.keptBytes / dataset.bytes)}`,
    },
    figure('of the bytes from the source', ' MB', sourceBytes, megabytes),
    figure('of the operations at the source', '', sourceOperations, String),
    figure('of the waiting for data', ' s', waitedSeconds, seconds),
  ];
}

function compared(outcomes: readonly Outcome[]) {
  return {
    baseline: outcomeOf(outcomes, 'loop by hand'),
    tiered: outcomeOf(outcomes, 'tiered'),
    bound: outcomeOf(outcomes, 'local only'),
  };
}

function outcomeOf(outcomes: readonly Outcome[], name: SetupName): Outcome {
  const outcome = outcomes.find(({ setup }) => setup.name === name);
  if (outcome === undefined) throw new Error(`The setup "${name}" has not run.`);
  return outcome;
}

function sourceBytes(outcome: Outcome): number {
  return sum(phasesOf(outcome).map(({ source }) => source.bytes));
}

function sourceOperations(outcome: Outcome): number {
  return sum(phasesOf(outcome).map(({ source }) => source.operations));
}

/** Nothing of nothing is nothing. */
function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
