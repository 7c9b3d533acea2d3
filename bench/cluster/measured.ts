import type { Row } from '../lib/bench.js';
import { warmEpochsOf, type Case } from './cases.js';
import { fastRow } from './figures.js';
import type { Kept, Node } from './node.js';
import type { Measured } from './predicted.js';
import { BY_PLAN, RENDEZVOUS, SOURCE_ONLY, train, type ClusterEpoch, type Training } from './trained.js';

const MB = 1e6;

/**
 * Measures so many nodes for the simulator, after they have read in all ways: a training reads millions of
 * samples, so compiling is no part of its cost.
 */
export async function measure(training: Training, one: Case, rows: Row[]): Promise<Measured> {
  for (const way of [SOURCE_ONLY, RENDEZVOUS]) await train(training, { ...one, epochs: 2 }, way, null);
  await train(training, { ...one, parts: one.nodes, epochs: warmEpochsOf(one) }, BY_PLAN, null);
  const source: [number, number][] = [];
  for (const nodes of new Set([1, 2, one.nodes])) {
    const [epoch] = await train(training, { ...one, nodes, epochs: 1 }, SOURCE_ONLY, null);
    source.push([nodes, rateOf(epoch)]);
  }
  let [ramMBps, networkMBps] = [NaN, NaN];
  const fast = await train(
    training,
    { ...one, parts: one.nodes, epochs: 3 },
    BY_PLAN,
    null,
    async (nodes) => {
      ramMBps = await meanRate(nodes, 'by itself');
      networkMBps = await meanRate(nodes, 'by others');
    },
  );
  const measured = { source, networkMBps, ramMBps };
  rows.push(fastRow(one, measured, fast));
  return measured;
}

/** Of a node, while all of them read. */
async function meanRate(nodes: readonly Node[], kept: Kept): Promise<number> {
  const rates = await Promise.all(nodes.map((node) => node.rate(kept)));
  return rates.reduce((sum, rate) => sum + rate, 0) / nodes.length;
}

function rateOf(epoch: ClusterEpoch | undefined): number {
  return epoch === undefined ? NaN : epoch.bytes / epoch.seconds / MB;
}
