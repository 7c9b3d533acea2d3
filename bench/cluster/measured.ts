import { bytesOf } from '../gateway/datasets.js';
import type { Row } from '../lib/bench.js';
import type { Case } from './cases.js';
import { fastRow } from './figures.js';
import type { Measured } from './predicted.js';
import {
  ALONE,
  BY_PLAN,
  RENDEZVOUS,
  SOURCE_ONLY,
  train,
  type ClusterEpoch,
  type Training,
} from './trained.js';

const MB = 1e6;

/** What the simulator needs to know of so many nodes, which have done everything once before. */
export async function measure(training: Training, one: Case, rows: Row[]): Promise<Measured> {
  await train(training, { ...one, epochs: 2 }, RENDEZVOUS, null);
  const source: [number, number][] = [];
  for (const nodes of new Set([1, 2, one.nodes])) {
    const [epoch] = await train(training, { ...one, nodes, epochs: 1 }, SOURCE_ONLY, null);
    source.push([nodes, rateOf(epoch)]);
  }
  const [, own] = await train(training, { ...one, nodes: 1, parts: 1, epochs: 2 }, ALONE, null);
  const ramMBps = rateOf(own);
  const fast = await train(training, { ...one, parts: one.nodes, epochs: 3 }, BY_PLAN, null);
  const last = fast.at(-1);
  const measured = { source, networkMBps: linkOf(last, ramMBps, one), ramMBps };
  rows.push(fastRow(one, measured, fast));
  return measured;
}

function rateOf(epoch: ClusterEpoch | undefined): number {
  return epoch === undefined ? NaN : epoch.bytes / epoch.seconds / MB;
}

/** What is left of the time of an epoch, beside the reads of a node's own RAM, is that of its peers. */
function linkOf(epoch: ClusterEpoch | undefined, ramMBps: number, { dataset, nodes }: Case): number {
  if (epoch === undefined) return NaN;
  const ownMB = (bytesOf(dataset) - epoch.peerBytes) / nodes / MB;
  return epoch.peerBytes / nodes / MB / Math.max(1e-3, epoch.seconds - ownMB / ramMBps);
}
