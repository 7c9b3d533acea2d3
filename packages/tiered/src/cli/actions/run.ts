import { configError } from '@tiered/core/internal';
import { environmentAt, type Interposer } from '@tiered/interpose';
import type { CommandHost } from '../host.js';
import { ProgramEnded } from '../program-ended.js';
import { runChild } from './child.js';
import { openInterposer, summaryOf } from './interposer.js';

/** What `tiered run` is told. */
export interface RunOptions {
  readonly config?: string;
  readonly at?: string;
  readonly alias: readonly string[];
  readonly quiet?: boolean;
}

/**
 * Runs a program under the shim, with the tiers of a configuration, or those of a daemon.
 * @throws ProgramEnded with the program's exit code, if that is not 0.
 */
export async function runProgram(
  host: CommandHost,
  program: readonly string[],
  { config, at, alias, quiet = false }: RunOptions,
): Promise<void> {
  let code: number;
  if (config !== undefined && at === undefined)
    code = await runServed(host, program, await openInterposer(host, { config, alias }), quiet);
  else if (at !== undefined && config === undefined)
    code = await runChild(program, environmentAt(at), host.terminal);
  else throw configError('tiered run', 'one of --config and --at', at === undefined ? 'neither' : 'both');
  if (code !== 0) throw new ProgramEnded(code);
}

/** Runs a program with copies of its own interposer, which ends with it. Resolves to the exit code. */
async function runServed(
  host: CommandHost,
  program: readonly string[],
  interposer: Interposer,
  quiet: boolean,
): Promise<number> {
  try {
    const code = await runChild(program, interposer.environment(), host.terminal);
    if (!quiet) host.terminal.write(`${summaryOf(interposer.stats())}\n`);
    return code;
  } finally {
    await interposer.close();
  }
}
