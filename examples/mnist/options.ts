import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { ModelName } from './model.js';

/** A bucket of any server that speaks S3. */
export interface BucketChoice {
  readonly kind: 'bucket';
  readonly bucket: string;
  /** Empty, or ends with `/`. */
  readonly prefix: string;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
}

/** What to read the dataset from. */
export type SourceChoice = { readonly kind: 'directory' } | { readonly kind: 'embedded' } | BucketChoice;

/** What the user asked for. */
export interface Options {
  readonly quick: boolean;
  /** Whether an unmodified script of PyTorch trains, in place of the setups of Node. */
  readonly python: boolean;
  /** How many workers read as one cache, in place of the training. Undefined: the training. */
  readonly nodes: number | undefined;
  readonly model: ModelName;
  readonly seed: number;
  readonly source: SourceChoice;
  readonly report: string;
  readonly help: boolean;
}

/** An option that cannot work. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const DEFAULT_REPORT = fileURLToPath(new URL('../../.demo/report.html', import.meta.url));

export const HELP = `Trains a model on MNIST through four ways to get the data, and compares them.

  npm run demo -- [options]

  --quick          24,000 digits instead of 60,000: half of the time
  --python         trains by a script of PyTorch that knows nothing of tiers (Linux; PYTHON
                   names an interpreter that has torch and numpy); goes with --quick and
                   --seed alone
  --nodes N        shows N workers (2 to 16) as one cache, without a model: what they ask the source
                   for, each by itself and together; goes alone
  --model NAME     dense (default): so small that reading the data is the limit;
                   lenet: the convolutional one. TF.js learns 500 to 1,000 digits a
                   second with it in WebAssembly, so computing is the limit, and it
                   takes 12 to 25 minutes, with --quick 5 to 10
  --seed N         whole number that decides order and first weights (default: 1)
  --source WHAT    where the dataset is: directory (default), slowed down so that
                   reading an epoch takes 3 x as long as computing it; s3, the same on an S3 server that the
                   demo starts for itself; s3://bucket/prefix, a bucket of yours, as
                   fast as it is. Shards that are not there are uploaded and stay
                   (52 MB, with --quick 21 MB)
  --endpoint URL   with s3://: the server (default: AWS_ENDPOINT_URL_S3, then
                   AWS_ENDPOINT_URL, then AWS)
  --region NAME    with s3://: its region (default: AWS_REGION, then us-east-1)
  --report FILE    where the report goes, an .html file (default: .demo/report.html);
                   the chart goes beside it as .svg
  --help           this text

Credentials for s3:// come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from where
AWS's own tools find them (profiles, SSO, roles).
`;

/**
 * Reads the command line.
 * @throws UsageError for what it cannot mean.
 */
export function parseOptions(args: readonly string[]): Options {
  const { quick, python, nodes, model, seed, source, endpoint, region, report, help } = parse(args);
  const beside = [model !== 'dense', source !== 'directory', report !== DEFAULT_REPORT];
  if (python && beside.includes(true)) throw new UsageError('--python goes with --quick and --seed alone.');
  if (nodes !== undefined && !/^([2-9]|1[0-6])$/.test(nodes))
    throw new UsageError(`--nodes is a number from 2 to 16, not "${nodes}".`);
  if (nodes !== undefined && args.length > (args[0] === '--nodes' ? 2 : 1))
    throw new UsageError('--nodes goes alone.');
  if (model !== 'dense' && model !== 'lenet')
    throw new UsageError(`--model is dense or lenet, not "${model}".`);
  if (!/^\d{1,9}$/.test(seed))
    throw new UsageError(`--seed is a whole number from 0 to 999999999, not "${seed}".`);
  if (!report.endsWith('.html'))
    throw new UsageError(`--report is a file that ends with .html, not "${report}".`);
  return {
    quick,
    python,
    nodes: nodes === undefined ? undefined : Number(nodes),
    model,
    seed: Number(seed),
    source: sourceChoice(source, endpoint, region),
    report: path.resolve(report),
    help,
  };
}

/** The command that does the same again, but for where the report goes. */
export function commandOf({ quick, model, seed, source }: Options): string {
  const words = ['npm run demo --'];
  if (quick) words.push('--quick');
  if (model !== 'dense') words.push(`--model ${model}`);
  words.push(`--seed ${seed}`);
  if (source.kind === 'embedded') words.push('--source s3');
  if (source.kind === 'bucket') {
    const { bucket, prefix, endpoint, region } = source;
    words.push(`--source ${quoted(`s3://${bucket}/${prefix}`)}`);
    if (endpoint !== undefined) words.push(`--endpoint ${quoted(endpoint)}`);
    if (region !== undefined) words.push(`--region ${quoted(region)}`);
  }
  return words.join(' ');
}

/** A word of a command as a shell takes it. */
function quoted(word: string): string {
  return /^[\w./:@=+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function sourceChoice(
  source: string,
  endpoint: string | undefined,
  region: string | undefined,
): SourceChoice {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/s.exec(source) ?? [];
  if (bucket !== undefined) {
    const ended = prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`;
    return { kind: 'bucket', bucket, prefix: ended, endpoint, region };
  }
  if (source !== 'directory' && source !== 's3')
    throw new UsageError(`--source is directory, s3 or s3://bucket/prefix, not "${source}".`);
  if (endpoint !== undefined || region !== undefined)
    throw new UsageError('--endpoint and --region go with --source s3://bucket/prefix only.');
  return { kind: source === 's3' ? 'embedded' : 'directory' };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean', default: false },
        python: { type: 'boolean', default: false },
        nodes: { type: 'string' },
        model: { type: 'string', default: 'dense' },
        seed: { type: 'string', default: '1' },
        source: { type: 'string', default: 'directory' },
        endpoint: { type: 'string' },
        region: { type: 'string' },
        report: { type: 'string', default: DEFAULT_REPORT },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
