import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { promises, testFiles, withProofs } from '../tools/proofs.js';

const root = path.join(import.meta.dirname, '..');

describe('SEMANTICS.md', () => {
  const promised = promises();

  it('has a test for every promise, and a promise for every test that cites one', () => {
    const cited = new Set(testFiles().flatMap((file) => [...file.cited]));
    expect(promised.size).toBeGreaterThan(10);
    expect([...cited].sort()).toEqual([...promised].sort());
  });

  it('gives no id twice', () => {
    const ids = readFileSync(path.join(root, 'SEMANTICS.md'), 'utf8').match(/^- \*\*[A-Z]\d+\*\*/gm);
    expect(ids).toHaveLength(promised.size);
  });

  it('says of each promise where it is proven (to write that: npm run proofs)', () => {
    expect(readFileSync(path.join(root, 'SEMANTICS.md'), 'utf8')).toBe(withProofs());
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
