import { formatBytes, parseBytes } from '@tiered/core';
import { textTable } from '@tiered/simulator/report';
import { adviceOn, bench, type BenchResult } from '../../benchmark/index.js';
import { ProgressBar } from '../../progress.js';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from './interrupt.js';

/** What `tiered bench` is told. */
export interface BenchCommandOptions {
  readonly seconds: number;
  readonly bytes: string;
  readonly json?: boolean;
}

/** Steps of the bar. */
const STEPS = 1000;

/** Measures a configuration, and says what is slow and what would change that. */
export async function benchConfiguration(
  host: CommandHost,
  config: string,
  { seconds, bytes, json = false }: BenchCommandOptions,
): Promise<void> {
  const most = parseBytes(bytes, '--bytes');
  const bar = new ProgressBar(host.terminal, host.clock, 'measuring');
  const result = await untilInterrupted(host.clock, (signal) =>
    bench(config, {
      seconds,
      bytes: most,
      clock: host.clock,
      env: process.env,
      signal,
      onProgress: (part) => bar.update(Math.round(STEPS * part), STEPS),
    }),
  ).finally(() => bar.stop());
  const advice = adviceOn(result);
  if (json) host.write(`${JSON.stringify({ ...result, advice }, undefined, 2)}\n`);
  else host.write(`${[placesTable(result), epochsTable(result), ...advice].join('\n')}\n`);
}

function placesTable({ places }: BenchResult): string {
  const rows = places.map(({ name, place, best, filling, bound }) => [
    `${name}, ${place}`,
    `${best.atATime}`,
    rate(best.MBps),
    filling === undefined ? '' : rate(filling),
    rate(bound.MBps),
    percent(best.MBps / bound.MBps),
    bound.by,
  ]);
  const head = ['reads', 'at a time', 'MiB/s', 'filling it', 'bound', 'share', 'the bound is'];
  return textTable(head, rows, [0, head.length - 1]);
}

function epochsTable({ epochs }: BenchResult): string {
  const rows = epochs.map((one) => [
    `epoch ${one.name}${one.whole > 0 ? '' : ', cut off'}`,
    (one.seconds / Math.max(1, one.whole)).toFixed(2),
    rate(one.bytes / 1e6 / one.seconds),
    figure(one.samples / one.seconds),
    one.sourceRequests.toLocaleString('en'),
    formatBytes(one.sourceBytes),
    one.share === undefined ? '' : percent(one.share),
  ]);
  const head = [
    'whole',
    'seconds each',
    'MiB/s',
    'samples/s',
    'source requests',
    'source bytes',
    'share of bounds',
  ];
  return textTable(head, rows);
}

/** In MiB/s, as all bytes that people are shown. */
function rate(MBps: number): string {
  return figure((MBps * 1e6) / 2 ** 20);
}

function figure(value: number): string {
  return value < 10 ? value.toPrecision(2) : Math.round(value).toLocaleString('en');
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}
