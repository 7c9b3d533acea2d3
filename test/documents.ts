import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');

/** A fenced block of a document. */
export interface Block {
  /** The document and the number of the block among those of its language, counted from 1. */
  readonly name: string;
  /** What stands behind the fence. */
  readonly language: string;
  readonly text: string;
  /** Of its first line in the document, counted from 1. */
  readonly line: number;
  /**
   * Code that the block relies on and does not show, from a comment `<!-- given: ... -->` above it. Undefined
   * for a whole program.
   */
  readonly given: string | undefined;
}

/** The text of every document of the repository, by its path. */
export function documents(): Map<string, string> {
  const listed = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: root, encoding: 'utf8' });
  const names = listed.split('\0').filter((name) => name !== '' && fs.existsSync(path.join(root, name)));
  return new Map(names.map((name) => [name, fs.readFileSync(path.join(root, name), 'utf8')]));
}

const FENCED = /(?:<!-- given:\s((?:(?!-->)[^])*)-->\n\n)?^( *)(`{3,}|~{3,})(.*)\n([^]*?)^\2\3$/gm;

/** Every block of every document, whatever its language. */
export function blocks(): Block[] {
  return [...documents()].flatMap(([document, markdown]) => {
    const count = new Map<string, number>();
    return [...markdown.matchAll(FENCED)].map(({ 0: whole, 1: given, 4: info = '', 5: text = '', index }) => {
      const language = info.trim();
      const number = (count.get(language) ?? 0) + 1;
      count.set(language, number);
      const end = index + whole.length;
      const line = markdown.slice(0, end).split('\n').length - text.split('\n').length + 1;
      return { name: `${document} ${number}`, language, text, line, given };
    });
  });
}
