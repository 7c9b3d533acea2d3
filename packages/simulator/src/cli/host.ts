import { isTieredError, systemClock, type Clock } from '@tiered/core';
import type { Command } from 'commander';
import type { Terminal } from './progress.js';

/** Where a command writes, and its clock. */
export interface CommandHost {
  readonly write: (text: string) => void;
  /** For messages and the progress bar. */
  readonly terminal: Terminal;
  readonly clock: Clock;
}

/** The process itself. */
export const processHost: CommandHost = {
  write: (text) => void process.stdout.write(text),
  terminal: process.stderr,
  clock: systemClock,
};

/**
 * Runs a command.
 * @param args Without the names of the interpreter and the program.
 * @returns The exit code: 0 for success, 1 for a failure, 2 for invalid arguments.
 */
export async function runCommand(
  command: Command,
  args: readonly string[],
  host: CommandHost,
): Promise<number> {
  const output = {
    writeOut: host.write,
    writeErr: (text: string) => void host.terminal.write(text),
  };
  for (const one of [command, ...command.commands]) one.exitOverride().configureOutput(output);
  try {
    await command.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (hasExitCode(error)) return error.exitCode === 0 ? 0 : 2;
    host.terminal.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return isTieredError(error, 'TIERED_CONFIG_INVALID') ? 2 : 1;
  }
}

/** Whether commander has thrown this instead of ending the process. Its message is out already. */
function hasExitCode(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number';
}
