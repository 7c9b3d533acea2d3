import { TieredError } from '@tiered/core';
import { parseChange, simulate, variantsOf, type Change } from '@tiered/simulator';
import { parseSimulation, strategyNamed, type ParsedSimulation } from '@tiered/simulator/config';
import { SCENARIOS } from '@tiered/simulator/model';
import { renderChart, renderCsv, renderTable, type ReportRow } from '@tiered/simulator/report';
import { STRATEGIES } from '@tiered/simulator/strategies';
import { writeFile } from 'node:fs/promises';
import { ProgressBar } from '../../progress.js';
import type { CommandHost } from '../host.js';
import { readJsonFile } from '../json-file.js';

/** What `tiered simulate` is told. */
export interface SimulateOptions {
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
export async function simulateScenario(
  host: CommandHost,
  name: string,
  options: SimulateOptions,
): Promise<void> {
  const found = SCENARIOS.find((one) => one.name === name);
  if (found === undefined) {
    const names = SCENARIOS.map((one) => `${one.name} (${one.title})`).join(', ');
    throw new TieredError('TIERED_CONFIG_INVALID', `There is no scenario "${name}": ${names}.`);
  }
  const parsed = { simulation: found.simulation, strategies: STRATEGIES, areNamed: false };
  await run(host, `Scenario ${found.name}: ${found.title}`, parsed, options);
}

/** Simulates what a file describes. */
export async function simulateFile(host: CommandHost, path: string, options: SimulateOptions): Promise<void> {
  await run(host, path, await readJsonFile(path, 'simulation', parseSimulation), options);
}

async function run(
  host: CommandHost,
  title: string,
  parsed: ParsedSimulation,
  options: SimulateOptions,
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
