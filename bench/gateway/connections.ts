import { systemClock } from '@tiered/core';
import path from 'node:path';
import { atMost } from '../lib/bench.js';
import { treeRss } from '../lib/process-tree.js';
import { Client } from './client.js';
import type { Contestant } from './contestants.js';
import { bytesOf, keysOf, type Dataset } from './datasets.js';
import type { Measuring } from './measuring.js';
import { Source, UNLIMITED } from './source.js';
import { startOne } from './started.js';
import { untilKept } from './warm.js';

const IDLE = 1000;
const BUSY = 500;
const MIB = 2 ** 20;
/** Aim: what the gateway says that it may hold for so many connections, in MiB. */
const BOUND = 256 + BUSY / 4;
const LOOKS_EACH_MS = 20;

/** Memory of the gateway, and how long reads take, with few connections and with many. */
export async function measureConnections(
  dataset: Dataset,
  contestant: Contestant,
  { scratch, rows, checks, options }: Measuring,
): Promise<void> {
  options.progress('connections');
  await using source = await Source.start({ dataset, latencyMs: 0, bytesPerSecond: UNLIMITED });
  const directory = path.join(scratch, 'connections');
  const served = { dataset, directory, quota: 2 * bytesOf(dataset) };
  const { server, endpoint } = await startOne(contestant, source, served);
  try {
    const few = await withClient((client) => {
      const read = (epoch: number) => client.read({ dataset, endpoint, epoch });
      return untilKept(source, () => read(0)).then(() => withPeak(server.pid, () => read(1)));
    });
    const before = treeRss(server.pid);
    const idle = await withClient(async (client) => {
      await client.connect({ endpoint, path: `/${dataset.bucket}/${keysOf(dataset)[0]}`, idle: IDLE });
      return treeRss(server.pid);
    });
    const busy = await withClient(async (client) => {
      const read = (epoch: number) => client.read({ dataset, endpoint, epoch, connections: BUSY });
      await read(1);
      return withPeak(server.pid, () => read(2));
    });
    const row = (connections: string, bytes: number, p50: number | string, p99: number | string) =>
      rows.push({ connections, 'MB of memory': bytes / 1e6, 'p50 ms': p50, 'p99 ms': p99 });
    row(`${dataset.connections} busy`, few.peak, few.found.p50Ms, few.found.p99Ms);
    row(`${IDLE} idle`, idle, '', '');
    row(`${BUSY} busy`, busy.peak, busy.found.p50Ms, busy.found.p99Ms);
    checks.push(atMost(`memory of ${BUSY} busy connections`, (busy.peak - before) / MIB, BOUND, 'MiB'));
  } finally {
    await server.close();
  }
}

/** A client of its own: its connections are gone afterwards. */
async function withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
  await using client = await Client.start();
  return await work(client);
}

/** Works, and looks at the memory of a process meanwhile. */
async function withPeak<T>(pid: number, work: () => Promise<T>): Promise<{ found: T; peak: number }> {
  const ended = new AbortController();
  let peak = 0;
  const looking = (async () => {
    while (!ended.signal.aborted) {
      peak = Math.max(peak, treeRss(pid));
      await systemClock.sleep(LOOKS_EACH_MS, ended.signal).catch(() => undefined);
    }
  })();
  const found = await work().finally(() => ended.abort());
  await looking;
  return { found, peak };
}
