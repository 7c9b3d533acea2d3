import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { FROM_SOURCES } from './from-sources.js';

const PROGRAM = fileURLToPath(new URL('./workers/leave-loops.ts', import.meta.url));
const ROUNDS = inject('nightly') ? 20 : 3;

/** Runs a program that leaves loops, which nothing but workers keeps from its end. */
async function linesOf(way: string): Promise<string[]> {
  const args = [...FROM_SOURCES, PROGRAM, way, String(ROUNDS)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout.trimEnd().split('\n');
}

it.each([
  ['break', /^left after 3$/],
  ['throw', /^Error: refused by the loop$/],
  ['sample', /sample 7, in 0000, of epoch 0: seven/],
  ['exit', /exit code 3/],
  ['driver', /^closed$/],
])(
  '[D5] a program goes on after workers that are ended in the midst of their work: %s',
  async (way, line) => {
    const lines = await linesOf(way);
    expect(lines).toHaveLength(ROUNDS);
    for (const one of lines) expect(one).toMatch(line);
  },
);
