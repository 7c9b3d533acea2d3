import { configError } from '@tiered/core/internal';
import type { CommandHost } from '../host.js';
import { ProgramEnded } from '../program-ended.js';
import { runChild } from './child.js';
import { environmentOf } from './daemon-at.js';
import { openInterposer, summaryOf, type InterposerOptions, type ServingOptions } from './interposer.js';
import { holdingSignals, untilInterrupted } from './interrupt.js';

/** What `tiered run` is told. */
export interface RunOptions extends ServingOptions {
  readonly config?: string;
  readonly at?: string;
  readonly quiet?: boolean;
}

/**
 * Runs a program under the shim, with the tiers of a configuration, or those of a daemon.
 * @throws ProgramEnded with the program's exit code, if that is not 0.
 */
export async function runProgram(
  host: CommandHost,
  program: readonly string[],
  { config, at, quiet = false, ...serving }: RunOptions,
): Promise<void> {
  let code: number;
  if (config !== undefined && at === undefined)
    code = await runServed(host, program, { ...serving, config }, quiet);
  else if (at !== undefined && config === undefined) {
    assertNone(serving);
    code = await runChild(program, await environmentOf(host, at), host.terminal);
  } else throw configError('tiered run', 'one of --config and --at', at === undefined ? 'neither' : 'both');
  if (code !== 0) throw new ProgramEnded(code);
}

/** What is said to a daemon it is said when it starts. */
function assertNone({ root, farm, record, alias, replay }: ServingOptions): void {
  const isSaid = [root, farm, record].some((said) => said !== undefined) || alias.length + replay.length > 0;
  if (isSaid)
    throw configError(
      'tiered run',
      '--root, --farm, --record, --replay and --alias for the daemon',
      'them beside --at',
    );
}

/** Runs a program with copies of its own interposer, which ends with it. Resolves to the exit code. */
function runServed(
  host: CommandHost,
  program: readonly string[],
  options: InterposerOptions,
  quiet: boolean,
): Promise<number> {
  return holdingSignals(async () => {
    const interposer = await untilInterrupted(host.clock, (signal) => openInterposer(host, options, signal));
    try {
      const code = await runChild(program, interposer.environment(), host.terminal);
      if (!quiet) host.terminal.write(`${summaryOf(interposer.stats())}\n`);
      return code;
    } finally {
      await untilInterrupted(host.clock, () => interposer.close());
    }
  });
}
