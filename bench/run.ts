import { readdirSync } from 'node:fs';
import os from 'node:os';
import { parseArgs } from 'node:util';
import type { Bench } from './lib/bench.js';
import { renderChecks, renderRows } from './lib/table.js';

const USAGE = 'usage: npm run bench -- NAME [--quick] [--json]';

const benches = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.slice(0, -'.ts'.length));

function parse(): { name: string; quick: boolean; json: boolean } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
    });
    const [name = ''] = positionals;
    if (positionals.length === 1 && benches.includes(name)) return { name, ...values };
    throw new Error(name === '' ? 'Name a bench.' : `There is no bench "${positionals.join(' ')}".`);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\nbenches: ${benches.join(', ')}\n`);
    process.exit(2);
  }
}

/** Runs the bench; prints a table and its checks, or with --json nothing but one object on the last line. */
async function main(): Promise<void> {
  const { name, quick, json } = parse();
  const { default: bench } = (await import(`./${name}.ts`)) as { default: Bench };
  const progress = (text: string) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`);
  };
  const { rows, checks } = await bench.run({ quick, progress });
  progress('');
  if (json) {
    process.stdout.write(`${JSON.stringify({ bench: name, rows, checks })}\n`);
    return;
  }
  const machine = `Node ${process.version}, ${os.availableParallelism()} cores, ${os.type()} ${os.release()}`;
  process.stdout.write(`${name}: ${bench.summary}\n${machine}${quick ? ', quick: do not quote' : ''}\n`);
  process.stdout.write(`${renderRows(rows)}\n${renderChecks(checks)}\n`);
}

await main();
