import type { ControlConfig, HierarchyConfig } from '@tiered/config';
import type { Admission } from '@tiered/control';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Epochs } from '../../src/cli/shared/forecast.js';
import { sourceNameOf } from '../../src/control/source-name.js';
import { putStages } from './control-records.js';
import { tiered } from './run-tiered.js';

const BUDGET = { bytes: 150e6 };
let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-admit-'));
  file = path.join(directory, 'control.db');
});
afterEach(() => rm(directory, { recursive: true }));

const control = (command: string, ...args: string[]) =>
  tiered('control', command, ...args, '--registry', file);

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

  it('takes no rate of a training that it cannot simulate', async () => {
    const { code, messages } = await control('admit', '--compute-mbps', '80');
    expect([code, messages]).toEqual([
      2,
      '--compute-mbps: needs a file with a model, by which the job is simulated\n',
    ]);
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

  it('says how much longer jobs take that take what they get', async () => {
    await putStages(file, [
      { job: 'a', stall: 0.5, report: { budget: BUDGET, used: { bytes: 75e6, operations: 0 } } },
      { job: 'b', report: { budget: BUDGET, used: { bytes: 40e6, operations: 0 } } },
    ]);
    const { code, out } = await control('admit');
    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      'It fits: no job would starve, though a would take longer.',
      '  candidate would have 47 MiB/s, it wants everything',
      '  a would have 47 MiB/s of the 70.5 MiB/s that it uses now: its epochs take about 1.5 times as long, ' +
        'and its consumers wait 67 % of the time, now 50 %',
      '  b would have 47 MiB/s, and uses 38.1 MiB/s now',
      '',
    ]);
    const first = await control('admit', '--priority', '1', '--at-most', '120MB');
    expect(first.code).toBe(1);
    expect(first.out).toContain('It does not fit: a, b would not have enough of server:/export any more.');
    const last = await control('admit', '--priority', '-1');
    expect(last.out).toContain('It fits: candidate takes from no job what that job needs.');
    const guaranteed = await control(
      'admit',
      '--priority',
      '-1',
      '--at-least',
      '60MB',
      '--bytes-per-second',
      '60MB',
    );
    expect(guaranteed.out).toContain('candidate would have 57.2 MiB/s, 100 %');
  });

  it('counts requests where these are what the source has too few of', async () => {
    const budget = { operations: 1000 };
    await putStages(file, [{ job: 'a', report: { budget, used: { bytes: 8e6, operations: 900 } } }]);
    const { out, code } = await control('admit', '--operations-per-second', '600');
    expect(code).toBe(1);
    expect(out).toContain('candidate would have 493 requests/s, 82 % of the 600 requests/s that it wants');
    expect(out).toMatch(/a would have 493 requests\/s of the 900 requests\/s that it uses now: .* 1.8 times/);
  });
});

