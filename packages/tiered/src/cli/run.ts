import type { Command } from 'commander';
import { failureOf, ProgramEnded } from './failure.js';
import { processHost, type CommandHost } from './host.js';
import { tieredCommand } from './program.js';

/**
 * Runs the command `tiered`.
 * @param args Without the names of the interpreter and the program.
 * @param host Where it writes. Default: the process.
 * @returns The exit code: 0 for success, 1 for a failure, 2 for arguments, files or a configuration that
 * cannot work, 128 and its number for a signal that ended the command; of `tiered run`, that of the program.
 */
export async function runTiered(args: readonly string[], host: CommandHost = processHost()): Promise<number> {
  const program = tieredCommand(host);
  for (const command of withAllBelow(program)) {
    command.exitOverride().configureOutput({
      writeOut: host.write,
      writeErr: (text) => void host.terminal.write(text),
    });
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof ProgramEnded) return error.code;
    if (hasExitCode(error)) return error.exitCode === 0 ? 0 : 2;
    const { message, code } = failureOf(error);
    host.terminal.write(`${message}\n`);
    return code;
  }
}

function withAllBelow(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withAllBelow)];
}

/** Whether commander has thrown this instead of ending the process. Its message is out already. */
function hasExitCode(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number';
}
