// @ts-check
/**
 * Holds for C what the linters hold for JavaScript: how long files and functions may be, and that no files
 * include each other. `npm run lint` runs it.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Lines without blank ones and comments, as in eslint.config.js. */
const MOST_LINES = 300;
const MOST_LINES_OF_FUNCTION = 70;

/** The text without comments. What remains of a line that only had one is blank. @param {string} text */
function withoutComments(text) {
  return text.replace(/"(?:\\.|[^"\\\n])*"|\/\/.*|\/\*[^]*?\*\//g, (match) =>
    match.startsWith('"') ? match : match.replace(/[^\n]/g, ' '),
  );
}

/** @param {readonly string[]} lines */
const count = (lines) => lines.filter((line) => line.trim() !== '').length;

/**
 * What is too long. As clang-format leaves them, functions begin in the first column and end at a brace
 * there.
 *
 * @param {string} file
 * @param {string} text
 */
function tooLong(file, text) {
  const lines = withoutComments(text).split('\n');
  const found = [];
  const total = count(lines);
  if (total > MOST_LINES) found.push(`${file}: ${total} lines, of which there may be ${MOST_LINES}`);
  let begin = 0;
  for (const [at, line] of lines.entries()) {
    if (/^\w/.test(line) && !/^(typedef|struct|enum)\b[^()]*\{/.test(line)) begin = at;
    const length = line === '}' ? count(lines.slice(begin, at + 1)) : 0;
    if (length > MOST_LINES_OF_FUNCTION)
      found.push(
        `${file}:${begin + 1}: a function of ${length} lines, of which there may be ${MOST_LINES_OF_FUNCTION}`,
      );
  }
  return found;
}

/** `x.c` and `x.h` are one part. @param {string} file */
const partOf = (file) => file.replace(/\.\w+$/, '');

/**
 * Parts that include each other, also by way of others.
 *
 * @param {ReadonlyMap<string, ReadonlySet<string>>} includes
 */
function circles(includes) {
  const found = /** @type {string[]} */ ([]);
  const done = new Set();
  /** @param {readonly string[]} way */
  const follow = (way) => {
    const part = way.at(-1) ?? '';
    const begin = way.indexOf(part);
    if (begin < way.length - 1) found.push(`a circle of includes: ${way.slice(begin).join(' -> ')}`);
    if (begin < way.length - 1 || done.has(part)) return;
    for (const next of includes.get(part) ?? []) follow([...way, next]);
    done.add(part);
  };
  for (const part of includes.keys()) follow([part]);
  return found;
}

/** @param {readonly string[]} files */
function problemsOf(files) {
  const found = [];
  const includes = /** @type {Map<string, Set<string>>} */ (new Map());
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    found.push(...tooLong(file, text));
    const part = partOf(file);
    const of = includes.get(part) ?? new Set();
    for (const [, name = ''] of text.matchAll(/^#include "(.+)"/gm))
      of.add(partOf(path.join(path.dirname(file), name)));
    of.delete(part);
    includes.set(part, of);
  }
  return [...found, ...circles(includes)];
}

const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.c', '*.h', '*.cc'], {
  encoding: 'utf8',
});
const problems = problemsOf(listed.split('\n').filter((file) => file !== '' && !file.includes('/vendor/')));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
