import { native } from '@tiered/native';
import { listSequence, Prefetcher } from '@tiered/prefetch';
import { servePrefetcher } from '@tiered/sharing';
import path from 'node:path';
import { median } from '../lib/alternate.js';
import { atLeast, type BenchOptions, type Check, type Row } from '../lib/bench.js';
import { startClient, told, type Consumed, type Transport } from './clients.js';
import type { Comparison } from './compare.js';
import { openWork, secondsOf } from './work.js';

const PROCESSES = [1, 2, 4, 8];
const TRANSPORTS: readonly Transport[] = ['socket', 'memory'];

/** Objects a second that came through the socket to one process before memory was shared. */
const THROUGH_SOCKET = 5600;

/**
 * What comes to so many processes that each take a share: through the socket, and in memory that is shared
 * with them, in alternation.
 */
export async function manyProcesses(
  comparison: Comparison,
  { quick, progress }: BenchOptions,
): Promise<{ rows: Row[]; checks: Check[] }> {
  const { source, dataset, count } = comparison;
  const what = `processes, ${source.name}, ${dataset.name}`;
  const transports = native().available ? TRANSPORTS : TRANSPORTS.slice(0, 1);
  const settings = (quick ? PROCESSES.slice(0, 2) : PROCESSES).flatMap((processes) =>
    transports.map((transport) => ({ processes, transport, rates: [] as number[] })),
  );
  const rounds = quick ? 1 : 5;
  for (let round = 0; round < rounds; round++) {
    for (const { processes, transport, rates } of settings) {
      progress(`${what}: ${processes} by ${transport}, round ${round + 1} of ${rounds}`);
      rates.push(count / (await secondsBy(transport, processes, comparison)));
    }
  }
  const ratesOf = (processes: number, transport: Transport) =>
    settings.find((setting) => setting.processes === processes && setting.transport === transport)?.rates ??
    [];
  const ratio = (rates: readonly number[], base: readonly number[]) =>
    median(rates.map((rate, round) => rate / (base[round] ?? Number.NaN)));
  const rows = settings.map(({ processes, transport, rates }): Row => ({
    what,
    setting: `${processes}, ${transport}`,
    seconds: count / median(rates),
    'objects/s': Math.round(median(rates)),
    'x socket': ratio(rates, ratesOf(processes, 'socket')),
    'x one process': ratio(rates, ratesOf(1, transport)),
    stalled: [],
  }));
  if (quick || transports.length === 1) return { rows, checks: [] };
  const checks = [
    atLeast(`${what}: one, in memory`, median(ratesOf(1, 'memory')), 5 * THROUGH_SOCKET, 'objects/s'),
    atLeast(`${what}: 8 against one, in memory`, ratio(ratesOf(8, 'memory'), ratesOf(1, 'memory')), 0.9, 'x'),
  ];
  return { rows, checks };
}

async function secondsBy(
  transport: Transport,
  processes: number,
  { source, dataset, count }: Comparison,
): Promise<number> {
  const work = await openWork(dataset, source, count);
  const socket = path.join(dataset.directory, '..', 'prefetch.sock');
  // Before there is anything to read: what the prefetcher learns of its source it is not to learn while
  // processes start.
  const children = await Promise.all(Array.from({ length: processes }, () => startClient(socket, transport)));
  const prefetcher = new Prefetcher(work.hierarchy, listSequence(work.keys));
  const server = await servePrefetcher(prefetcher, { path: socket });
  await Promise.all(children.map((child) => told(child, 'connect')));
  const seconds = await secondsOf(async () => {
    const parts = await Promise.all(children.map((child) => told(child, 'begin')));
    const bytes = (parts as Consumed[]).reduce((sum, part) => sum + part.bytes, 0);
    if (bytes !== count * dataset.size) throw new Error(`${bytes} bytes came of ${count * dataset.size}`);
  });
  await server.close();
  await prefetcher.close();
  await work.hierarchy.close();
  return seconds;
}
