import { execFile } from 'node:child_process';
import fc from 'fast-check';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { check } from 'prettier';
import { describe, expect, it, onTestFinished } from 'vitest';
import { atLeast, atMost } from '../bench/lib/bench.js';
import { benchNames } from '../bench/lib/names.js';
import { blockOf, withFigures, writeFigures, type Figures } from '../bench/lib/write-figures.js';

const root = path.join(import.meta.dirname, '..');

const figures: Figures = {
  bench: 'two',
  day: '2026-11-22',
  version: 'v20.19.0',
  cores: 2,
  othersShare: 0.02,
  rows: [
    { source: 'a|b', setup: 'UV_THREADPOOL_SIZE=64, *all*', 'files/s': 12_345.6, 'of C': 0.5 },
    { source: 'warm', setup: 'C', 'files/s': 20_000, 'of C': [] },
    { what: 'memory', 'epoch s': [1, 0.5] },
  ],
  checks: [atLeast('of C', 0.5, 0.6, 'x'), atMost('memory', 90, 100, 'bytes')],
};

const page = `# Page

## One

<!-- figures of one -->
by hand
<!-- end of figures -->

Prose  of  one.

## Two

<!-- figures of two -->
old, $1
<!-- end of figures -->

| by | hand |
| --- | --- |
| and | so formatted |
`;

/** What is between the lines of a block. */
function inside(text: string, bench: string): string {
  const { start, end } = blockOf(text, bench);
  return text.slice(start, end);
}

describe('figures of a bench in the page', () => {
  it('replace those of the bench, and nothing else', async () => {
    const text = await withFigures(page, figures);
    expect(text.replace(inside(text, 'two'), () => inside(page, 'two'))).toBe(page);
    expect(inside(text, 'two')).toMatchInlineSnapshot(`
      "

      \`npm run bench -- two\` on 2026-11-22, Node v20.19.0, 2 cores, 2 % busy with other things.

      | source | setup                            | files/s | of C |
      | ------ | -------------------------------- | ------: | ---: |
      | a\\|b   | UV\\_THREADPOOL\\_SIZE=64, \\*all\\* |  12,346 | 0.50 |
      | warm   | C                                |  20,000 |      |

      | what   | epoch s |
      | ------ | ------: |
      | memory |  1 0.50 |

      | what   |    aim |  reached |        |
      | ------ | -----: | -------: | ------ |
      | of C   | >= 0.6 |   0.50 x | missed |
      | memory | <= 100 | 90 bytes | ok     |

      "
    `);
  });

  it('are the same when they are written twice, and as prettier has them', async () => {
    const text = await withFigures(page, figures);
    expect(await withFigures(text, figures)).toBe(text);
    expect(await check(inside(text, 'two').trim() + '\n', { parser: 'markdown' })).toBe(true);
  });

  it('have as many cells a line as columns, whatever a bench calls its rows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), async (source, setup) => {
        const text = await withFigures(page, { ...figures, rows: [{ source, setup }], checks: [] });
        const bars = inside(text, 'two')
          .split('\n')
          .filter((line) => line.startsWith('|'))
          .map((line) => line.match(/(?<!\\)(\\\\)*\|/g)?.length);
        expect(bars).toEqual([3, 3, 3]);
        expect(await withFigures(text, { ...figures, rows: [{ source, setup }], checks: [] })).toBe(text);
      }),
    );
  });

  it('say that the machine was busy', async () => {
    const text = await withFigures(page, { ...figures, othersShare: 0.31 });
    expect(text).toContain('**The machine was 31 % busy with other things');
    expect(await withFigures(page, figures)).not.toContain('**The machine');
  });

  it.each([
    '',
    '<!-- figures of two -->\n',
    '<!-- figures of two -->\n<!-- figures of one -->\n<!-- end of figures -->',
  ])('need a block, and say which lines to add: %j', async (without) => {
    await expect(withFigures(without, figures)).rejects.toThrow(
      /"two"\. Add these two lines .*:\n<!-- figures of two -->\n<!-- end of figures -->$/,
    );
  });

  it('are written to the file, with the picture beside it', async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-figures-'));
    onTestFinished(() => fs.rmSync(directory, { recursive: true }));
    const file = path.join(directory, 'page.md');
    fs.writeFileSync(file, page);
    await writeFigures(file, { ...figures, picture: '<svg/>' });
    expect(fs.readFileSync(file, 'utf8')).toContain('![The figures of two](two.svg)');
    expect(fs.readFileSync(path.join(directory, 'two.svg'), 'utf8')).toBe('<svg/>');
  });
});

describe('docs/benchmarks.md', () => {
  const text = fs.readFileSync(path.join(root, 'docs/benchmarks.md'), 'utf8');

  it('has a block for each bench, and for nothing else', () => {
    const blocks = [...text.matchAll(/^<!-- figures of (.*) -->$/gm)].map(([, name]) => name);
    expect(blocks.sort()).toEqual(benchNames().sort());
    for (const name of benchNames()) expect(() => blockOf(text, name)).not.toThrow();
  });
});

describe('npm run bench', () => {
  it('does not write quick figures', async () => {
    const flags = ['--expose-gc', '--conditions=tiered-source', '--import', 'tsx'];
    const run = promisify(execFile)(
      process.execPath,
      [...flags, 'bench/run.ts', 'hit-path', '--write', '--quick'],
      {
        cwd: root,
      },
    );
    await expect(run).rejects.toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Quick figures are not quoted'),
    });
  });
});
