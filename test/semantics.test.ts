import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');

function testFiles(): string[] {
  const directories = [
    'test',
    ...readdirSync(path.join(root, 'packages')).map((name) => `packages/${name}/test`),
  ];
  return directories
    .flatMap((directory) =>
      readdirSync(path.join(root, directory), { recursive: true, encoding: 'utf8' }).map((file) =>
        path.join(root, directory, file),
      ),
    )
    .filter((file) => file.endsWith('.test.ts'));
}

const matches = (text: string, pattern: RegExp) =>
  new Set([...text.matchAll(pattern)].map(([, id]) => id ?? ''));

describe('SEMANTICS.md', () => {
  const promised = matches(readFileSync(path.join(root, 'SEMANTICS.md'), 'utf8'), /^- \*\*([A-Z]\d+)\*\*/gm);
  const cited = matches(
    testFiles()
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n'),
    /\[([A-Z]\d+)\] /g,
  );

  it('has a test for every promise, and a promise for every test that cites one', () => {
    expect(promised.size).toBeGreaterThan(10);
    expect([...cited].sort()).toEqual([...promised].sort());
  });
});

describe('README.md', () => {
  it('shows the example that is compiled and run', () => {
    const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
    const example = readFileSync(path.join(root, 'examples/quickstart.ts'), 'utf8');
    const shown = /```js\n([\s\S]*?)```/.exec(readme)?.[1];
    expect(shown).toBe(/\/\/ #region README\n([\s\S]*?)\/\/ #endregion README/.exec(example)?.[1]);
  });
});
