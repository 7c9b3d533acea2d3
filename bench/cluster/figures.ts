import { bytesOf } from '../gateway/datasets.js';
import { atMost, type Check, type Row } from '../lib/bench.js';
import { COMPUTE_BYTES_PER_SECOND, leftOf, nameOf, type Case } from './cases.js';
import type { Measured } from './predicted.js';
import { BY_PLAN, type ClusterEpoch, type Way } from './trained.js';

/** A case in one way. */
export interface Seen {
  readonly one: Case;
  readonly way: Way;
  readonly epochs: readonly ClusterEpoch[];
  readonly predicted: readonly number[] | undefined;
}

/** Heads of answers are among the bytes of the source: a third of a per cent for the smallest. */
const HEADS = 0.01;
const TOLERANCE = 0.1;

export function rowOf({ one, way, epochs, predicted }: Seen): Row {
  const ofEach = (what: (epoch: ClusterEpoch) => number) => epochs.map(what);
  const all = (what: (epoch: ClusterEpoch) => number) => ofEach(what).reduce((sum, value) => sum + value, 0);
  return {
    training: nameOf(one),
    way: way.name,
    'source, x the data': ofEach(({ sourceBytes }) => round(sourceBytes / bytesOf(one.dataset))),
    s: ofEach(({ seconds }) => round(seconds)),
    'simulated s': predicted?.map(round) ?? '',
    'stall s': ofEach(({ stallSeconds }) => round(stallSeconds)),
    'MB between nodes': ofEach(({ peerBytes }) => Math.round(peerBytes / 1e6)),
    'in vain': all(({ inVain }) => inVain),
    late: all(({ late }) => late),
    'CPU s/GB': all(({ cpuSeconds }) => cpuSeconds) / (all(({ bytes }) => bytes) / 1e9),
  };
}

/** As fast as the nodes can read, without a training. */
export function fastRow(
  one: Case,
  { source, networkMBps, ramMBps }: Measured,
  epochs: readonly ClusterEpoch[],
): Row {
  return {
    'no training, by plan, RAM for all': `${one.dataset.name}, ${one.nodes} nodes`,
    s: epochs.map(({ seconds }) => round(seconds)),
    'CPU s/GB of each epoch': epochs.map(({ cpuSeconds, bytes }) => round(cpuSeconds / (bytes / 1e9))),
    't(gamma), MB/s': source.map(([nodes, rate]) => `${nodes}: ${Math.round(rate)}`).join(', '),
    'b_c, MB/s': Math.round(networkMBps),
    'r, MB/s': Math.round(ramMBps),
  };
}

export function checksOf(seen: readonly Seen[]): Check[] {
  return seen.flatMap(({ one, way, epochs, predicted }) => {
    const name = `${nameOf(one)}, ${one.epochs} epochs, ${way.name}`;
    const said = predicted === undefined ? [] : [saidRight(name, epochs, predicted)];
    if (way !== BY_PLAN) return said;
    const [first, ...later] = epochs.map(({ sourceBytes }) => sourceBytes / bytesOf(one.dataset));
    const bound = bytesOf(one.dataset) / COMPUTE_BYTES_PER_SECOND;
    const fits = leftOf(one) === 0;
    return [
      atMost(`${name}: source in the first epoch`, first ?? NaN, 1 + HEADS, 'x the data'),
      atMost(`${name}: source in a later epoch`, Math.max(...later), leftOf(one) + HEADS, 'x the data'),
      ...(fits
        ? [
            atMost(
              `${name}: a later epoch, of what the training takes`,
              Math.max(...epochs.slice(1).map(({ seconds }) => seconds)) / bound,
              1 + TOLERANCE,
              'x',
            ),
          ]
        : []),
      ...said,
    ];
  });
}

/** How far the simulator is off, in all epochs together. */
function saidRight(name: string, epochs: readonly ClusterEpoch[], predicted: readonly number[]): Check {
  const measured = epochs.reduce((sum, { seconds }) => sum + seconds, 0);
  const off = Math.abs(predicted.reduce((sum, seconds) => sum + seconds, 0) / measured - 1);
  return atMost(`${name}: off what the simulator says`, off, TOLERANCE, 'of the seconds');
}

function round(value: number): number {
  return Math.round(100 * value) / 100;
}
