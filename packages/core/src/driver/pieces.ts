import type { ReadOutcome } from './driver.js';

/** A read of one range or of several. */
interface Ranged {
  readonly offset: number;
  readonly target: Uint8Array;
  readonly pieces?: Float64Array | undefined;
}

/** A batch without pieces. */
export interface SingleRanges<R> {
  /** One read per piece. */
  readonly requests: readonly R[];
  /** Combines their outcomes into the outcomes of the batch. */
  readonly join: (outcomes: readonly ReadOutcome[]) => readonly ReadOutcome[];
}

/** For drivers that can only read pieces one by one. */
export function inSingleRanges<R extends Ranged>(requests: readonly R[]): SingleRanges<R> {
  if (requests.every(({ pieces }) => pieces === undefined)) return { requests, join: (outcomes) => outcomes };
  const singles = requests.map((request) => runsOf(request, Infinity));
  return {
    requests: singles.flat(),
    join: (outcomes) => {
      let at = 0;
      return singles.map((ofOne) => {
        const from = at;
        at += ofOne.length;
        return joined(ofOne, outcomes.slice(from, at));
      });
    },
  };
}

/** The pieces of a read, split into runs that can be read concurrently. */
export interface Runs<R> {
  /** One read per run. A run of a single piece has no `pieces`. */
  readonly requests: readonly R[];
  /** Returns the byte count of the read, given the count of each run. */
  readonly joinCounts: (counts: readonly number[]) => number;
}

/** For drivers that read pieces one after the other, in at most `most` concurrent runs. */
export function inRuns<R extends Ranged>(request: R, most: number): Runs<R> {
  const requests = runsOf(request, most);
  return { requests, joinCounts: (counts) => bytesUpToShort(requests, counts) };
}

/** The runs of a read, in order. A read of one range is its own run. */
function runsOf<R extends Ranged>(request: R, most: number): R[] {
  const { pieces, offset, target } = request;
  if (pieces === undefined) return [request];
  // Still asks whether the object exists.
  if (pieces.length === 0) return [{ ...request, pieces: undefined, target: target.subarray(0, 0) }];
  const runs: R[] = [];
  const numbers = 2 * Math.max(1, Math.ceil(pieces.length / 2 / most));
  let filled = 0;
  for (let i = 0; i < pieces.length; i += numbers) {
    const run = pieces.subarray(i, i + numbers);
    const bytes = bytesOf(run);
    const part = { ...request, pieces: run, target: target.subarray(filled, filled + bytes) };
    runs.push(run.length > 2 ? part : { ...part, pieces: undefined, offset: offset + (run[0] ?? 0) });
    filled += bytes;
  }
  return runs;
}

/** The total length of pieces. */
function bytesOf(pieces: Float64Array): number {
  let bytes = 0;
  for (let i = 1; i < pieces.length; i += 2) bytes += pieces[i] ?? 0;
  return bytes;
}

/** The bytes up to the point where a range was cut short, or the first error. */
function joined(ranges: readonly Ranged[], outcomes: readonly ReadOutcome[]): ReadOutcome {
  const failed = outcomes.find((outcome) => 'error' in outcome);
  if (failed !== undefined) return failed;
  return {
    bytes: bytesUpToShort(
      ranges,
      outcomes.map((outcome) => ('bytes' in outcome ? outcome.bytes : 0)),
    ),
  };
}

function bytesUpToShort(ranges: readonly Ranged[], counts: readonly number[]): number {
  let bytes = 0;
  for (const [i, { target }] of ranges.entries()) {
    const count = counts[i] ?? 0;
    bytes += count;
    if (count < target.byteLength) break;
  }
  return bytes;
}
