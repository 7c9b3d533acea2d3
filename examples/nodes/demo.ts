import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { formatBytes, systemClock } from '@tiered/core';
import { BYTES, EPOCHS, OBJECTS, type WorkerAsked, type WorkerTask, type WorkerTold } from './task.js';

const DATA = OBJECTS * BYTES;
/** Characters of a bar that is as long as the dataset. */
const BAR = 40;
const WORKER = path.join(import.meta.dirname, 'worker.ts');

/** What all workers together read in an epoch. */
interface Epoch extends WorkerTold {
  readonly seconds: number;
}

/** What the demo needs. */
export interface NodesDemo {
  readonly nodes: number;
  readonly say: (...lines: string[]) => void;
  readonly signal: AbortSignal;
}

/**
 * Has some workers read the same slow dataset, each by itself and then as one cache, and draws what they
 * asked the source for. Each has RAM for somewhat more than its part of the data. Resolves to whether the
 * source gave less to the workers together.
 */
export async function nodesDemo({ nodes, say, signal }: NodesDemo): Promise<boolean> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-nodes-'));
  try {
    const source = path.join(directory, 'data');
    await mkdir(source);
    for (let i = 0; i < OBJECTS; i++) await writeFile(path.join(source, `o${i}`), randomBytes(BYTES));
    const quota = Math.ceil((1.3 * DATA) / nodes);
    say(
      `${nodes} workers read ${OBJECTS} objects, ${formatBytes(DATA)}, ${EPOCHS} times: each sample is read by one of them.`,
      `Each has ${formatBytes(quota)} of RAM. The source gives 40 MB/s to all of them.`,
    );
    const task = { size: nodes, source, quota };
    const alone = await trained('each by itself', { ...task, registry: undefined }, say, signal);
    const registry = path.join(directory, 'registry', 'nodes.db');
    const together = await trained('as one cache', { ...task, registry }, say, signal);
    const bytes = (epochs: readonly Epoch[]) => epochs.reduce((sum, { sourceBytes }) => sum + sourceBytes, 0);
    say(
      '',
      `Read from the source: ${formatBytes(bytes(alone))} alone, ${formatBytes(bytes(together))} together.`,
      'How it works: docs/cluster.md. With two terminals: examples/two-workers.ts.',
    );
    return bytes(together) < bytes(alone);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Runs all epochs, and draws each when it has ended. */
async function trained(
  title: string,
  task: Omit<WorkerTask, 'rank'>,
  say: NodesDemo['say'],
  signal: AbortSignal,
): Promise<Epoch[]> {
  say('', `${title}:`);
  const workers = Array.from({ length: task.size }, (_, rank) => start({ ...task, rank }));
  const onAbort = () => workers.forEach((worker) => worker.kill());
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const epochs: Epoch[] = [];
    let before = sumOf(await Promise.all(workers.map((worker) => told(worker))));
    for (let epoch = 0; epoch < EPOCHS; epoch++) {
      const began = systemClock.now();
      await askAll(workers, epoch);
      const seconds = (systemClock.now() - began) / 1000;
      // A worker that has read its part still fetches for others. So all are asked once all have.
      const now = sumOf(await askAll(workers, 'figures'));
      const done = {
        sourceBytes: now.sourceBytes - before.sourceBytes,
        peerBytes: now.peerBytes - before.peerBytes,
        seconds,
      };
      before = now;
      epochs.push(done);
      say(`  epoch ${epoch + 1}  ${barOf(done)}`);
    }
    for (const worker of workers) worker.send('end');
    await Promise.all(workers.map((worker) => once(worker, 'exit')));
    return epochs;
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const worker of workers) worker.kill();
  }
}

function barOf({ sourceBytes, peerBytes, seconds }: Epoch): string {
  const length = Math.round((BAR * sourceBytes) / DATA);
  const bar = '█'.repeat(length).padEnd(BAR, '·');
  const peers = peerBytes === 0 ? '' : `, from each other ${formatBytes(peerBytes)}`;
  return `${bar} source ${formatBytes(sourceBytes)}${peers}, ${seconds.toFixed(1)} s`;
}

function start(task: WorkerTask): ChildProcess {
  return fork(WORKER, [JSON.stringify(task)], { execArgv: process.execArgv });
}

/** What all workers say when they have done something. */
function askAll(workers: readonly ChildProcess[], asked: WorkerAsked): Promise<WorkerTold[]> {
  return Promise.all(
    workers.map((worker) => {
      worker.send(asked);
      return told(worker);
    }),
  );
}

/** What a worker says next; rejects if it ends instead. */
async function told(worker: ChildProcess): Promise<WorkerTold> {
  const ended = new AbortController();
  const { signal } = ended;
  try {
    return await Promise.race([
      once(worker, 'message', { signal }).then(([said]) => said as WorkerTold),
      once(worker, 'exit', { signal }).then(([how]) => {
        throw new Error(`a worker ended with ${String(how)}`);
      }),
    ]);
  } finally {
    ended.abort();
  }
}

function sumOf(all: readonly WorkerTold[]): WorkerTold {
  return {
    sourceBytes: all.reduce((sum, { sourceBytes }) => sum + sourceBytes, 0),
    peerBytes: all.reduce((sum, { peerBytes }) => sum + peerBytes, 0),
  };
}
