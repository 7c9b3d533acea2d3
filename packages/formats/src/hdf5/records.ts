import { bytesOf, type Dataset } from './datasets.js';
import type { Unit } from './header.js';
import type { Span } from './places.js';

/** A record: its bytes, and the units in them. */
export interface UnitsRecord extends Span {
  readonly units: Unit[];
}

/** Bytes of rows that are read at once where nothing else says how many. */
const BLOCK = 16 * 1024;

/** How many rows are read at once: whole chunks of all datasets, or rows of some bytes. */
export function rowsAtOnce(datasets: readonly Dataset[], rows: number): number {
  const chunks = datasets.flatMap(({ chunks }) => chunks?.[0] ?? []);
  if (chunks.length > 0) return Math.min(rows, chunks.reduce(leastCommonMultiple));
  const row = datasets.reduce((sum, dataset) => sum + bytesOf(dataset, 1), 0);
  return Math.min(rows, Math.max(1, Math.floor(BLOCK / Math.max(1, row))));
}

function leastCommonMultiple(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y > 0) [x, y] = [y, x % y];
  return (a / x) * b;
}

/**
 * Makes records of units, in the order of the file. Units whose bytes lie between each other's are one
 * record. Those without bytes of their own go to the one before.
 */
export function recordsOf(units: readonly (readonly [Unit, Span | undefined])[]): UnitsRecord[] {
  const placed: UnitsRecord[] = [];
  const nowhere: Unit[] = [];
  for (const [unit, span] of units) {
    if (span !== undefined) placed.push({ ...span, units: [unit] });
    else (placed.at(-1)?.units ?? nowhere).push(unit);
  }
  const records: UnitsRecord[] = [];
  for (const record of placed.sort((a, b) => a.start - b.start)) {
    const last = records.at(-1);
    if (last === undefined || record.start >= last.end) {
      records.push(record);
      continue;
    }
    last.end = Math.max(last.end, record.end);
    last.units.push(...record.units);
  }
  if (nowhere.length === 0) return records;
  const [first, ...others] = records;
  if (first === undefined) return [{ start: 0, end: 1, units: nowhere }];
  return [{ ...first, units: [...nowhere, ...first.units] }, ...others];
}