describe('tiered control admit with a configuration', () => {
  const SOURCE_MBPS = 10;
  let job: string;
  beforeEach(async () => {
    job = path.join(directory, 'job.json');
    await mkdir(path.join(directory, 'data'));
    // 20 objects of 1 MB, for which the source needs two seconds.
    for (let i = 0; i < 20; i++) await writeFile(path.join(directory, `data/${i}`), Buffer.alloc(1e6));
  });

  /** Writes the configuration of a job, and the profile of its storage: the source, and a tier. */
  async function write(
    settings: Partial<ControlConfig>,
    { computeMBps, quota = '40MB' }: { computeMBps?: number; quota?: string } = {},
  ) {
    const flat = (rate: number) => ({ points: [[1, rate]] });
    const profile = {
      version: 1,
      objectBytes: 1e6,
      source: { name: 'fs', read: flat(SOURCE_MBPS) },
      tiers: [{ name: 'memory', read: flat(10_000) }],
      computeMBps,
    };
    await writeFile(path.join(directory, 'profile.json'), JSON.stringify(profile));
    const config: HierarchyConfig = {
      source: { driver: 'fs', root: 'data' },
      tiers: [{ driver: 'memory', quota }],
      placement: { chunk: '1MB' },
      model: 'profile.json',
      control: { job: 'bert', registry: { sqlite: 'control.db' }, ...settings },
    };
    await writeFile(job, JSON.stringify(config));
  }

  const reader = (bytes: number) => ({
    budget: { bytes: SOURCE_MBPS * 1e6 },
    used: { bytes, operations: 0 },
  });
  const named = { source: { name: 'server:/export' } };
  const admit = (...args: string[]) => tiered('control', 'admit', job, ...args);
  const found = async (...args: string[]) =>
    JSON.parse((await admit(...args, '--json')).out) as Admission & {
      readonly source: string;
      readonly forecast: { readonly alone: Epochs; readonly shared: Epochs; readonly later: Admission };
    };

  it('simulates what its share means in time, and what the others have once its tiers are full', async () => {
    await write(named);
    await putStages(file, [{ job: 'llm', report: reader(9e6) }]);
    const { code, out, messages } = await admit();
    expect([code, messages]).toEqual([0, '']);
    expect(out.split('\n')).toEqual([
      'It fits: no job would starve, though llm would take longer.',
      expect.stringMatching(
        /^ {2}bert would have 4.7 MiB\/s, 49 % of the 9.5 MiB\/s that it wants: its first epoch takes 4.1 s \(2.0 s with the source to itself\), each later one 0.0 s \(as with the source to itself\)$/,
      ),
      expect.stringMatching(
        /^ {2}llm would have 4.7 MiB\/s of the 8.6 MiB\/s that it uses now: its epochs take about 1.8 times as long$/,
      ),
      'After its first epoch, bert reads nothing from the source, and no other job takes longer than now.',
      '',
    ]);
    const { forecast } = await found();
    expect(forecast.shared.firstSeconds / forecast.alone.firstSeconds).toBeCloseTo(2 / 0.985, 1);
  });

  it('reads in later epochs what its tiers have no room for', async () => {
    await write(named, { quota: '11MB' });
    await putStages(file, [{ job: 'llm', report: reader(9e6) }]);
    const { forecast } = await found();
    const { alone, shared, later } = forecast;
    expect(alone.laterSeconds / alone.firstSeconds).toBeCloseTo(9 / 20, 2);
    expect(shared.laterSeconds / alone.laterSeconds).toBeCloseTo(2 / 0.985, 1);
    expect(later.effects[0]?.wanted.bytes).toBeCloseTo(alone.laterMBps * 1e6);
  });

  it('needs of the source what it computes with, in later epochs', async () => {
    await putStages(file, [{ job: 'llm', report: reader(9e6) }]);
    await write(named, { computeMBps: 6, quota: '1MB' });
    const { code, out } = await admit();
    expect(code).toBe(1);
    expect(out).toMatch(
      /^It does not fit: bert would have 8\d % of what its later epochs need of server:\/export\.$/m,
    );
    expect((await admit('--compute-mbps', '4')).code).toBe(0);
    // Those are from its tier.
    await write(named, { computeMBps: 6 });
    expect((await admit()).code).toBe(0);
  });

  it('[U9] takes the terms, the source and the registry of the file, and flags before them', async () => {
    const source = await sourceNameOf(`file://${directory}/data/`);
    await write({ weight: 3, atMost: { bytesPerSecond: '8MB' } });
    await putStages(file, [{ job: 'llm', source, report: reader(9e6) }]);
    const said = await found();
    expect(said).toMatchObject({ source, fits: false, effects: [{ job: 'bert' }, { job: 'llm' }] });
    expect(said.effects[0]?.after.bytes).toBeCloseTo(0.75 * 9.85e6);
    const { effects, fits } = await found('--weight', '1', '--at-most', '3MB', '--job', 'other');
    expect([fits, effects[0]?.job, effects[0]?.after.bytes]).toEqual([true, 'other', 3e6]);
    const wrong = await admit('--priority', '1.5');
    expect(wrong).toMatchObject({ code: 2, out: '' });
    expect(wrong.messages).toContain('priority: expected a whole number from -100 to 100');
  });

  it('needs no other job, where the file says what the source gives', async () => {
    await putStages(file, []);
    await write({ source: { name: 'new', budget: { bytesPerSecond: '5MB' } } });
    expect((await admit()).out).toMatch(/^It fits: no other job reads from new now\.$/m);
    const { fits, budget, forecast } = await found();
    expect([fits, budget.bytes]).toEqual([true, 5e6]);
    expect(forecast.alone.firstSeconds).toBeCloseTo(4, 1);
    await write({ source: { name: 'new' } });
    expect(await admit()).toMatchObject({
      code: 1,
      messages: expect.stringContaining('No job reads from new now'),
    });
  });
});
