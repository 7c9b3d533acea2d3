import type { EpochOfFiles } from '@tiered/interpose';

/** Rows at most, so that a summary fits a screen. */
const MOST_ROWS = 6;
/** Epochs whose hits differ by less, as parts of all opens, are alike. */
const ALIKE = 0.01;

/** Epochs in a row, counted from 1, and what one of them did on average. */
export interface EpochRow {
  readonly from: number;
  readonly to: number;
  readonly mean: EpochOfFiles;
}

/** Puts epochs in a row together whose hits are alike, and all those behind the last row that fits. */
export function epochRows(epochs: readonly EpochOfFiles[]): EpochRow[] {
  const groups: EpochOfFiles[][] = [];
  for (const epoch of epochs) {
    const group = groups.at(-1);
    const isAlike = group?.[0] !== undefined && Math.abs(hitsOf(group[0]) - hitsOf(epoch)) < ALIKE;
    if (group !== undefined && (isAlike || groups.length === MOST_ROWS)) group.push(epoch);
    else groups.push([epoch]);
  }
  let to = 0;
  return groups.map((group) => {
    const from = to + 1;
    to += group.length;
    return { from, to, mean: meanOf(group) };
  });
}

const hitsOf = ({ redirected, opens }: EpochOfFiles): number => redirected / Math.max(1, opens);

function meanOf(epochs: readonly EpochOfFiles[]): EpochOfFiles {
  const of = (name: keyof EpochOfFiles) =>
    epochs.reduce((sum, epoch) => sum + epoch[name], 0) / epochs.length;
  const [opens, redirected, sourceBytes] = [of('opens'), of('redirected'), of('sourceBytes')];
  return { opens, redirected, sourceBytes, copyBytes: of('copyBytes'), ms: of('ms') };
}
