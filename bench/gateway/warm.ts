import path from 'node:path';
import { alternate, median, ratio } from '../lib/alternate.js';
import { atLeast, atMost, type Row } from '../lib/bench.js';
import { treeMs } from '../lib/process-tree.js';
import type { ClientFigures } from './client.js';
import type { Contestant, Running } from './contestants.js';
import { bytesOf, type Dataset } from './datasets.js';
import type { Measuring } from './measuring.js';
import { startOne } from './started.js';
import { Source, UNLIMITED } from './source.js';

/** Epochs until a cache has all that it is to have. */
const MOST_FILLS = 5;
/** From this share of a core on, the client may be what limits. */
const CLIENT_SHARE = 0.9;

/** Aims: how fast one is, of another one. */
export interface WarmAim {
  readonly of: Contestant;
  readonly beside: Contestant;
  readonly least: number;
}

/** What a round cost. */
interface Round extends ClientFigures {
  readonly serverMs: number;
}

/** All of the data from caches that have all of it: how fast one client gets it, and what that costs. */
export async function compareWarm(
  dataset: Dataset,
  contestants: readonly Contestant[],
  aims: readonly WarmAim[],
  measuring: Measuring,
): Promise<void> {
  const { rows, checks, options } = measuring;
  const there = contestants.filter(({ isThere }) => isThere);
  const seen = await roundsOf(dataset, there, measuring);
  for (const { name } of there) rows.push(rowOf(dataset, name, seen.rounds.get(name) ?? []));
  for (const { of, beside, least } of aims) {
    const name = `${dataset.name}: ${of.name}, as fast as ${beside.name}`;
    const found = ratio(seen.timings, of.name, beside.name);
    if (of.isThere && beside.isThere) checks.push(atLeast(name, found, least, 'x'));
  }
  const [ours] = there;
  const share = clientShare(seen.rounds.get(ours?.name ?? '') ?? []);
  const name = `${dataset.name}: the client beside ${ours?.name}, of a core`;
  if (!options.quick) checks.push(atMost(name, share, CLIENT_SHARE, 'x'));
}

async function roundsOf(dataset: Dataset, there: readonly Contestant[], measuring: Measuring) {
  const { client, scratch, options } = measuring;
  await using source = await Source.start({ dataset, latencyMs: 0, bytesPerSecond: UNLIMITED });
  const rounds = new Map<string, Round[]>(there.map(({ name }) => [name, []]));
  const setups: Record<string, () => Promise<void>> = {};
  const running: Running[] = [];
  const epoch = { of: 0 };
  try {
    for (const [i, contestant] of there.entries()) {
      options.progress(`${dataset.name}: filling ${contestant.name}`);
      const directory = path.join(scratch, `warm-${dataset.bucket}-${i}`);
      const started = await startOne(contestant, source, { dataset, directory, quota: 2 * bytesOf(dataset) });
      running.push(started.server);
      const read = () => client.read({ dataset, endpoint: started.endpoint, epoch: epoch.of });
      await untilKept(source, read);
      setups[contestant.name] = async () => {
        const before = treeMs(started.server.pid);
        const figures = await read();
        rounds.get(contestant.name)?.push({ ...figures, serverMs: treeMs(started.server.pid) - before });
      };
    }
    const timings = await alternate(setups, options.quick ? 1 : 11, (round) => {
      options.progress(`${dataset.name}: round ${round}`);
      epoch.of = round;
    });
    return { timings, rounds };
  } finally {
    for (const server of running) await server.close();
  }
}

/** Reads until nothing comes from the source any more. */
export async function untilKept(source: Source, read: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < MOST_FILLS; i++) {
    const before = await source.counts();
    await read();
    if ((await source.counts()).bytes === before.bytes) return;
  }
  throw new Error(`After ${MOST_FILLS} epochs, objects still come from the source.`);
}

function rowOf(dataset: Dataset, name: string, [, ...rounds]: readonly Round[]): Row {
  const of = (what: (round: Round) => number) => median(rounds.map(what));
  return {
    'from the cache': dataset.name,
    through: name,
    'MB/s': of(({ bytes, seconds }) => bytes / 1e6 / seconds),
    'p50 ms': of(({ p50Ms }) => p50Ms),
    'p99 ms': of(({ p99Ms }) => p99Ms),
    'CPU s/GB': of(({ bytes, serverMs }) => serverMs / 1000 / (bytes / 1e9)),
    'client, of a core': clientShare(rounds),
  };
}

function clientShare(rounds: readonly Round[]): number {
  return median(rounds.map(({ cpuSeconds, seconds }) => cpuSeconds / seconds));
}
