import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');
/** Those that git knows, and new ones; nothing that is built. */
const LIST = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
const listed = execFileSync('git', LIST, { cwd: root, encoding: 'utf8' }).split('\0');
const files = listed.filter((name) => fs.existsSync(path.join(root, name)));
const packages = fs.readdirSync(path.join(root, 'packages'));

/** What a name may be that looks like that of a file: what tiers have in their directories. */
const OF_TIERS = ['.tiered', '.tiered/', '.tiered/owner', 'index.db', 'members/', 'tmp/'];

/** A name in backticks that is a path: with a slash, or with the ending of a file. */
const PATH = /`((?:[\w.@*-]+\/)+[\w.*-]*|[\w.*-]+\.(?:[cm]?[jt]s|c|h|py|sh|md|json))`/g;

const ENTRY = /^@tiered\/([\w-]+)(\/[\w-]+)$/;

/** A line, and the package that the paragraph or table around it is about. */
interface Line {
  readonly text: string;
  readonly about: string | undefined;
}

function linesOf(markdown: string): Line[] {
  let about: string | undefined;
  return markdown.split('\n').map((text) => {
    if (text.startsWith('## ')) about = undefined;
    about = /^\*\*([\w-]+)\*\* /.exec(text)?.[1] ?? about;
    return { text, about };
  });
}

/** Whether a package or the root has this file, entry or folder. In a package the end of a path is enough. */
function isThere(name: string, about: string | undefined): boolean {
  const [, owner = '', entry = ''] = ENTRY.exec(name) ?? [];
  if (owner !== '') {
    const manifest = fs.readFileSync(path.join(root, 'packages', owner, 'package.json'), 'utf8');
    return `.${entry}` in (JSON.parse(manifest) as { exports: object }).exports;
  }
  const pattern = name.replaceAll('.', String.raw`\.`).replaceAll('*', '[^/]*');
  const below = about === undefined ? 'packages/' : `packages/${about}/`;
  const end = name.endsWith('/') ? '' : '(/|$)';
  const found = new RegExp(`^(${below}(.*/)?)?${pattern}${end}`);
  return files.some((file) => found.test(file));
}

/** Paths in backticks that are not there. */
function missingIn(lines: readonly Line[]): string[] {
  return lines.flatMap(({ text, about }) =>
    Array.from(text.matchAll(PATH), ([, name = '']) => name)
      .filter((name) => !OF_TIERS.includes(name) && !isThere(name, about))
      .map((name) => `${about ?? 'ARCHITECTURE.md'}: ${name}`),
  );
}

/** What stands in the first column of the table of a package; undefined if it has none. */
function tableOf(lines: readonly Line[], name: string): string[] | undefined {
  const own = lines.filter(({ about }) => about === name).map(({ text }) => text);
  const head = own.indexOf('| folder | what is in it |');
  return head === -1 ? undefined : own.slice(head + 2).map((row) => row.split('|')[1]?.trim() ?? '');
}

/** Folders of a package's sources that its table leaves out, unless it has a row for all others. */
function leftOutOf(lines: readonly Line[], name: string): string[] {
  const rows = tableOf(lines, name);
  if (rows === undefined || rows.includes('the others')) return [];
  const entries = fs.readdirSync(path.join(root, 'packages', name, 'src'), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => `${entry.name}/`);
  const named = rows.flatMap((row) => Array.from(row.matchAll(/`(?:src\/)?([\w-]+\/)`/g), ([, one]) => one));
  return folders
    .filter((folder) => !named.includes(folder))
    .map((folder) => `add a row for ${folder} to the table of **${name}**`);
}

describe('ARCHITECTURE.md', () => {
  const text = fs.readFileSync(path.join(root, 'ARCHITECTURE.md'), 'utf8');
  const lines = linesOf(text);

  it('names files, folders and entries that are there, in the package that it tells of', () => {
    expect(missingIn(lines)).toEqual([]);
  });

  it('tells of every folder of packages that have a table', () => {
    expect(packages.flatMap((name) => leftOutOf(lines, name))).toEqual([]);
  });

  it('counts no lines, because nobody counts them again', () => {
    expect(text.match(/\b\d+ lines\b/g)).toBeNull();
  });

  it('would be found wrong', () => {
    const wrong = linesOf(
      [
        '**core** has `hierarchy.ts`, `fills.ts`, `@tiered/core/driver` and `@tiered/core/nothing`.',
        '| folder | what is in it |',
        '| --- | --- |',
        '| `read/`, `gone/` | `read-path.ts`, and `tools/ladder.js` |',
        '## A tier',
        '`fills.ts`, `index.db`, `addon*.c`, `addon*.py` and `docs/nothing.md`',
      ].join('\n'),
    );
    expect(missingIn(wrong)).toEqual([
      'core: fills.ts',
      'core: @tiered/core/nothing',
      'core: gone/',
      'ARCHITECTURE.md: addon*.py',
      'ARCHITECTURE.md: docs/nothing.md',
    ]);
    expect(leftOutOf(wrong, 'core')).toContain('add a row for namespace/ to the table of **core**');
    expect(leftOutOf(wrong, 'core')).not.toContain('add a row for read/ to the table of **core**');
  });
});
