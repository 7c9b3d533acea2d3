import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { putStages } from './control-records.js';
import { tiered } from './run-tiered.js';

const BUDGET = { bytes: 150e6 };
let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-words-'));
  file = path.join(directory, 'control.db');
});
afterEach(() => rm(directory, { recursive: true }));

const control = (command: string, ...args: string[]) =>
  tiered('control', command, ...args, '--registry', file);

describe('tiered control why', () => {
  it('says why a job gets what it gets', async () => {
    await putStages(file, [
      { job: 'imagenet', terms: { weight: 2 }, report: { budget: BUDGET } },
      { job: 'llm', report: { budget: BUDGET } },
    ]);
    const { code, out } = await control('why', 'imagenet');
    expect(code).toBe(0);
    expect(out).toContain('server:/export gives 143.1 MiB/s.');
    expect(out).toMatch(/imagenet has 9\d\.\d MiB\/s\. It wants everything\./);
    expect(out).toContain('2 of 3');
    const unknown = await control('why', 'imagnet');
    expect(unknown).toMatchObject({ code: 1, out: '' });
    expect(unknown.messages).toBe(`There is no job imagnet in sqlite:${file}; there are: imagenet, llm\n`);
  });

  it('says where there is nothing to explain', async () => {
    await putStages(file, []);
    expect((await control('why', 'imagenet')).messages).toContain(`No job is in sqlite:${file}`);
    await putStages(file, [{ job: 'new', sources: {} }]);
    expect(await control('why', 'new')).toMatchObject({ code: 0, out: 'new reads from no source yet.\n' });
  });
});
