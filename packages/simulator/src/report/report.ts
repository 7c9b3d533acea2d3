import type { SimulationResult } from '../engine/outcome.js';

/** A result, and its setup where there are several. */
export interface ReportRow {
  /** Such as `ram 10 GB, ssd 20 GB`; empty for the setup itself. */
  readonly setup: string;
  readonly result: SimulationResult;
}

/** A row's name in tables and charts. */
export function labelOf({ setup, result }: ReportRow): string {
  return setup === '' ? result.strategy : `${setup}: ${result.strategy}`;
}

/** A duration in the unit that suits it: `2.75 h`, `12.3 min` or `5.8 s`. */
export function duration(seconds: number): string {
  if (seconds >= 3600) return `${(seconds / 3600).toFixed(2)} h`;
  return seconds >= 60 ? `${(seconds / 60).toFixed(2)} min` : `${seconds.toFixed(2)} s`;
}

/** Why a policy cannot simply be compared with the others; empty if it can. */
export function remarkOf({ refused, notCovered, fullRandomization }: SimulationResult): string {
  if (refused !== undefined) return `cannot run: ${refused}`;
  if (notCovered > 0)
    return `does not read the whole dataset: ${percent(notCovered)} of accesses not covered`;
  return fullRandomization ? '' : 'changes the order: no full randomization';
}

/** `12.3 %`. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** All places that anything came from, in order. */
export function placesOf(rows: readonly ReportRow[]): string[] {
  return [...new Set(rows.flatMap(({ result }) => result.sources.map(({ from }) => from)))];
}
