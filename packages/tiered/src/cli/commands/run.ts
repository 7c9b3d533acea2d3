import { TieredError } from '@tiered/core';
import { Command } from 'commander';
import fs from 'node:fs';
import { CANNOT_BE_RUN, runChild } from '../child.js';
import { asMissing, ProgramEnded } from '../failure.js';
import type { CommandHost } from '../host.js';
import { holdingSignals, untilInterrupted } from '../interrupt.js';
import { addServingOptions, SOURCE } from '../options.js';
import type { InterposerOptions } from '../shared/interposer.js';
import { summaryJson, summaryOf } from '../summary.js';

const EXAMPLES = `
Examples:
  tiered run /mnt/imagenet --tier /nvme/cache:200GiB -- python3 train.py
  tiered run s3://bucket/prefix/ --tier ram:8GiB --tier /nvme/cache:200GiB -- python3 train.py
  tiered run --config tiers.yaml -- python3 train.py`;

/** `tiered run`. */
export function runCommand(host: CommandHost): Command {
  const command = withOptions(new Command('run'));
  return command
    .summary('Runs a program, and serves its files from tiers')
    .description(
      'Runs an unmodified program. Files that it opens for reading in the source are read from copies on ' +
        'the tiers; files without a copy are copied in the background. The exit code is that of the ' +
        'program, or 128 plus the number of the signal that ended it.',
    )
    .usage('[source] [options] -- <program> [args...]')
    .argument('<source-or-program>', `${SOURCE}; left out with --config and --at`)
    .argument('[program-and-args...]', 'the program and its arguments as for a shell, after --')
    .addHelpText('after', EXAMPLES)
    .action(async (first: string, rest: string[], options: RunOptions) => {
      const { source, program, said } =
        options.config === undefined && options.at === undefined
          ? behindSource(command, first, rest)
          : { source: undefined, program: withoutSource(command, first, rest), said: options };
      await runProgram(host, program, { ...said, source });
    });
}

function withOptions(command: Command): Command {
  return addServingOptions(command)
    .option('--at <directory>', 'instead of a source: the directory of a running "tiered daemon"')
    .option('--quiet', 'prints no summary at the end, and no status lines')
    .option('--json', 'the summary as JSON: the last line of standard error')
    .passThroughOptions();
}

/** What comes behind a source: more options, and the program with what is its own. */
function behindSource(command: Command, source: string, rest: readonly string[]) {
  const inner = withOptions(new Command('run')).copyInheritedSettings(command).argument('[program...]');
  for (const [name, value] of Object.entries(command.opts())) inner.setOptionValue(name, value);
  // Where the source was forgotten, the program stands in its place, and what is the program's is an option.
  if (!isSource(source))
    inner.showHelpAfterError(`(${source} was taken for the source: tiered run SOURCE --tier ... -- PROGRAM)`);
  inner.parse(rest, { from: 'user' });
  if (inner.args.length === 0)
    inner.error('tiered run: give a source and a program behind --, or --config FILE, or --at DIRECTORY');
  return { source, program: inner.args, said: inner.opts<RunOptions>() };
}

/** The program, where the source is in a configuration, or a daemon has it. */
function withoutSource(command: Command, first: string, rest: readonly string[]): readonly string[] {
  if (isSource(first))
    command.error(`tiered run: ${first} is no program; with --config and --at, the source is left out`);
  return [first, ...rest];
}

/** Whether a word is surely meant as a source, and not as a program. */
function isSource(word: string): boolean {
  return /^(s3|gs|az):\/\//.test(word) || (word !== '' && fs.existsSync(`${word}/.`));
}

interface RunOptions extends InterposerOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/**
 * Runs a program under the shim, with the tiers of a configuration, those above a source, or those of a
 * daemon.
 * @throws ProgramEnded with the program's exit code, if that is not 0.
 */
async function runProgram(
  host: CommandHost,
  program: readonly string[],
  { at, quiet = false, json = false, ...options }: RunOptions,
): Promise<void> {
  const { environmentOf } = await import('../shared/daemon-at.js').catch(asMissing);
  if (at !== undefined) assertNone(options);
  if (at !== undefined && json)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      '--json: there is no summary beside --at; "tiered daemon --json" writes it when the daemon ends.',
    );
  const code =
    at === undefined
      ? await runServed(host, program, options, { quiet, json })
      : await runChild(program, await environmentOf(host, at), host);
  if (code !== 0) throw new ProgramEnded(code);
}

/** A daemon takes these options when it starts. */
function assertNone({
  config,
  source,
  tier,
  manifest,
  root,
  farm,
  record,
  alias,
  replay,
  job,
  weight,
}: InterposerOptions): void {
  const isSaid = [config, source, manifest, root, farm, record, job, weight].some(
    (said) => said !== undefined,
  );
  if (isSaid || tier.length + alias.length + replay.length > 0)
    throw new TieredError(
      'TIERED_CONFIG_INVALID',
      '--at: cannot be combined with a source, --config, --tier, --manifest, --root, --farm, --job, --weight, --record, --replay and --alias; ' +
        'give these to the daemon.',
    );
}

/** Runs a program with copies of its own interposer, which ends with it. Resolves to the exit code. */
async function runServed(
  host: CommandHost,
  program: readonly string[],
  options: InterposerOptions,
  { quiet, json }: { readonly quiet: boolean; readonly json: boolean },
): Promise<number> {
  const { openServed, tellRoot } = await import('../shared/interposer.js');
  const { showStatus } = await import('../shared/watched.js');
  return holdingSignals(async () => {
    const served = await untilInterrupted(host.clock, (signal) =>
      // The summary is the last line.
      openServed(host, { ...options, notes: !quiet && !json }, signal),
    );
    const { interposer } = served;
    try {
      if (!quiet) tellRoot(host, options, interposer);
      const ended = new AbortController();
      const shown = quiet ? undefined : showStatus(host, interposer, ended.signal);
      const code = await runChild(program, interposer.environment(), host).finally(() => ended.abort());
      await shown;
      const write = json ? summaryJson : summaryOf;
      const stats = interposer.stats();
      // It was said why a program cannot be run: that is why it has opened nothing.
      const isRun = stats.opens > 0 || !CANNOT_BE_RUN.includes(code);
      if (json || (!quiet && isRun)) host.terminal.write(`${write(stats, interposer.about)}\n`);
      return code;
    } finally {
      await untilInterrupted(host.clock, () => served.close());
    }
  });
}
