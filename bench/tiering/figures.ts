import { median } from '../lib/alternate.js';
import { atMost, type Check, type Row } from '../lib/bench.js';
import type { Outcome, Seen } from './rounds.js';
import { SOURCE_BYTES_PER_SECOND, type Phase, type Run } from './run.js';
import { keptBytes, localOnly, sourceOnly, tiered, tieredInPart, withoutSdk, type Setup } from './setups.js';

/** What PlacementHandler asks the source for at a time by default. */
export const CHUNK_BYTES = 4 * 1024 * 1024;

export const MB = 1e6;

/**
 * A line a setup; lists have a number an epoch. `amplified` is source bytes of the first epoch for each byte
 * of the dataset, `over MB` and `chunks` are source bytes of all epochs over the optimum, `idle s` is the
 * time from the end of the first epoch until nothing was being placed.
 */
export function rowsOf(seen: Seen): Row[] {
  const { which, outcomes } = seen;
  return outcomes.map(({ setup, runs }): Row => {
    const anEpoch = (of: FigureOfPhase) => byEpoch(runs, of);
    const fromSource = setup.local !== true;
    const over = excessBytes(seen, setup);
    return {
      data: which.name,
      setup: setup.name,
      runs: runs.length,
      'copy s': known(runs.map(({ copying }) => copying?.seconds)),
      'epoch s': anEpoch(({ seconds }) => seconds),
      'x source only': anEpoch(
        ({ seconds }, run, epoch) => seconds / secondsOf(seen, sourceOnly, run, epoch),
      ),
      'x local only': anEpoch(({ seconds }, run) => seconds / localSeconds(seen, run)),
      'source ops': anEpoch(({ sourceOperations }) => sourceOperations),
      'source MB': anEpoch(({ sourceBytes }) => Math.round(sourceBytes / MB)),
      amplified: fromSource ? amplification(seen, setup) : [],
      'over MB': fromSource ? over / MB : [],
      chunks: fromSource ? over / CHUNK_BYTES : [],
      'idle s': known(runs.map(({ idleSeconds }) => idleSeconds)),
      'CPU s': anEpoch(({ cpuSeconds }) => cpuSeconds),
    };
  });
}

/** The figures that the project has set itself an aim for. */
export function checksOf(seen: Seen): Check[] {
  const { which } = seen;
  const check = (name: string, value: number, aim: number, unit: string) =>
    atMost(`${which.name}: ${name}`, value, aim, unit);
  const bound = which.dataset.bytes / SOURCE_BYTES_PER_SECOND;
  return [
    check(
      'later epochs with room for all, against local only',
      overRounds(seen, tiered, ({ epochs }, run) => {
        const later = epochs.slice(1).map(({ seconds }) => seconds);
        return mean(later) / localSeconds(seen, run);
      }),
      1.05,
      'x',
    ),
    which.inPieces
      ? check(
          "first epoch with room for all, against the source's bound (bytes / cap)",
          overRounds(seen, tiered, (_, run) => secondsOf(seen, tiered, run, 0) / bound),
          1.03,
          'x',
        )
      : check(
          'first epoch with room for all, against source only',
          firstEpochRatio(seen, tiered, sourceOnly),
          1.02,
          'x',
        ),
    check('SDK without tiers, against its driver', firstEpochRatio(seen, sourceOnly, withoutSdk), 1.03, 'x'),
    ...[tiered, tieredInPart].flatMap((setup) => [
      check(`amplification of the first epoch, ${setup.name}`, amplification(seen, setup), 1, 'x'),
      check(
        `source bytes over the optimum, ${setup.name}`,
        excessBytes(seen, setup) / CHUNK_BYTES,
        1,
        'chunks',
      ),
    ]),
  ];
}

/** Source bytes up to the end of the first epoch, for each byte of the dataset: the worst run. */
function amplification(seen: Seen, setup: Setup): number {
  const bytes = runsOf(seen, setup).map(
    ({ copying, epochs }) => (copying?.sourceBytes ?? 0) + (epochs[0]?.sourceBytes ?? Number.NaN),
  );
  return Math.max(...bytes) / seen.which.dataset.bytes;
}

/**
 * Source bytes of all E epochs beyond E*S - (E-1)*D, the least that is possible if D of S bytes are kept: the
 * worst run.
 */
function excessBytes(seen: Seen, setup: Setup): number {
  const size = seen.which.dataset.bytes;
  const excess = runsOf(seen, setup).map(({ epochs, sourceBytes }) => {
    const optimum = epochs.length * size - (epochs.length - 1) * keptBytes(setup, size);
    return sourceBytes - optimum;
  });
  return Math.max(...excess);
}

/** The median over the rounds of a figure of a setup's run. */
function overRounds(seen: Seen, setup: Setup, of: (run: Run, index: number) => number): number {
  return median(runsOf(seen, setup).map(of));
}

/**
 * First epochs compare with first epochs: in each run that is the one in which memory grows and code is
 * compiled.
 */
function firstEpochRatio(seen: Seen, setup: Setup, baseline: Setup): number {
  return overRounds(
    seen,
    setup,
    (_, run) => secondsOf(seen, setup, run, 0) / secondsOf(seen, baseline, run, 0),
  );
}

function secondsOf(seen: Seen, setup: Setup, round: number, epoch: number): number {
  return runsOf(seen, setup)[round]?.epochs[epoch]?.seconds ?? Number.NaN;
}

/** Seconds of an epoch from the local disk in a round. All its epochs are alike, and short. */
function localSeconds(seen: Seen, round: number): number {
  return median(runsOf(seen, localOnly)[round]?.epochs.map(({ seconds }) => seconds) ?? []);
}

function runsOf({ outcomes }: Seen, setup: Setup): Outcome['runs'] {
  return outcomes.find((outcome) => outcome.setup === setup)?.runs ?? [];
}

/** A figure of an epoch, given also which run and which epoch it is. */
type FigureOfPhase = (phase: Phase, run: number, epoch: number) => number;

/** The medians over the runs of a figure of each epoch. */
export function byEpoch(runs: readonly Run[], of: FigureOfPhase): number[] {
  const figures = runs.map(({ epochs }, run) => epochs.map((phase, epoch) => of(phase, run, epoch)));
  return (figures[0] ?? []).map((_, epoch) => median(figures.map((figure) => figure[epoch] ?? Number.NaN)));
}

/** The median of what there is; nothing if there is nothing. */
function known(values: readonly (number | undefined)[]): number | number[] {
  const there = values.filter((value) => value !== undefined);
  return there.length === 0 ? [] : median(there);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
