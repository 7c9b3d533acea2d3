import { formatBytes, parseBytes, TieredError } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { Change, SimulationResult } from '@tiered/simulator';
import type { ReportRow } from '@tiered/simulator/report';
import type { Command } from 'commander';
import { writeFile } from 'node:fs/promises';
import { wholeNumber } from '../arguments.js';
import { timeOf } from '../../words.js';
import type { CommandHost } from '../host.js';
import { addMeasuredOptions, type MeasuredOptions } from '../options.js';

/** Adds `tiered simulate profile`. */
export function addProfileCommand(program: Command, host: CommandHost): void {
  const command = program
    .command('profile')
    .argument('<profile>', 'a profile from "tiered calibrate -o"')
    .requiredOption(
      '--config <file>',
      'the configuration that was measured; its source is listed, and its quotas apply',
    )
    .option(
      '--what-if <changes...>',
      'other quotas, such as ram=20GB,40GB disk=500GB, or source=500MB per second; simulates all ' +
        'combinations; tiers are ram, disk, disk2',
    )
    .option('--epochs <n>', 'number of epochs', wholeNumber, 10);
  addMeasuredOptions(command)
    .option('--json', 'results as JSON, instead of sentences and the table')
    .option('--svg <file>', 'a chart')
    .description('Predicts the effect of other quotas, on storage that was measured')
    .action((profile: string, options: SimulateProfileOptions) => simulateProfile(host, profile, options));
}

interface SimulateProfileOptions extends MeasuredOptions {
  readonly config: string;
  readonly whatIf?: readonly string[];
  readonly epochs: number;
  readonly json?: boolean;
  readonly svg?: string;
}

/**
 * Simulates the training of one worker on storage that was measured: with the tiers of a configuration, and
 * with other quotas. Says in words what each change would bring.
 */
async function simulateProfile(
  host: CommandHost,
  file: string,
  options: SimulateProfileOptions,
): Promise<void> {
  const { config, whatIf = [], epochs, svg, json = false } = options;
  const { ProgressBar } = await import('../../progress.js');
  const { levelsIn } = await import('../shared/look.js');
  const { measuredTraining } = await import('../shared/measured-training.js');
  const { variantsOf } = await import('@tiered/simulator');
  const { renderChart, renderTable } = await import('@tiered/simulator/report');
  const changes = whatIf.map(changeOf);
  const loaded = await levelsIn(host, config);
  await using training = await measuredTraining(host, { profile: file, config, levels: loaded }, options);
  const { system } = training;
  const bar = new ProgressBar(host.terminal, host.clock, 'simulating');
  const variants = [{ setup: '', system }, ...(changes.length > 0 ? variantsOf(system, changes) : [])];
  const rows: ReportRow[] = [];
  for (const [index, { setup, system: changed }] of variants.entries()) {
    const result = await training.simulate(changed, epochs);
    rows.push({ setup: setup === '' ? 'today' : setup, result });
    bar.update(index + 1, variants.length);
  }
  bar.stop();
  if (json) host.write(`${JSON.stringify(rows, undefined, 2)}\n`);
  else host.write(`${answersOf(rows, epochs).join('\n')}\n${renderTable(rows)}\n`);
  if (svg !== undefined) await writeFile(svg, renderChart(`${config}, ${epochs} epochs`, rows));
}

/** Rates are in MB/s, sizes in GB. */
const RATE = /^(compute|source)$|\.read$/;

/**
 * Parses a change, such as `ram=20GB,40GB`, or `source=200MB` a second.
 * @throws TieredError `TIERED_CONFIG_INVALID` for anything else.
 */
function changeOf(text: string): Change {
  const [, what, list] = /^([\w.-]+)=(.+)$/.exec(text) ?? [];
  if (what === undefined || list === undefined) {
    const expected = `--what-if: expected changes such as ram=20GB,40GB, got ${JSON.stringify(text)}`;
    throw new TieredError('TIERED_CONFIG_INVALID', expected);
  }
  const values = list.split(',');
  if (what === 'workers') return { what, values: values.map(Number) };
  // Scenarios are in GB: a number alone would be bytes here, and mean something else there.
  const alone = values.find((value) => /^[\d.]*$/.test(value));
  if (alone !== undefined) throw configError('--what-if', `a unit, such as ${what}=${alone}GB`, text);
  const unit = RATE.test(what) ? 1e6 : 1e9;
  return { what, values: values.map((size) => parseBytes(size, `--what-if ${what}`) / unit) };
}

/** One sentence for today, and one for each change. */
function answersOf(rows: readonly ReportRow[], epochs: number): string[] {
  const [today, ...changed] = rows;
  if (today === undefined) return [];
  const { seconds } = today.result;
  return [
    `today, for ${epochs === 1 ? '1 epoch' : `${epochs} epochs`}: ${timeOf(seconds)}, ${fromSource(today.result)} from the source`,
    ...changed.map(({ setup, result }) => {
      const gain = 1 - result.seconds / seconds;
      const verdict =
        gain > 0.01
          ? `${Math.round(100 * gain)} % less time`
          : gain < -0.01
            ? `${Math.round(-100 * gain)} % more time`
            : 'no difference';
      return `with ${setup}: ${verdict} (${timeOf(result.seconds)}), ${fromSource(result)} from the source`;
    }),
  ];
}

function fromSource({ sources }: SimulationResult): string {
  const source = sources.find(({ from }) => from === 'source');
  return source === undefined
    ? 'nothing'
    : `${formatBytes(source.megabytes * 1e6)} (${Math.round(100 * source.share)} %)`;
}
