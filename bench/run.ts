import { readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Bench } from './lib/bench.js';
import { benchNames } from './lib/names.js';
import { othersShare } from './lib/others.js';
import { renderChecks, renderRows } from './lib/table.js';
import { blockOf, writeFigures } from './lib/write-figures.js';

const USAGE = 'usage: npm run bench -- NAME [--quick] [--json] [--chart FILE.svg] [--write]';

/** Where `--write` writes to. */
const PAGE = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));

interface Arguments {
  readonly name: string;
  readonly quick: boolean;
  readonly json: boolean;
  /** Whether the figures go into the page. */
  readonly write: boolean;
  /** Where the picture goes. */
  readonly chart?: string;
}

function parse(): Arguments {
  const benches = benchNames();
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        write: { type: 'boolean', default: false },
        chart: { type: 'string' },
      },
    });
    const [name = ''] = positionals;
    if (values.write && values.quick)
      throw new Error('Quick figures are not quoted: --write needs a full run.');
    if (positionals.length === 1 && benches.includes(name)) return { name, ...values };
    throw new Error(name === '' ? 'Name a bench.' : `There is no bench "${positionals.join(' ')}".`);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\nbenches: ${benches.join(', ')}\n`);
    process.exit(2);
  }
}

/** Ends the process if the page has no block for the figures: before the run, which takes minutes. */
function expectBlock(name: string): void {
  try {
    blockOf(readFileSync(PAGE, 'utf8'), name);
  } catch (error) {
    process.stderr.write(`${PAGE}: ${(error as Error).message}\n`);
    process.exit(2);
  }
}

/**
 * Runs the bench; prints a table and its checks, or with --json nothing but one object on the last line.
 * Files are written last, so that one that cannot be written costs no figures.
 */
async function main(): Promise<void> {
  const { name, quick, json, write, chart: chartFile } = parse();
  if (write) expectBlock(name);
  const { default: bench } = (await import(`./${name}.ts`)) as { default: Bench };
  const progress = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`);
  };
  const others = othersShare();
  const { rows, checks, chart } = await bench.run({ quick, progress });
  const share = others();
  progress('');
  const cores = os.availableParallelism();
  const { version } = process;
  if (json) process.stdout.write(`${JSON.stringify({ bench: name, othersShare: share, rows, checks })}\n`);
  else {
    const busy = `${cores} cores (${Math.round(share * 100)} % busy with other things)`;
    const machine = `Node ${version}, ${busy}, ${os.type()} ${os.release()}`;
    process.stdout.write(`${name}: ${bench.summary}\n${machine}${quick ? ', quick: do not quote' : ''}\n`);
    process.stdout.write(`${renderRows(rows)}\n${renderChecks(checks)}\n`);
  }
  const picture = write || chartFile !== undefined ? await chart?.() : undefined;
  if (write) {
    const day = new Date().toISOString().slice(0, 'YYYY-MM-DD'.length);
    const found = { rows, checks, ...(picture !== undefined && { picture }) };
    await writeFigures(PAGE, { bench: name, day, version, cores, othersShare: share, ...found });
  }
  if (chartFile === undefined) return;
  if (picture !== undefined) writeFileSync(chartFile, picture);
  else {
    process.stderr.write(`The bench "${name}" draws no chart.\n`);
    process.exitCode = 2;
  }
}

await main();
