import { runSetup, type Case, type Run } from './run.js';
import { SETUPS, type Setup } from './setups.js';

/** Everything that was seen of a setup on a case. */
export interface Outcome {
  readonly setup: Setup;
  /** By round. A setup that runs once has one, of the first round. */
  readonly runs: readonly Run[];
}

/** A case with the outcome of each setup. */
export interface Seen {
  readonly which: Case;
  readonly outcomes: readonly Outcome[];
}

/** What the rounds need to know. */
interface Plan {
  readonly cases: readonly Case[];
  readonly rounds: number;
  readonly scratch: string;
  readonly progress: (text: string) => void;
}

/**
 * Runs every setup on every case, the checked ones once a round, each round beginning with another one: what
 * disturbs the machine disturbs all setups of a round alike. The local setups run once before, uncounted, so
 * that files are in the page cache and code is compiled.
 */
export async function runRounds({ cases, rounds, scratch, progress }: Plan): Promise<Seen[]> {
  const seen = cases.map((which) => ({
    which,
    outcomes: SETUPS.map((setup) => ({ setup, runs: [] as Run[] })),
  }));
  for (const { which, outcomes } of seen) {
    for (const { setup } of outcomes) {
      progress(`warming up: ${which.name}, ${setup.name}`);
      if (setup.local === true) await runSetup(setup, which, scratch);
    }
  }
  for (let round = 0; round < rounds; round++) {
    for (const { which, outcomes } of seen) {
      for (let i = 0; i < outcomes.length; i++) {
        const outcome = outcomes[(i + round) % outcomes.length];
        if (outcome === undefined || (round > 0 && outcome.setup.everyRound !== true)) continue;
        progress(`round ${round + 1} of ${rounds}: ${which.name}, ${outcome.setup.name}`);
        outcome.runs.push(await runSetup(outcome.setup, which, scratch));
      }
    }
  }
  return seen;
}
