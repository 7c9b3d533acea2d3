import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { programOf } from './program.js';

let directory: string;
let program: string;

beforeAll(async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-ends-'));
  program = await programOf('end-the-index', directory);
});

afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

/** How a process ended, in which an index was ended while it had much to do. */
function ended(how: 'end' | 'exit' | 'thread') {
  const args = [program, how, path.join(directory, 'index.db')];
  // One that hangs is ended here: nothing else runs meanwhile, the test's limit neither.
  const options = { encoding: 'utf8', timeout: 120_000, killSignal: 'SIGKILL' } as const;
  const { status, signal, stderr } = spawnSync(process.execPath, args, options);
  return { status, signal, stderr };
}

it('[C1] an index that is closed while calls are under way ends after the one that is being made, and harms nobody', () => {
  expect(ended('end')).toEqual({ status: 0, signal: null, stderr: '' });
});

it('[C1] a process that exits while its index has calls under way ends as it was told', () => {
  for (let exits = 0; exits < 5; exits++)
    expect(ended('exit')).toEqual({ status: 7, signal: null, stderr: '' });
});

it('[C1] so does a thread, and its process goes on', () => {
  expect(ended('thread')).toEqual({ status: 0, signal: null, stderr: '' });
});
