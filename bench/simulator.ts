import { scaledDown, simulate, type Simulation, type SimulationResult } from '@tiered/simulator';
import { SCENARIOS, type NormalDataset } from '@tiered/simulator/model';
import { noPfs, localityAware, STRATEGIES, type Strategy } from '@tiered/simulator/strategies';
import { atMost, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';

const HOUR = 3600;
/** How much smaller scenarios are in a quick run. */
const QUICK = 100;

const bench: Bench = {
  summary:
    'the scenarios of the HDMLP paper in full, what their open parameters do to them, and what a simulation costs',
  run: async (options) => {
    const rows: Row[] = [];
    const checks: Check[] = [];
    // First, as the peak of memory is that of the whole process.
    await cost(options, rows, checks);
    for (const { name, simulation } of SCENARIOS) {
      options.progress(`scenario ${name}`);
      // One after the other, as all at once would hold what each keeps.
      for (const strategy of STRATEGIES)
        rows.push(row(`scenario ${name}`, await run(simulation, strategy, options)));
    }
    await published(options, rows, checks);
    await assumptions(options, rows);
    return { rows, checks };
  },
};

export default bench;

/** Scenario 4 by NoPFS, the largest. */
async function cost(options: BenchOptions, rows: Row[], checks: Check[]): Promise<void> {
  options.progress('the cost of scenario 4');
  const before = process.cpuUsage();
  const result = await run(named('4'), noPfs(), options);
  const { user, system } = process.cpuUsage(before);
  rows.push(row('scenario 4, alone', result));
  checks.push(
    atMost('scenario 4 by NoPFS, CPU', (user + system) / 1e6, 60, 's'),
    atMost('scenario 4 by NoPFS, peak of memory', process.resourceUsage().maxRSS / 1e3, 2000, 'MB'),
  );
}

async function published(options: BenchOptions, rows: Row[], checks: Check[]): Promise<void> {
  const near = (name: string, value: number, paper: number, unit: string) =>
    checks.push({ name, value, unit, aim: `${paper} +- 1 %`, ok: Math.abs(value / paper - 1) <= 0.01 });
  for (const epochs of [6, 10, 20, 40]) {
    const results = await simulate({ ...named('1'), epochs }, STRATEGIES);
    const times = new Map(results.map(({ strategy, seconds }) => [strategy, seconds]));
    const naive = times.get('naive') ?? 0;
    times.delete('perfect');
    const ratio = naive / Math.min(...times.values());
    if (epochs === 10) near('scenario 1, naive against the best, 10 epochs', ratio, 3.6, 'x');
    rows.push({
      ...row(`scenario 1, ${epochs} epochs: x the best`, find(results, 'naive')),
      'x bound': ratio,
    });
  }
  const lower = await run(named('3'), find(STRATEGIES, 'perfect'), options);
  near('scenario 3, lower bound', hours(lower), 2.13, 'h');
  for (const gb of [1, 2, 4]) {
    const { system, ...rest } = named('3');
    const staging = { ...system.staging, capacityMB: gb * 1024 };
    const result = await run({ ...rest, system: { ...system, staging } }, noPfs(), options);
    near(`scenario 3, NoPFS, staging buffer of ${gb} GB`, hours(result), 2.76, 'h');
  }
}

/** How the results move with what the paper leaves open. */
async function assumptions(options: BenchOptions, rows: Row[]): Promise<void> {
  const add = async (text: string, simulation: Simulation, strategy: Strategy) => {
    options.progress(text);
    rows.push(row(text, await run(simulation, strategy, options)));
  };
  for (const name of ['3', '4', '5']) {
    const simulation = named(name);
    const { system } = simulation;
    await add(`scenario ${name}, gamma: all`, { ...simulation, assumptions: { gamma: 'all' } }, noPfs());
    await add(
      `scenario ${name}, sourceShare: thread`,
      { ...simulation, assumptions: { sourceShare: 'thread' } },
      noPfs(),
    );
    await add(`scenario ${name}, filledBy: itself`, simulation, noPfs({ filledBy: 'itself' }));
    await add(`scenario ${name}, keeps: all`, simulation, localityAware({ keeps: 'all' }));
    const source = { ...system.source, beyond: 'linear' } as const;
    if (name === '5')
      await add('scenario 5, beyond: linear', { ...simulation, system: { ...system, source } }, noPfs());
  }
  const dataset = named('3').dataset as NormalDataset;
  for (const truncate of ['redraw', 'clamp'] as const) {
    const simulation = { ...named('3'), dataset: { ...dataset, truncate } };
    await add(`scenario 3, truncate: ${truncate}`, simulation, find(STRATEGIES, 'perfect'));
    await add(`scenario 3, truncate: ${truncate}`, simulation, noPfs());
  }
  for (const epochs of [5, 12, 90])
    await add(`scenario 3, ${epochs} epochs`, { ...named('3'), epochs }, noPfs());
}

function named(name: string): Simulation {
  const found = SCENARIOS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  return found.simulation;
}

/** Small datasets are simulated in full also in a quick run. */
function factorOf({ dataset }: Simulation, { quick }: BenchOptions): number {
  return quick && (dataset as NormalDataset).samples > 100_000 ? QUICK : 1;
}

async function run(
  simulation: Simulation,
  strategy: Strategy,
  options: BenchOptions,
): Promise<SimulationResult> {
  const factor = factorOf(simulation, options);
  const [result] = await simulate(scaledDown(simulation, factor), [strategy]);
  if (result === undefined) throw new Error('no result');
  const times = { seconds: result.seconds * factor, stallSeconds: result.stallSeconds * factor };
  return { ...result, ...times };
}

function hours({ seconds }: SimulationResult): number {
  return seconds / HOUR;
}

function find<T extends { readonly name: string } | { readonly strategy: string }>(
  all: readonly T[],
  name: string,
): T {
  const found = all.find((one) => ('name' in one ? one.name : one.strategy) === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

function row(text: string, result: SimulationResult): Row {
  const { strategy, refused, seconds, stallSeconds, sources, notCovered, misjudged } = result;
  const source = sources.find(({ from }) => from === 'source')?.share ?? 0;
  return {
    case: text,
    policy: strategy,
    hours: refused === undefined ? (seconds / HOUR).toFixed(4) : 'refused',
    'x bound': refused === undefined ? seconds / (seconds - stallSeconds) : 0,
    'source %': 100 * source,
    'not covered %': 100 * notCovered,
    'misjudged %': 100 * misjudged,
  };
}
