import { Random } from '@tiered/core';
import type { Runs } from '../reading/runs.js';
import type { EpochOrder } from './epoch-order.js';

/** Options of `windowShuffled`. */
export interface WindowShuffleOptions {
  /** The runs, each of which is read at once. */
  readonly runs: Runs;
  readonly seed: number;
  /** Bytes of the samples that are shuffled with each other. */
  readonly windowBytes: number;
  /** Sequences that are read side by side, one for each rank. */
  readonly lanes: number;
  /** The samples to read, as `LoaderPart.only`. The order is over their indexes. Default: all. */
  readonly only?: Uint32Array | undefined;
}

/**
 * A bounded shuffle, for sources where random access is expensive. Every run of bytes is read once per epoch,
 * at once and from its beginning. The order of the runs is random. Samples within a window are mixed as well
 * as by a full shuffle; samples of different windows are not mixed.
 *
 * Runs are dealt to lanes, one for each rank that the training began with, and each lane has its own windows.
 * Position p of the order belongs to lane p modulo lanes. So no two ranks read the same run, except at the
 * end of an epoch, when lanes have ended.
 */
export function windowShuffled({ runs, seed, windowBytes, lanes, only }: WindowShuffleOptions): EpochOrder {
  new Random(seed);
  const length = only?.length ?? runs.samples;
  const indexesOf = only === undefined ? allOf(runs) : someOf(runs, only);
  return {
    length,
    identity: ['windows', length, seed, windowBytes, lanes, runs.count],
    of: (epoch) => {
      const random = new Random(seed, epoch);
      const order = random.permutation(runs.count);
      const dealt = Array.from({ length: lanes }, (_, lane) => order.filter((_, i) => i % lanes === lane));
      return interleaved(
        dealt.map((lane) => mixed({ order: lane, runs, indexesOf, windowBytes, random })),
        length,
      );
    },
  };
}

/** The first index of the samples of a run, and the end. Samples are in the order of their numbers. */
type IndexesOf = (run: number) => readonly [first: number, end: number];

function allOf(runs: Runs): IndexesOf {
  return (run) => [runs.firstSampleOf(run), runs.firstSampleOf(run + 1)];
}

function someOf(runs: Runs, only: Uint32Array): IndexesOf {
  const firsts = new Uint32Array(runs.count + 1);
  for (let run = 0, at = 0; run <= runs.count; run++) {
    while (at < only.length && (only[at] ?? 0) < runs.firstSampleOf(run)) at += 1;
    firsts[run] = at;
  }
  return (run) => [firsts[run] ?? 0, firsts[run + 1] ?? 0];
}

interface MixedParts extends Pick<WindowShuffleOptions, 'runs' | 'windowBytes'> {
  readonly order: Uint32Array;
  readonly indexesOf: IndexesOf;
  readonly random: Random;
}

/** The indexes of the samples of runs, window by window, each in random order. */
function mixed({ order, runs, indexesOf, windowBytes, random }: MixedParts): Uint32Array {
  const lengthOf = (run: number) => {
    const [first, end] = indexesOf(run);
    return end - first;
  };
  const samples = new Uint32Array(order.reduce((sum, run) => sum + lengthOf(run), 0));
  let [filled, begun, bytes] = [0, 0, 0];
  for (const [i, run] of order.entries()) {
    const [first, end] = indexesOf(run);
    for (let index = first; index < end; index++) samples[filled++] = index;
    bytes += runs.bytesOf(run);
    if (bytes < windowBytes && i < order.length - 1) continue;
    mix(samples.subarray(begun, filled), random);
    [begun, bytes] = [filled, 0];
  }
  return samples;
}

function mix(samples: Uint32Array, random: Random): void {
  const from = samples.slice();
  for (const [i, at] of random.permutation(samples.length).entries()) samples[i] = from[at] ?? 0;
}

/** Takes one of each lane in turn, and skips lanes that have ended. */
function interleaved(lanes: readonly Uint32Array[], length: number): Uint32Array {
  if (lanes.length === 1) return lanes[0] ?? new Uint32Array();
  const order = new Uint32Array(length);
  for (let turn = 0, filled = 0; filled < length; turn++) {
    for (const lane of lanes) if (turn < lane.length) order[filled++] = lane[turn] ?? 0;
  }
  return order;
}
