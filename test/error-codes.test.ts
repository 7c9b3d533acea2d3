import { ERROR_CODES } from '@tiered/core';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const text = fs.readFileSync(path.join(import.meta.dirname, '../docs/errors.md'), 'utf8');
/** Of each code: its meaning, and what to do. */
const sections = [...text.matchAll(/^### (\w+)\n\n(.+)\n\n([^#]+)/gm)].map(
  ([, code = '', meaning = '', advice = '']) => ({ code, meaning, advice }),
);

describe('docs/errors.md', () => {
  it('has every code, and no other', () => {
    expect(sections.map(({ code }) => code).sort()).toEqual(Object.keys(ERROR_CODES).sort());
  });

  it('says of each what it means, in the words of the code, and what to do', () => {
    expect(Object.fromEntries(sections.map(({ code, meaning }) => [code, meaning]))).toEqual(ERROR_CODES);
    expect(sections.filter(({ advice }) => advice.trim() === '')).toEqual([]);
  });
});
