import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { addFigures, lineOf, noFigures, type Figures } from './figures.js';
import { runProcesses } from './processes.js';
import { JOBS } from './jobs/campaign.js';
import { NODES } from './nodes/campaign.js';
import { runCampaign, SHARED_DISKS, type Campaign } from './simulated/campaign.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
    processes: { type: 'boolean', default: false },
    nodes: { type: 'boolean', default: false },
    jobs: { type: 'boolean', default: false },
  },
});

const seed = Number(values.seed ?? randomInt(2 ** 31));
const ms = 1000 * Number(values.seconds ?? 60);

function show(figures: Figures): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${lineOf(figures)}`);
}

async function simulate<S extends { readonly steps: readonly unknown[] }>(
  campaign: Campaign<S>,
  flags: string,
): Promise<Figures> {
  const sum = noFigures();
  const onBatch = (figures: Figures) => {
    addFigures(sum, figures);
    show(sum);
  };
  const found = await runCampaign(campaign, { seed, ms, path: values.path, onBatch });
  if (found === undefined) return sum;
  const { steps, ...rest } = found.schedule;
  console.log(`\n${found.error}\n\n${JSON.stringify(rest)}`);
  for (const step of steps) console.log(`  ${JSON.stringify(step)}`);
  console.log(`\nto see it again: npm run chaos -- ${flags}--seed ${found.seed} --path ${found.path}`);
  return sum;
}

async function processes(): Promise<Figures> {
  const { figures, error } = await runProcesses({ seed, ms, onStep: show });
  if (error !== undefined) console.log(`\n${error}`);
  return figures;
}

const figures = await (values.processes
  ? processes()
  : values.nodes
    ? simulate(NODES, '--nodes ')
    : values.jobs
      ? simulate(JOBS, '--jobs ')
      : simulate(SHARED_DISKS, ''));
console.log(`seed ${seed} · ${lineOf(figures)}`);
process.exitCode = figures.findings > 0 ? 1 : 0;
