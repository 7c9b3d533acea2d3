import { readdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { parseArgs } from 'node:util';
import type { Bench } from './lib/bench.js';
import { othersShare } from './lib/others.js';
import { renderChecks, renderRows } from './lib/table.js';

const USAGE = 'usage: npm run bench -- NAME [--quick] [--json] [--chart FILE.svg]';

const benches = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.slice(0, -'.ts'.length));

interface Arguments {
  readonly name: string;
  readonly quick: boolean;
  readonly json: boolean;
  /** Where the picture goes. */
  readonly chart?: string;
}

function parse(): Arguments {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        chart: { type: 'string' },
      },
    });
    const [name = ''] = positionals;
    if (positionals.length === 1 && benches.includes(name)) return { name, ...values };
    throw new Error(name === '' ? 'Name a bench.' : `There is no bench "${positionals.join(' ')}".`);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\nbenches: ${benches.join(', ')}\n`);
    process.exit(2);
  }
}

/**
 * Runs the bench; prints a table and its checks, or with --json nothing but one object on the last line. The
 * picture is written last, so that a file that cannot be written costs no figures.
 */
async function main(): Promise<void> {
  const { name, quick, json, chart: chartFile } = parse();
  const { default: bench } = (await import(`./${name}.ts`)) as { default: Bench };
  const progress = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`);
  };
  const others = othersShare();
  const { rows, checks, chart } = await bench.run({ quick, progress });
  const share = others();
  progress('');
  if (json) process.stdout.write(`${JSON.stringify({ bench: name, othersShare: share, rows, checks })}\n`);
  else {
    const cores = `${os.availableParallelism()} cores (${Math.round(share * 100)} % busy with other things)`;
    const machine = `Node ${process.version}, ${cores}, ${os.type()} ${os.release()}`;
    process.stdout.write(`${name}: ${bench.summary}\n${machine}${quick ? ', quick: do not quote' : ''}\n`);
    process.stdout.write(`${renderRows(rows)}\n${renderChecks(checks)}\n`);
  }
  if (chartFile === undefined) return;
  if (chart !== undefined) writeFileSync(chartFile, await chart());
  else {
    process.stderr.write(`The bench "${name}" draws no chart.\n`);
    process.exitCode = 2;
  }
}

await main();
