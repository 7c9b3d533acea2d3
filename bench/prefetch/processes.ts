import { listSequence, Prefetcher, servePrefetcher } from '@tiered/prefetch';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { BenchOptions, Check, Row } from '../lib/bench.js';
import type { Comparison } from './compare.js';
import { openWork, secondsOf } from './work.js';

const PROCESSES = [1, 2, 4, 8];

/** What comes through the socket to so many processes that each take a share. */
export async function manyProcesses(
  { source, dataset, count }: Comparison,
  { quick, progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const what = `processes, ${source.name}, ${dataset.name}`;
  const rows: Row[] = [];
  for (const processes of quick ? PROCESSES.slice(0, 2) : PROCESSES) {
    progress(`${what}: ${processes}`);
    const work = await openWork(dataset, source, count);
    const socket = path.join(dataset.directory, '..', 'prefetch.sock');
    const prefetcher = new Prefetcher(work.hierarchy, listSequence(work.keys));
    const server = await servePrefetcher(prefetcher, { path: socket });
    const children = await Promise.all(Array.from({ length: processes }, () => startClient(socket)));
    const seconds = await secondsOf(async () => {
      const ended = children.map((child) => once(child, 'message') as Promise<[number]>);
      for (const child of children) child.send('begin');
      const bytes = (await Promise.all(ended)).reduce((sum, [part]) => sum + part, 0);
      if (bytes !== count * dataset.size) throw new Error(`${bytes} bytes came of ${count * dataset.size}`);
    });
    await server.close();
    await prefetcher.close();
    await work.hierarchy.close();
    rows.push({
      what,
      setting: `${processes}`,
      seconds,
      'objects/s': Math.round(count / seconds),
      stalled: [],
    });
  }
  return { rows, checks: [] };
}

async function startClient(socket: string): Promise<ChildProcess> {
  const child = fork(new URL('client.ts', import.meta.url), [socket]);
  await once(child, 'message');
  return child;
}
