import { TieredError } from '@tiered/core';
import type { Change } from '@tiered/simulator';
import type { ParsedSimulation } from '@tiered/simulator/config';
import type { ReportRow } from '@tiered/simulator/report';
import { Command } from 'commander';
import { writeFile } from 'node:fs/promises';
import { readJsonFile, wholeNumber } from '../arguments.js';
import type { CommandHost } from '../host.js';
import { addProfileCommand } from './simulate-profile.js';

/** `tiered simulate`. */
export function simulateCommand(host: CommandHost): Command {
  const program = new Command('simulate')
    .summary('Predicts how long a training run would take')
    .description(
      'Predicts how long a training run would take, and where it would read from, under each of the given ' +
        'policies',
    );
  const scenario = program
    .command('scenario')
    .argument('<name>', 'a scenario of the HDMLP paper, section 6.1: 1, 2, 3, 3-places, 4, 5')
    .description('Simulates one of the scenarios of the HDMLP paper')
    .action((name: string, options: SimulateOptions) => simulateScenario(host, name, options));
  const file = program
    .command('file')
    .argument('<path>', 'a JSON document, see docs/simulator.md')
    .description('Simulates a dataset, a system and policies of your own')
    .action((path: string, options: SimulateOptions) => simulateFile(host, path, options));
  for (const command of [scenario, file]) addOptions(command);
  addProfileCommand(program, host);
  return program;
}

function addOptions(command: Command): void {
  command
    .option(
      '--policies <names>',
      'policies, separated by commas, such as nopfs,first-fit,lru,naive; a wrong name lists all of them',
      (text: string) => text.split(','),
    )
    .option(
      '--what-if <changes...>',
      'changes such as ram=10,20,40 ssd=20,40,80 (GB) source=500 (MB/s); simulates all combinations, by ' +
        'default with the policies of the file, else nopfs',
    )
    .option('--epochs <n>', 'number of epochs', wholeNumber)
    .option('--seed <n>', 'seed that decides sizes and orders', wholeNumber)
    .option('--json', 'results as JSON, instead of the table')
    .option('--csv', 'results as CSV, instead of the table')
    .option('--svg <file>', 'a chart like Fig. 7 of the paper');
}

interface SimulateOptions {
  readonly policies?: string[];
  readonly whatIf?: string[];
  readonly epochs?: number;
  readonly seed?: number;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly svg?: string;
}

/**
 * Simulates a scenario of the paper, under all policies unless some are named.
 * @throws TieredError `TIERED_CONFIG_INVALID` if there is no such scenario.
 */
async function simulateScenario(host: CommandHost, name: string, options: SimulateOptions): Promise<void> {
  const { SCENARIOS } = await import('@tiered/simulator/model');
  const { STRATEGIES } = await import('@tiered/simulator/strategies');
  const found = SCENARIOS.find((one) => one.name === name);
  if (found === undefined) {
    const names = SCENARIOS.map((one) => `${one.name} (${one.title})`).join(', ');
    throw new TieredError('TIERED_CONFIG_INVALID', `There is no scenario "${name}": ${names}.`);
  }
  const parsed = { simulation: found.simulation, strategies: STRATEGIES, areNamed: false };
  await run(host, `Scenario ${found.name}: ${found.title}`, parsed, options);
}

/** Simulates what a file describes. */
async function simulateFile(host: CommandHost, path: string, options: SimulateOptions): Promise<void> {
  const { parseSimulation } = await import('@tiered/simulator/config');
  await run(host, path, await readJsonFile(path, 'simulation', parseSimulation), options);
}

async function run(
  host: CommandHost,
  title: string,
  parsed: ParsedSimulation,
  options: SimulateOptions,
): Promise<void> {
  const { ProgressBar } = await import('../../progress.js');
  const { parseChange, simulate, variantsOf } = await import('@tiered/simulator');
  const { strategyNamed } = await import('@tiered/simulator/config');
  const { renderChart, renderCsv, renderTable } = await import('@tiered/simulator/report');
  const { whatIf, policies, epochs, seed, svg } = options;
  const changes: Change[] = whatIf?.map(parseChange) ?? [];
  // All policies for all combinations would be more than anybody can read.
  const isAll = changes.length > 0 && !parsed.areNamed;
  const byDefault = isAll ? [strategyNamed('nopfs')] : parsed.strategies;
  const strategies = policies?.map(strategyNamed) ?? byDefault;
  const simulation = {
    ...parsed.simulation,
    ...(epochs !== undefined && { epochs }),
    ...(seed !== undefined && { seed }),
  };
  const variants = variantsOf(simulation.system, changes);
  const bar = new ProgressBar(host.terminal, host.clock, 'simulating');
  const rows: ReportRow[] = [];
  for (const [index, { setup, system }] of variants.entries()) {
    const results = await simulate({ ...simulation, system }, strategies, {
      clock: host.clock,
      onProgress: (done, total) => bar.update(index * total + done, variants.length * total),
    });
    rows.push(...results.map((result) => ({ setup, result })));
  }
  bar.stop();
  if (options.json === true) host.write(`${JSON.stringify(rows, undefined, 2)}\n`);
  else if (options.csv === true) host.write(renderCsv(rows));
  else
    host.write(
      `${title}, ${simulation.epochs} epochs, ${simulation.system.workers} workers\n${renderTable(rows)}\n`,
    );
  if (svg !== undefined) await writeFile(svg, renderChart(title, rows));
}
