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

describe('tiered control admit', () => {
  const startOne = () =>
    putStages(file, [{ job: 'llm', report: { budget: BUDGET, wanted: { bytes: 60e6 } } }]);

  it('lets in a job that takes from nobody what is needed', async () => {
    await startOne();
    expect(await control('admit', '--bytes-per-second', '80MB')).toMatchObject({
      code: 0,
      messages: '',
      out: `It fits: candidate would have all that it wants of server:/export, and takes from no job what that job needs.
  candidate would have 76.3 MiB/s, 100 % of the 76.3 MiB/s that it wants
  llm would have 57.2 MiB/s, 100 % of the 57.2 MiB/s that it wants; now it has 57.2 MiB/s
`,
    });
  });

  it('refuses a job that would starve, and one that would starve another', async () => {
    await startOne();
    const poor = await control('admit', '--bytes-per-second', '120MB', '--job', 'bert');
    expect(poor).toMatchObject({ code: 1, messages: 'One more such job does not fit.\n' });
    expect(poor.out).toMatch(
      /^It does not fit: bert would have 7\d % of what it wants of server:\/export\.$/m,
    );
    const greedy = await control('admit', '--bytes-per-second', '200MB', '--weight', '9');
    expect(greedy.code).toBe(1);
    expect(greedy.out).toContain('It does not fit: llm would not have enough of server:/export any more.');
    expect(greedy.out).toMatch(/llm would have 14\.\d MiB\/s, 2\d % of the 57\.2 MiB\/s that it wants/);
    const { out } = await control('admit', '--bytes-per-second', '200MB', '--weight', '9', '--json');
    expect(JSON.parse(out)).toMatchObject({ fits: false, effects: [{ job: 'candidate' }, { job: 'llm' }] });
  });

  it('asks for the source where it is not clear, and for what it gives', async () => {
    await putStages(file, []);
    const nobody = await control('admit', '--bytes-per-second', '80MB');
    expect(nobody).toMatchObject({ code: 2, messages: expect.stringContaining('no job reads from any now') });
    await putStages(file, [{ job: 'a' }, { job: 'a', source: 'other' }]);
    const unclear = await control('admit', '--bytes-per-second', '80MB');
    expect(unclear.messages).toContain('name the source with --source; jobs read from other, server:/export');
    const unknown = await control('admit', '--bytes-per-second', '80MB', '--source', 'other');
    expect(unknown).toMatchObject({ code: 1 });
    expect(unknown.messages).toContain('tiered control set --source other --bytes-per-second 150MB');
    const mistyped = await control('admit', '--bytes-per-second', '80MB', '--source', 'othr');
    expect(mistyped).toMatchObject({
      code: 1,
      messages: expect.stringContaining('No job reads from othr now; there are: other, server:/export. If'),
    });
    await control('set', '--source', 'other', '--bytes-per-second', '150MB');
    expect(await control('admit', '--bytes-per-second', '60MB', '--source', 'other')).toMatchObject({
      code: 0,
    });
  });
});
