import { Command, InvalidArgumentError } from 'commander';
import { readFile, writeFile } from 'node:fs/promises';
import { parseSimulation, strategyNamed, type ParsedSimulation } from '../config.js';
import { renderChart } from '../report/chart.js';
import { renderCsv } from '../report/csv.js';
import type { ReportRow } from '../report/report.js';
import { renderTable } from '../report/table.js';
import { SCENARIOS } from '../model/scenarios.js';
import { simulate } from '../engine/simulate.js';
import { STRATEGIES } from '../strategies/all.js';
import { parseChange, variantsOf, type Change } from '../engine/what-if.js';
import type { CommandHost } from './host.js';
import { ProgressBar } from './progress.js';

interface Options {
  readonly policies?: string[];
  readonly whatIf?: string[];
  readonly epochs?: number;
  readonly seed?: number;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly svg?: string;
}

/** The command `tiered-simulate`. */
export function simulateCommand(host: CommandHost): Command {
  const program: Command = new Command('tiered-simulate').description(
    'How long a training would take, and where it would read from, under each of these policies.',
  );
  const scenario = program
    .command('scenario')
    .argument('<name>', SCENARIOS.map(({ name, title }) => `${name} (${title})`).join(', '))
    .description('One of the scenarios of the HDMLP paper, section 6.1')
    .action(async (name: string, options: Options) => {
      const found = SCENARIOS.find((one) => one.name === name);
      if (found === undefined) {
        program.error(`There is no scenario "${name}": ${SCENARIOS.map((one) => one.name).join(', ')}.`);
      }
      const parsed = { simulation: found.simulation, strategies: STRATEGIES, areNamed: false };
      await run(host, `Scenario ${found.name}: ${found.title}`, parsed, options);
    });
  const file = program
    .command('file')
    .argument('<path>', 'a JSON document, see docs/simulator.md')
    .description('A dataset, a system and policies of your own')
    .action(async (path: string, options: Options) => {
      await run(host, path, parseSimulation(JSON.parse(await readFile(path, 'utf8'))), options);
    });
  for (const command of [scenario, file]) addOptions(command);
  return program;
}

function addOptions(command: Command): void {
  const names = STRATEGIES.map(({ name }) => name).join(', ');
  command
    .option('--policies <names>', `separated by commas: ${names}`, (text: string) => text.split(','))
    .option(
      '--what-if <changes...>',
      'such as ram=10,20,40 ssd=20,40,80 (GB): all combinations; default: the policies of the file, else nopfs',
    )
    .option('--epochs <n>', 'how many', wholeNumber)
    .option('--seed <n>', 'decides sizes and orders', wholeNumber)
    .option('--json', 'results as JSON, in place of the table')
    .option('--csv', 'results as CSV, in place of the table')
    .option('--svg <file>', 'a chart as Fig. 7 of the paper');
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError('Give a whole number.');
  return value;
}

async function run(
  host: CommandHost,
  title: string,
  parsed: ParsedSimulation,
  options: Options,
): Promise<void> {
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
