import { rm } from 'node:fs/promises';
import path from 'node:path';
import { atMost, type Row } from '../lib/bench.js';
import { quotaOnDisk } from '../lib/on-disk.js';
import { treeMs } from '../lib/process-tree.js';
import type { Client, ClientFigures } from './client.js';
import type { Contestant, Running } from './contestants.js';
import { bytesOf, type Dataset } from './datasets.js';
import { bytesOnDisk } from './disk.js';
import type { Measuring } from './measuring.js';
import { Source } from './source.js';
import { startOne } from './started.js';

const EPOCHS = 3;
/** What the cache holds of the data: what NoPFS has of ImageNet-1k. */
const PART = 0.56;
const LATENCY_MS = 10;
const BYTES_PER_SECOND = 100e6;
/** Aim: bytes of the source, beside the least that a cache of this size needs. */
const BESIDE_OPTIMUM = 1.02;
/** Beyond this the gateway does not keep what fits, however busy the machine is. LRU needs 1.6. */
const NOT_KEPT = 1.5;

/** What an epoch cost. */
interface Epoch extends ClientFigures {
  readonly sourceBytes: number;
  readonly operations: number;
  /** Of what serves. */
  readonly serverMs: number;
  /** What the cache took of the disk when the epoch ended. */
  readonly kept: number;
}

/** Three epochs from an empty cache that holds a part of the data: by the source itself, and by each. */
export async function compareEpochs(
  dataset: Dataset,
  contestants: readonly Contestant[],
  measuring: Measuring,
): Promise<void> {
  const { client, rows, checks, options } = measuring;
  for (const contestant of [undefined, ...contestants]) {
    const { name: through, isThere } = contestant ?? { name: 'the source itself', isThere: true };
    if (!isThere) continue;
    options.progress(`${dataset.name}: epochs, ${through}`);
    const epochs = await epochsOf(dataset, contestant, client, measuring.scratch);
    rows.push(rowOf(dataset, through, epochs));
    if (contestant !== contestants[0]) continue;
    const beside = sum(epochs, 'sourceBytes') / optimum(dataset);
    const name = `${dataset.name}: bytes of the source in ${EPOCHS} epochs, of the least`;
    checks.push(atMost(name, beside, BESIDE_OPTIMUM, 'x'));
    if (beside > NOT_KEPT) throw new Error(`${name}: ${beside.toFixed(2)} times as many`);
  }
  rows.push(optimumRow(dataset));
}

/** The least of all epochs: everything once, and then what the cache cannot hold. */
function optimum(dataset: Dataset): number {
  return bytesOf(dataset) * (1 + (EPOCHS - 1) * (1 - PART));
}

async function epochsOf(
  dataset: Dataset,
  contestant: Contestant | undefined,
  client: Client,
  scratch: string,
): Promise<Epoch[]> {
  await using source = await Source.start({
    ...{ dataset, latencyMs: LATENCY_MS, bytesPerSecond: BYTES_PER_SECOND },
  });
  const directory = path.join(scratch, 'epochs');
  const quota = quotaOnDisk(PART * bytesOf(dataset), PART * dataset.objects);
  const started = contestant && (await startOne(contestant, source, { dataset, directory, quota }));
  const server = started?.server;
  const endpoint = started?.endpoint ?? (await source.counts()).endpoint;
  try {
    const epochs: Epoch[] = [];
    for (let epoch = 0; epoch < EPOCHS; epoch++)
      epochs.push(await epochOf({ dataset, epoch, endpoint }, client, source, server, directory));
    return epochs;
  } finally {
    await server?.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function epochOf(
  task: Parameters<Client['read']>[0],
  client: Client,
  source: Source,
  server: Running | undefined,
  directory: string,
): Promise<Epoch> {
  const before = await source.counts();
  const beforeMs = server === undefined ? 0 : treeMs(server.pid);
  const figures = await client.read(task);
  const after = await source.counts();
  return {
    ...figures,
    sourceBytes: after.bytes - before.bytes,
    operations: after.operations - before.operations,
    serverMs: server === undefined ? 0 : treeMs(server.pid) - beforeMs,
    kept: await bytesOnDisk(path.join(directory, 'cache')),
  };
}

function rowOf(dataset: Dataset, name: string, epochs: readonly Epoch[]): Row {
  const ofEach = (what: (epoch: Epoch) => number) => epochs.map(what);
  return {
    epochs: dataset.name,
    through: name,
    'MB of the source': ofEach(({ sourceBytes }) => Math.round(sourceBytes / 1e6)),
    requests: ofEach(({ operations }) => operations),
    seconds: ofEach(({ seconds }) => seconds),
    'MB on the disk': ofEach(({ kept }) => Math.round(kept / 1e6)),
    'CPU s/GB': sum(epochs, 'serverMs') / 1000 / (sum(epochs, 'bytes') / 1e9),
  };
}

function optimumRow(dataset: Dataset): Row {
  const least = [1, 1 - PART, 1 - PART].map((part) => Math.round((part * bytesOf(dataset)) / 1e6));
  return {
    epochs: dataset.name,
    through: 'the least',
    'MB of the source': least,
    requests: '',
    seconds: least.map((mb) => (mb * 1e6) / BYTES_PER_SECOND),
    'MB on the disk': Math.round((PART * bytesOf(dataset)) / 1e6),
    'CPU s/GB': '',
  };
}

function sum(epochs: readonly Epoch[], field: 'sourceBytes' | 'serverMs' | 'bytes'): number {
  return epochs.reduce((all, epoch) => all + epoch[field], 0);
}
