import { systemClock } from '@tiered/core';
import { PassThrough } from 'node:stream';
import { tieredCommand } from '../packages/tiered/src/cli/program.js';

type Command = ReturnType<typeof tieredCommand>;

const output = new PassThrough();

/** The command, as it reads its arguments. */
export const program = (): Command =>
  tieredCommand({ write: () => undefined, output, terminal: output, clock: systemClock });

/** What nobody would understand of the words behind `tiered`; undefined if all is well. */
export function wrongWithWords(words: string): string | undefined {
  const split = words.match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  return wrongWith(
    program(),
    split.map((word) => word.replace(/^['"]|['"]$/g, '')),
  );
}

function wrongWith(command: Command, words: readonly string[]): string | undefined {
  const [first = '', ...rest] = words;
  const below = command.commands.find((one) => one.name() === first);
  if (below !== undefined) return wrongWith(below, rest);
  if (command.commands.length > 0) return words.length === 0 ? undefined : `there is no command ${first}`;
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  const { operands, unknown } = command.parseOptions([...words]);
  if (unknown.length > 0 && !unknown.includes('--help')) return `does not know ${unknown.join(' ')}`;
  if (command.registeredArguments.at(-1)?.variadic === true) return undefined;
  const most = command.registeredArguments.length;
  return operands.length > most ? `takes ${most} arguments` : undefined;
}
