import { formatBytes, parseBytes } from '@tiered/core';
import { Command } from 'commander';
import type { BenchResult } from '../../benchmark/result.js';
import { percentOf } from '../../words.js';
import { positive } from '../arguments.js';
import type { CommandHost } from '../host.js';
import { untilInterrupted } from '../interrupt.js';

/** `tiered bench`. */
export function benchCommand(host: CommandHost): Command {
  return new Command('bench')
    .description(
      'Compares the source, the tiers and whole epochs of a configuration with what the machine can do ' +
        'without them. Tiers stay as they are: writes go to directories beside them, which are removed at ' +
        'the end.',
    )
    .argument('<config>', 'the configuration')
    .option('--seconds <n>', 'seconds for all measurements, approximately', positive, 30)
    .option('--bytes <size>', 'bytes to read and write in total, such as 500MB', '2GiB')
    .option('--json', 'the figures as JSON')
    .action((config: string, options: BenchCommandOptions) => benchConfiguration(host, config, options));
}

interface BenchCommandOptions {
  readonly seconds: number;
  readonly bytes: string;
  readonly json?: boolean;
}

/** Steps of the bar. */
const STEPS = 1000;

/** Measures a configuration, and says what is slow and what would change that. */
async function benchConfiguration(
  host: CommandHost,
  config: string,
  { seconds, bytes, json = false }: BenchCommandOptions,
): Promise<void> {
  const most = parseBytes(bytes, '--bytes');
  const { adviceOn } = await import('../../benchmark/advice.js');
  const { bench } = await import('../../benchmark/bench.js');
  const { ProgressBar } = await import('../../progress.js');
  const { textTable } = await import('@tiered/simulator/report');
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
  else
    host.write(
      `${[textTable(...placesTable(result)), textTable(...epochsTable(result)), ...advice].join('\n')}\n`,
    );
}

/** The head of a table, its rows, and the columns of text. */
type Table = [head: string[], rows: string[][], text?: number[]];

function placesTable({ places }: BenchResult): Table {
  const rows = places.map(({ name, place, best, filling, bound }) => [
    `${name}, ${place}`,
    `${best.atATime}`,
    rate(best.MBps),
    filling === undefined ? '' : rate(filling),
    rate(bound.MBps),
    percentOf(best.MBps, bound.MBps),
    bound.by,
  ]);
  const head = ['reads', 'at a time', 'MiB/s', 'filling it', 'bound', 'share', 'the bound is'];
  return [head, rows, [0, head.length - 1]];
}

function epochsTable({ epochs }: BenchResult): Table {
  const rows = epochs.map((one) => [
    `epoch ${one.name}${one.whole > 0 ? '' : ', cut off'}`,
    (one.seconds / Math.max(1, one.whole)).toFixed(2),
    rate(one.bytes / 1e6 / one.seconds),
    figure(one.samples / one.seconds),
    one.sourceRequests.toLocaleString('en'),
    formatBytes(one.sourceBytes),
    one.share === undefined ? '' : percentOf(one.share),
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
  return [head, rows];
}

/** In MiB/s, as all bytes that people are shown. */
function rate(MBps: number): string {
  return figure((MBps * 1e6) / 2 ** 20);
}

function figure(value: number): string {
  return value < 10 ? value.toPrecision(2) : Math.round(value).toLocaleString('en');
}
