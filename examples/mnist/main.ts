import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { formatBytes, isTieredError, systemClock } from '@tiered/core';
import { native } from '@tiered/native';
import { checksOf, type Check } from './checks.js';
import { prepareDataset, type Dataset } from './dataset.js';
import { DemoError } from './errors.js';
import { seconds } from './format.js';
import { readMnist, type Digits } from './mnist.js';
import { buildModel, useWasm, warmUp } from './model.js';
import { HELP, parseOptions, UsageError, type Options } from './options.js';
import { Progress } from './progress.js';
import { chartFileOf, writeReport } from './report.js';
import { EPOCHS, runSetups, type Outcome } from './run.js';
import { SETUPS } from './setups.js';
import { openSource } from './source.js';
import type { Source } from './store.js';
import { caveatOf, takeawayOf } from './summary.js';
import { renderTable } from './table.js';
import { measurePace } from './train.js';

const SAMPLES = 60_000;
const QUICK_SAMPLES = 24_000;

/**
 * Trains under every setup, in turn, and says what was seen. Resolves to whether all checks held.
 */
async function demo(options: Options, signal: AbortSignal): Promise<boolean> {
  const { quick, report, seed } = options;
  const start = systemClock.now();
  // As `npm ci` does, for clones that are older than their sources.
  await import('../../tools/c/at-install.js');
  const samples = quick ? QUICK_SAMPLES : SAMPLES;
  if (options.python) {
    const { pythonDemo } = await import('./python.js');
    return pythonDemo({ samples, seed, signal, say: print });
  }
  if (options.nodes !== undefined) {
    const { nodesDemo } = await import('../nodes/demo.js');
    return nodesDemo({ nodes: options.nodes, signal, say: print });
  }
  // First, so that a report that cannot be written is known before the work and not after it.
  await mkdir(path.dirname(report), { recursive: true });
  const dataset = await prepareDataset(samples, signal);
  const progress = new Progress();
  const testDigits = await readMnist('t10k', signal);
  await useWasm();
  await warmUp(options.model, testDigits);
  const epochSeconds = await paceOf(options, dataset);
  const source = await openSource(options.source, dataset, epochSeconds, progress, signal);
  const surroundings = { dataset, source, progress, signal, testDigits };
  const outcomes = await runAll(options, surroundings).finally(source.close);

  const checks = checksOf(outcomes, dataset);
  await writeReport(report, { outcomes, checks, dataset, source: source.about, options });
  const caveat = caveatOf(outcomes);
  print('', takeawayOf(outcomes, dataset), '', renderTable(outcomes), '', ...checks.map(line), '');
  print(...(caveat === undefined ? [] : [caveat]), '');
  print(`Report: ${report}`, `Chart:  ${chartFileOf(report)}`);
  print(`Took ${seconds((systemClock.now() - start) / 1000)} s.`);
  return checks.every(({ ok }) => ok);
}

interface Surroundings {
  readonly dataset: Dataset;
  readonly source: Source;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly testDigits: Digits;
}

/** Seconds that the model computes in an epoch on this machine. */
async function paceOf({ model: name, seed }: Options, dataset: Dataset): Promise<number> {
  const model = buildModel(name, seed);
  try {
    return await measurePace(model, dataset);
  } finally {
    model.dispose();
  }
}

async function runAll({ model, seed }: Options, surroundings: Surroundings): Promise<Outcome[]> {
  const { dataset, source } = surroundings;
  print(
    `${dataset.samples.toLocaleString('en')} MNIST digits in ${dataset.shards} TFRecord shards, ${formatBytes(dataset.bytes)}.`,
    `Source: ${source.about}.`,
    readersOfFiles(),
    `Training the ${model} model for ${EPOCHS} epochs under each of ${SETUPS.length} setups, seed ${seed}.`,
    '',
  );
  return runSetups(SETUPS, { ...surroundings, model, seed });
}

/** Says which threads read files, and what to do if they are few. */
function readersOfFiles(): string {
  const state = native();
  if (state.available) return 'Files are read by native threads (@tiered/native).';
  return `Files are read by Node's few threads, as native ones are not available: ${state.reason} ${state.advice ?? ''}`.trimEnd();
}

function line({ promise, ok, seen }: Check): string {
  return `${ok ? 'ok    ' : 'FAILED'}  ${promise}${seen === undefined ? '' : `: ${seen}`}`;
}

function print(...lines: readonly string[]): void {
  console.log(lines.join('\n'));
}

/** Runs the demo until it ends or a signal asks it to. Resolves to the exit code. */
async function main(): Promise<number> {
  const stop = new AbortController();
  let exitCodeOfSignal = 0;
  const stopWith = (exitCode: number) => () => {
    exitCodeOfSignal = exitCode;
    stop.abort(new DOMException('Stopped by a signal.', 'AbortError'));
  };
  // Once: a second Ctrl-C ends the process on the spot.
  process.once('SIGINT', stopWith(130));
  process.once('SIGTERM', stopWith(143));
  let options: Options | undefined;
  try {
    options = parseOptions(process.argv.slice(2));
    if (options.help) {
      print(HELP);
      return 0;
    }
    return (await demo(options, stop.signal)) ? 0 : 1;
  } catch (error) {
    if (stop.signal.aborted) {
      const uploads = options?.source.kind === 'bucket';
      console.error(
        `Stopped; ${uploads ? 'shards that were uploaded stay in the bucket' : 'nothing was left behind'}.`,
      );
      return exitCodeOfSignal;
    }
    console.error(explain(error));
    return error instanceof UsageError ? 2 : 1;
  }
}

/** What to tell about an error: its code and what to do, without a stack unless nobody expected it. */
function explain(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\n\n${HELP}`;
  if (error instanceof DemoError) return error.message;
  if (isTieredError(error)) return `${error.code}: ${error.message}`;
  if (error instanceof Error && 'syscall' in error) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

process.exitCode = await main();
