/** What a campaign has done and found so far; sums over any number of them are theirs together. */
export interface Figures {
  schedules: number;
  steps: number;
  reads: number;
  kills: number;
  powerCuts: number;
  /** Injected, by kind. */
  faults: Record<string, number>;
  bytesChecked: number;
  wrongBytes: number;
  bytesOverQuota: number;
  failedStarts: number;
  findings: number;
}

export function noFigures(): Figures {
  return {
    schedules: 0,
    steps: 0,
    reads: 0,
    kills: 0,
    powerCuts: 0,
    faults: {},
    bytesChecked: 0,
    wrongBytes: 0,
    bytesOverQuota: 0,
    failedStarts: 0,
    findings: 0,
  };
}

/** Counts a fault. */
export function countFault(figures: Figures, kind: string, count = 1): void {
  figures.faults[kind] = (figures.faults[kind] ?? 0) + count;
}

/** Adds figures to others. */
export function addFigures(sum: Figures, { faults, ...numbers }: Figures): void {
  for (const [kind, count] of Object.entries(faults)) countFault(sum, kind, count);
  for (const name of Object.keys(numbers) as (keyof typeof numbers)[]) sum[name] += numbers[name];
}

/** One line. */
export function lineOf({ faults, ...numbers }: Figures): string {
  const words = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const listed = Object.entries(numbers).map(([name, count]) => `${words(name)} ${count}`);
  const kinds = Object.entries(faults).sort(([a], [b]) => (a < b ? -1 : 1));
  return [...listed, `faults ${kinds.map(([kind, count]) => `${kind} ${count}`).join(', ') || 'none'}`].join(
    ' · ',
  );
}
