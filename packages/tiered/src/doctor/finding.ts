/**
 * How much a finding matters. `ok`: as it should be. `note`: worth knowing. `warning`: works, but worse than
 * it could, or not for long. `problem`: does not work.
 */
export type FindingLevel = 'ok' | 'note' | 'warning' | 'problem';

/** One thing that was looked at. */
export interface Finding {
  readonly level: FindingLevel;
  /** What it is about: `configuration`, `machine`, `source`, `tier 0`, or `tiers` together. */
  readonly about: string;
  readonly found: string;
  /** What to do about it, where there is something to do. */
  readonly advice?: string;
}

/** Makes the findings of one thing. */
export function findingsOn(about: string) {
  const of = (level: FindingLevel) => (found: string, advice?: string) => ({
    level,
    about,
    found,
    ...(advice !== undefined && { advice }),
  });
  return { ok: of('ok'), note: of('note'), warning: of('warning'), problem: of('problem') };
}
