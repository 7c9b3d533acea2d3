import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { ModelName } from './model.js';

/** What the user asked for. */
export interface Options {
  readonly quick: boolean;
  readonly model: ModelName;
  readonly seed: number;
  readonly report: string;
  readonly help: boolean;
}

/** An option that cannot work. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const DEFAULT_REPORT = fileURLToPath(new URL('../../.demo/report.html', import.meta.url));

export const HELP = `Trains a model on MNIST through four ways to store the data, and compares them.

  npm run demo -- [options]

  --quick          24,000 digits instead of 60,000: half of the time
  --model NAME     dense (default): so small that reading the data is the limit;
                   lenet: the convolutional one. TF.js learns 500 to 1,000 digits a
                   second with it in WebAssembly, so computing is the limit, and it
                   takes 12 to 25 minutes, with --quick 5 to 10
  --seed N         whole number that decides order and first weights (default: 1)
  --report FILE    where the report goes, an .html file (default: .demo/report.html);
                   the chart goes beside it as .svg
  --help           this text
`;

/**
 * Reads the command line.
 * @throws UsageError for what it cannot mean.
 */
export function parseOptions(args: readonly string[]): Options {
  const { quick, model, seed, report, help } = parse(args);
  if (model !== 'dense' && model !== 'lenet')
    throw new UsageError(`--model is dense or lenet, not "${model}".`);
  if (!/^\d{1,9}$/.test(seed))
    throw new UsageError(`--seed is a whole number from 0 to 999999999, not "${seed}".`);
  if (!report.endsWith('.html'))
    throw new UsageError(`--report is a file that ends with .html, not "${report}".`);
  return { quick, model, seed: Number(seed), report: path.resolve(report), help };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean', default: false },
        model: { type: 'string', default: 'dense' },
        seed: { type: 'string', default: '1' },
        report: { type: 'string', default: DEFAULT_REPORT },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
