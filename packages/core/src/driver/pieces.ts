import type { ReadOutcome } from './driver.js';

/** What has a range, or several. */
interface Ranged {
  readonly offset: number;
  readonly target: Uint8Array;
  readonly pieces?: Float64Array | undefined;
}

/** A batch without pieces. */
export interface SingleRanges<R> {
  /** A read for each piece. */
  readonly requests: readonly R[];
  /** Makes the outcomes of the batch out of theirs. */
  readonly join: (outcomes: readonly ReadOutcome[]) => readonly ReadOutcome[];
}

/** For drivers that know no better way to read pieces than one by one. */
export function inSingleRanges<R extends Ranged>(requests: readonly R[]): SingleRanges<R> {
  if (requests.every(({ pieces }) => pieces === undefined)) return { requests, join: (outcomes) => outcomes };
  const singles = requests.map((request) => rangesOf(request));
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

/** The ranges of a read, in order; itself if it has one. */
function rangesOf<R extends Ranged>(request: R): R[] {
  const { pieces, offset, target } = request;
  if (pieces === undefined) return [request];
  // Whether the object is there is asked all the same.
  if (pieces.length === 0) return [{ ...request, pieces: undefined, target: target.subarray(0, 0) }];
  const ranges: R[] = [];
  let filled = 0;
  for (let i = 0; i < pieces.length; i += 2) {
    const [from = 0, length = 0] = [pieces[i], pieces[i + 1]];
    const piece = target.subarray(filled, filled + length);
    ranges.push({ ...request, pieces: undefined, offset: offset + from, target: piece });
    filled += length;
  }
  return ranges;
}

/** The bytes up to the first range that was not filled, or the first error. */
function joined(ranges: readonly Ranged[], outcomes: readonly ReadOutcome[]): ReadOutcome {
  const failed = outcomes.find((outcome) => 'error' in outcome);
  if (failed !== undefined) return failed;
  let bytes = 0;
  for (const [i, { target }] of ranges.entries()) {
    const outcome = outcomes[i] ?? { bytes: 0 };
    const count = 'bytes' in outcome ? outcome.bytes : 0;
    bytes += count;
    if (count < target.byteLength) break;
  }
  return { bytes };
}
