import type { Dataset } from './dataset.js';
import { percent, seconds } from './format.js';
import { phasesOf, type Outcome } from './run.js';

/** Below this share of waiting in the slowest setup there is little that faster storage could gain. */
const TOO_LITTLE_STALL = 0.2;

/** Seconds from the beginning of a setup's run to the trained model: copying included, testing not. */
export function totalSeconds(outcome: Outcome): number {
  return phasesOf(outcome).reduce((sum, phase) => sum + phase.seconds, 0);
}

/** What was seen, in plain words, a sentence a setup, made of this run's figures. */
export function summarize(outcomes: readonly Outcome[], dataset: Dataset): string[] {
  const [baseline] = outcomes;
  if (baseline === undefined) return [];
  const sentences = outcomes.map((outcome) => {
    const { setup, filling, epochs, keptBytes } = outcome;
    const compared =
      outcome === baseline
        ? ''
        : `, ${percent(totalSeconds(outcome) / totalSeconds(baseline))} of the time of ${baseline.setup.name}`;
    const copied =
      filling === undefined ? '' : ` (${seconds(filling.seconds)} s of it before the first batch)`;
    const kept = keptBytes === 0 ? '' : ` The tiers hold ${percent(keptBytes / dataset.bytes)} of the data.`;
    const later = epochs.slice(1);
    const times = each(later.map((epoch) => `${seconds(epoch.seconds)} s`));
    const shares = each(later.map((epoch) => `${percent(epoch.source.bytes / dataset.bytes)} of the data`));
    return (
      `${setup.name}: ${seconds(totalSeconds(outcome))} s${copied}${compared}.${kept} ` +
      `Epochs 2 and 3 took ${times} and read ${shares} from the source.`
    );
  });
  const stalled = baseline.epochs.reduce((sum, { stallSeconds }) => sum + stallSeconds, 0);
  const stalledShare = stalled / totalSeconds(baseline);
  if (stalledShare >= TOO_LITTLE_STALL) return sentences;
  return [
    ...sentences,
    `In this run computing was the limit and not reading: with ${baseline.setup.name} the model waited for data ` +
      `${percent(stalledShare)} of the time. The seconds say little; operations and bytes hold all the same.`,
  ];
}

function each(values: readonly string[]): string {
  const [first = ''] = values;
  return values.every((value) => value === first) ? `${first} each` : values.join(' and ');
}
