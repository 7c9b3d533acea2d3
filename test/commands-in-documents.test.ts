import { describe, expect, it } from 'vitest';
import { program, wrongWithWords } from './command-words.js';
import { documents } from './documents.js';

/** A command as a document shows it, with its arguments. */
const SHOWN = /npx tiered ([^#`\n]+)/g;

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
    expect(wrongWithWords(words)).toBeUndefined();
  });

  it('are found, and mistakes in them are', () => {
    expect(shown.length).toBeGreaterThan(10);
    expect(wrongWithWords('config edit tiers.yaml')).toBe('there is no command edit');
    expect(wrongWithWords('warmup tiers.yaml --everything')).toBe('does not know --everything');
    expect(wrongWithWords('stats one.yaml two.yaml')).toBe('takes 1 arguments');
  });
});
