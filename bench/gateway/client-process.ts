/*
 * Reads what a training reads from a server, and does nothing with it, in a process of its own. Answers each
 * line, which is a task as JSON, with what came of it.
 */
import { systemClock } from '@tiered/core';
import readline from 'node:readline';
import { Pool } from 'undici';
import type { ClientFigures, ClientTask, ConnectTask } from './client.js';
import { readsOf, type Read } from './datasets.js';

/** Stays connected between rounds. */
const KEPT_MS = 600_000;

const pools = new Map<string, Pool>();

/** The connections to a server. There is one pool for each number of them. */
function poolOf(endpoint: string, connections: number): Pool {
  const name = `${endpoint} ${connections}`;
  const options = { connections, keepAliveTimeout: KEPT_MS, keepAliveMaxTimeout: KEPT_MS };
  const pool = pools.get(name) ?? new Pool(endpoint, options);
  pools.set(name, pool);
  return pool;
}

/** Resolves to the bytes that came. Nothing is cheaper than counting the chunks as they come. */
function get(pool: Pool, path: string, range: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    let status = 0;
    const headers = range === undefined ? {} : { range };
    pool.dispatch(
      { method: 'GET', path, headers },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_, statusCode) => void (status = statusCode),
        onResponseData: (_, chunk) => void (bytes += chunk.byteLength),
        onResponseEnd: () =>
          status === 200 || status === 206 ? resolve(bytes) : reject(new Error(`${path}: ${status}`)),
        onResponseError: (_, error) => reject(error),
      },
    );
  });
}

/** An epoch: each connection takes the next object, and reads it from its beginning to its end. */
async function read(task: ClientTask): Promise<ClientFigures> {
  const { endpoint, dataset, epoch, connections = dataset.connections } = task;
  const { bucket, piece } = dataset;
  const pool = poolOf(endpoint, connections);
  const times: number[] = [];
  let bytes = 0;
  const readOne = async ({ key, range }: Read) => {
    const begun = systemClock.now();
    const came = await get(pool, `/${bucket}/${key}`, range);
    if (came !== piece) throw new Error(`${key}: ${came} bytes came, and not ${piece}`);
    bytes += came;
    times.push(systemClock.now() - begun);
  };
  const objects = readsOf(dataset, epoch);
  const before = process.cpuUsage();
  const begun = systemClock.now();
  const readObjects = async () => {
    for (const reads of objects) for (const one of reads) await readOne(one);
  };
  await Promise.all(Array.from({ length: connections }, readObjects));
  const seconds = (systemClock.now() - begun) / 1000;
  const { user, system } = process.cpuUsage(before);
  times.sort((a, b) => a - b);
  const quantile = (share: number) => times[Math.floor(share * (times.length - 1))] ?? Number.NaN;
  return { seconds, bytes, cpuSeconds: (user + system) / 1e6, p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
}

/** Requests at the same time have a connection each. */
async function connect({ endpoint, path, idle }: ConnectTask): Promise<object> {
  const pool = poolOf(endpoint, idle);
  await Promise.all(Array.from({ length: idle }, () => get(pool, path, 'bytes=0-0')));
  if (pool.stats.connected !== idle) throw new Error(`${pool.stats.connected} connections of ${idle}`);
  return {};
}

for await (const line of readline.createInterface(process.stdin)) {
  const task = JSON.parse(line) as ClientTask | ConnectTask;
  console.log(JSON.stringify(await ('idle' in task ? connect(task) : read(task))));
}
process.exit();
