import { describe, expect, it } from 'vitest';
import { systemClock } from '@tiered/core';
import { PassThrough } from 'node:stream';
import { documents } from './documents.js';
import { tieredCommand } from '../packages/tiered/src/cli/program.js';

type Command = ReturnType<typeof tieredCommand>;

const output = new PassThrough();
const program = () => tieredCommand({ write: () => undefined, output, terminal: output, clock: systemClock });

/** A command as a document shows it, with its arguments. */
const SHOWN = /npx tiered ([^#`\n]+)/g;

/** What of the words of a command nobody would understand; undefined if all is well. */
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

const shown = [...documents()].flatMap(([document, text]) =>
  Array.from(text.matchAll(SHOWN), ([, words = '']) => ({ document, words: words.trim() })),
);

/** Rows of the table of commands that a document lacks. */
function rowsLeftOut(text = ''): string[] {
  const names = program().commands.map((one) => one.name());
  const isThere = (name: string) => new RegExp(`^\\| \`${name}[ \`]`, 'm').test(text);
  return names.filter((name) => !isThere(name)).map((name) => `add a row for \`${name}\``);
}

describe('commands in documents', () => {
  it('are all in the table of docs/command-line.md', () => {
    expect(rowsLeftOut(documents().get('docs/command-line.md'))).toEqual([]);
    expect(rowsLeftOut('\n| `stats` | |')).toContain('add a row for `top`');
  });

  it.each(shown)('$document: tiered $words', ({ words }) => {
    const split = (words.match(/'[^']*'|"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^['"]|['"]$/g, ''));
    expect(wrongWith(program(), split)).toBeUndefined();
  });

  it('are found, and mistakes in them are', () => {
    expect(shown.length).toBeGreaterThan(10);
    const wrong = (words: string) => wrongWith(program(), words.split(' '));
    expect(wrong('config edit tiers.yaml')).toBe('there is no command edit');
    expect(wrong('warmup tiers.yaml --everything')).toBe('does not know --everything');
    expect(wrong('stats one.yaml two.yaml')).toBe('takes 1 arguments');
  });
});
