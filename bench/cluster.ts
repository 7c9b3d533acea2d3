/*
 * Trainings on several nodes, which are processes, and what the simulator says of them.
 *
 * The simulator is given what is measured of the same nodes before: t(gamma) by epochs of 1, 2 and all nodes
 * that keep nothing; then, after three epochs by plan with RAM for all, r and b_c. For these each node reads
 * the samples of its epochs that it keeps itself, and after that those which others keep, while all nodes do
 * the same. Bytes over time, as `tiered calibrate --peers` measures one peer, but through the prefetcher of a
 * training, and with all nodes at work, which share the processors of one machine.
 */
import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { atScale } from './cluster/at-scale.js';
import {
  BYTES_PER_SECOND,
  casesOf,
  COMPUTE_BYTES_PER_SECOND,
  LATENCY_MS,
  type Case,
} from './cluster/cases.js';
import { checksOf, rowOf, type Seen } from './cluster/figures.js';
import { measure } from './cluster/measured.js';
import { Node } from './cluster/node.js';
import { predicted, type Measured } from './cluster/predicted.js';
import {
  ALONE,
  BY_PLAN,
  NGINX,
  REDIS,
  RENDEZVOUS,
  SOURCE_ONLY,
  train,
  type Training,
} from './cluster/trained.js';
import { missingForRedis } from '../tools/servers/redis.js';
import { PROXIES_INSTALL } from './gateway/contestants.js';
import { Source } from './gateway/source.js';
import type { Bench, Check, Row } from './lib/bench.js';
import { withScratch } from './lib/scratch.js';

const HAS_NGINX = spawnSync('nginx', ['-v']).status === 0;
const NO_REDIS = missingForRedis();
const WAYS = [
  ...[SOURCE_ONLY, ALONE],
  ...(HAS_NGINX ? [NGINX] : []),
  ...(NO_REDIS === undefined ? [REDIS] : []),
  ...[RENDEZVOUS, BY_PLAN],
];

const bench: Bench = {
  summary:
    'a training on several nodes over one source of 150 MB/s and 1 ms, by what the nodes share; all nodes together train on ' +
    '300 MB/s. Lists have a number an epoch. Then the homes of 1,024 workers',
  run: ({ quick, progress }) =>
    withScratch(async (scratch) => {
      const [rows, checks]: [Row[], Check[]] = [[], []];
      await mkdir(path.join(scratch, 'registry'), { mode: 0o700 });
      const cases = casesOf(quick);
      await using nodes = await startNodes(
        Math.max(...cases.flatMap(([, of]) => of.map(({ nodes }) => nodes))),
      );
      for (const [dataset, ofDataset] of cases) {
        const plan = { dataset, latencyMs: LATENCY_MS, bytesPerSecond: BYTES_PER_SECOND };
        await using source = await Source.start(plan);
        const training = { scratch, source, nodes: nodes.list };
        const measured = new Map<number, Measured>();
        for (const one of ofDataset) {
          progress(`${dataset.name}, ${one.nodes} nodes: measuring`);
          if (!measured.has(one.nodes)) measured.set(one.nodes, await measure(training, one, rows));
          await compare(one, training, measured.get(one.nodes), { rows, checks, progress });
        }
      }
      if (!HAS_NGINX) rows.push({ 'left out': NGINX.name, why: `not here (${PROXIES_INSTALL})` });
      if (NO_REDIS !== undefined) rows.push({ 'left out': REDIS.name, why: `not here (${NO_REDIS})` });
      progress('1,024 workers');
      const scale = await atScale(quick);
      return { rows: [...rows, ...scale.rows], checks: [...checks, ...scale.checks] };
    }),
};

export default bench;

interface Found {
  readonly rows: Row[];
  readonly checks: Check[];
  readonly progress: (text: string) => void;
}

/** One case in all ways, as it is and as the simulator says. */
async function compare(
  one: Case,
  training: Training,
  measured: Measured | undefined,
  { rows, checks, progress }: Found,
): Promise<void> {
  const seen: Seen[] = [];
  for (const way of WAYS) {
    progress(`${one.dataset.name}, ${one.nodes} nodes: ${way.name}`);
    const epochs = await train(training, one, way, COMPUTE_BYTES_PER_SECOND);
    seen.push({ one, way, epochs, predicted: measured && (await predicted(one, way, measured)) });
  }
  rows.push(...seen.map(rowOf));
  checks.push(...checksOf(seen));
}

async function startNodes(count: number): Promise<{ readonly list: readonly Node[] } & AsyncDisposable> {
  const list = await Promise.all(Array.from({ length: count }, () => Node.start()));
  return {
    list,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(list.map((node) => node[Symbol.asyncDispose]()));
    },
  };
}
