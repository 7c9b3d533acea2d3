import { describe, expect, it } from 'vitest';
import { clausesFirst } from '../tools/prose/clause-first.js';

const found = (markdown: string) =>
  clausesFirst(markdown).map(({ line, sentence }) => `${line}: ${sentence}`);

describe('sentences that begin with a clause as their subject', () => {
  it('are listed with their lines, in paragraphs, lists and cells', () => {
    const markdown = [
      '# What is a title',
      '',
      'A reader waits. Who reads `x` waits',
      'for it. What is late',
      'is dropped.',
      '',
      '- **Names.** Whoever has a name keeps it.',
      '',
      '| file | what it is |',
      '| --- | --- |',
      '| a | That the file is gone is noted. |',
      '',
      '> Where a file is the kernel knows.',
    ];
    expect(found(markdown.join('\n'))).toEqual([
      '3: Who reads `x` waits for it.',
      '4: What is late is dropped.',
      '7: Whoever has a name keeps it.',
      '11: That the file is gone is noted.',
      '13: Where a file is the kernel knows.',
    ]);
  });

  it('are no questions, titles, code, places before a comma, or what points at something', () => {
    const markdown = [
      'Who reads it? Where no disk is, memory is used. That is all. That file is read.',
      '',
      '```',
      'What this prints is code.',
      '```',
      '',
      '`Who` is a name. Somebody knows what this is.',
      '',
      'What it needs:',
    ];
    expect(found(markdown.join('\n'))).toEqual([]);
  });
});
