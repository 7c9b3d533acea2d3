/**
 * The table of SEMANTICS.md that says where each promise is proven, made from the tests that cite it:
 * `npm run proofs` writes it, and `test/semantics.test.ts` fails where it is out of date.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const SEMANTICS = path.join(root, 'SEMANTICS.md');
const FIRST = '<!-- where promises are proven -->';
const LAST = '<!-- end of where promises are proven -->';

/** A file of tests, and the promises that it cites. */
export interface TestFile {
  /** From the root. */
  readonly file: string;
  readonly cited: ReadonlySet<string>;
  /** Whether the nightly run tries more of it than CI. */
  readonly isLonger: boolean;
}

/** All files of tests. */
export function testFiles(): TestFile[] {
  const packages = readdirSync(path.join(root, 'packages')).map((name) => `packages/${name}/test`);
  return ['test', ...packages]
    .flatMap((directory) =>
      readdirSync(path.join(root, directory), { recursive: true, encoding: 'utf8' }).map(
        (file) => `${directory}/${file}`,
      ),
    )
    .filter((file) => file.endsWith('.test.ts'))
    .sort()
    .map((file) => {
      const text = readFileSync(path.join(root, file), 'utf8');
      return { file, cited: idsIn(text, /\[([A-Z]\d+)\] /g), isLonger: text.includes("inject('nightly')") };
    });
}

/** The promises of SEMANTICS.md, in its order. */
export function promises(text = readFileSync(SEMANTICS, 'utf8')): ReadonlySet<string> {
  return idsIn(text, /^- \*\*([A-Z]\d+)\*\*/gm);
}

function idsIn(text: string, pattern: RegExp): ReadonlySet<string> {
  return new Set([...text.matchAll(pattern)].map(([, id = '']) => id));
}

/** SEMANTICS.md with the table as it has to be. */
export function withProofs(text = readFileSync(SEMANTICS, 'utf8')): string {
  const [start, end] = [text.indexOf(FIRST), text.indexOf(LAST)];
  if (start === -1 || end === -1) throw new Error(`SEMANTICS.md needs the lines\n${FIRST}\n${LAST}`);
  return `${text.slice(0, start)}${FIRST}\n\n${proofs([...promises(text)], testFiles())}\n\n${text.slice(end)}`;
}

function proofs(ids: readonly string[], files: readonly TestFile[]): string {
  const rows = ids.map((id) => {
    const citing = files.filter(({ cited }) => cited.has(id));
    const [unit, others] = [citing.filter(isUnit), citing.filter((file) => !isUnit(file))];
    const longer = citing.filter(({ isLonger }) => isLonger);
    return `| ${[id, ...[unit, others, longer].map(namesOf)].join(' | ')} |`;
  });
  const head = ['promise', '`npm test`', 'and in `.ci/run`', 'longer in `npm run nightly`'];
  return [`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...rows].join('\n');
}

/** As `vitest.config.ts` has it. */
const isUnit = ({ file }: TestFile) => file.startsWith('packages/') && !file.endsWith('.long.test.ts');

/** Packages, and tests of what crosses packages. */
function namesOf(files: readonly TestFile[]): string {
  const names = files.map(({ file }) => {
    const [top = '', name = ''] = file.split('/');
    return top === 'packages' ? name : file.replace('.test.ts', '');
  });
  return [...new Set(names)].join(', ');
}

if (process.argv[1] === import.meta.filename) writeFileSync(SEMANTICS, withProofs());
