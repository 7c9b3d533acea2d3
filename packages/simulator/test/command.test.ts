import { ManualClock } from '@tiered/core/testing';
import { parseSimulation, strategyNamed } from '@tiered/simulator/config';
import { ault } from '@tiered/simulator/model';
import { STRATEGIES } from '@tiered/simulator/strategies';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { simulateCommand } from '../src/cli/command.js';
import { runCommand } from '../src/cli/host.js';
import { ProgressBar } from '../src/cli/progress.js';
import { parseChange, variantsOf } from '../src/engine/what-if.js';
import { textOf } from './text-of.js';

const invalid = expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' });

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-simulate-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function command(...args: string[]): Promise<{ code: number; out: string; messages: string }> {
  const written: string[] = [];
  const terminal = new PassThrough();
  const clock = new ManualClock();
  const host = { write: (text: string) => written.push(text), terminal, clock };
  const code = await clock.run(runCommand(simulateCommand(host), args, host));
  return { code, out: written.join(''), messages: textOf(terminal) };
}

const document = {
  dataset: { samples: 200, meanMB: 1, sigmaMB: 0.2 },
  system: ault,
  epochs: 2,
  batchSize: 8,
  policies: ['naive', { policy: 'nopfs', filledBy: 'itself' }, { policy: 'locality-aware', keeps: 'all' }],
};

describe('tiered-simulate', () => {
  it('prints a table of all policies of a scenario', async () => {
    const { code, out } = await command('scenario', '1', '--epochs', '1');
    expect(code).toBe(0);
    for (const { name } of STRATEGIES) expect(out).toContain(name);
    expect(out).toContain('no full randomization');
  });

  it('prints JSON with the figures of the policies that were asked for', async () => {
    const { out } = await command('scenario', '1', '--policies', 'perfect,lru', '--seed', '3', '--json');
    const rows = JSON.parse(out) as { result: { strategy: string; seconds: number } }[];
    expect(rows.map(({ result }) => result.strategy)).toEqual(['perfect', 'lru']);
    expect(rows[0]?.result.seconds).toBeGreaterThan(4);
  });

  it('prints CSV with as many cells in each line', async () => {
    const { out } = await command('scenario', '5', '--epochs', '1', '--csv');
    const lines = out.trimEnd().split('\r\n');
    expect(lines.length).toBe(1 + STRATEGIES.length);
    const cells = lines.map((line) => line.replaceAll(/"[^"]*"/g, 'quoted').split(',').length);
    expect(new Set(cells).size).toBe(1);
  });

  it('tries all combinations of what is changed by the policies of the file, with their options', async () => {
    const file = path.join(directory, 'simulation.json');
    await writeFile(file, JSON.stringify(document));
    const strategies = async (...args: string[]) => {
      const { out } = await command('file', file, '--what-if', 'ram=10,20', '--json', ...args);
      return (JSON.parse(out) as { result: { strategy: string } }[]).map(({ result }) => result.strategy);
    };
    const named = parseSimulation(document).strategies.map(({ name }) => name);
    expect(await strategies()).toEqual([...named, ...named]);
    expect(await strategies('--policies', 'perfect')).toEqual(['perfect', 'perfect']);
    const { policies, ...rest } = document;
    expect(policies).not.toHaveLength(0);
    await writeFile(file, JSON.stringify(rest));
    expect(await strategies()).toEqual(['nopfs', 'nopfs']);
  });

  it('tries all combinations of what is changed, by NoPFS', async () => {
    const { out } = await command('scenario', '1', '--what-if', 'ram=10,20', 'ssd=20,40', '--json');
    const rows = JSON.parse(out) as { setup: string; result: { strategy: string } }[];
    expect(rows.map(({ setup }) => setup)).toEqual([
      'ram 10 GB, ssd 20 GB',
      'ram 10 GB, ssd 40 GB',
      'ram 20 GB, ssd 20 GB',
      'ram 20 GB, ssd 40 GB',
    ]);
    expect(new Set(rows.map(({ result }) => result.strategy))).toEqual(new Set(['nopfs']));
  });

  it('draws a chart', async () => {
    const file = path.join(directory, 'chart.svg');
    await command('scenario', '1', '--epochs', '1', '--svg', file);
    const svg = await readFile(file, 'utf8');
    expect(svg).toMatch(/^<svg /);
    for (const text of ['nopfs', 'source', 'remote', 'ram', 'Scenario 1']) expect(svg).toContain(text);
  });

  it('simulates a file', async () => {
    const file = path.join(directory, 'mine.json');
    await writeFile(file, JSON.stringify(document));
    const { code, out } = await command('file', file, '--json');
    expect(code).toBe(0);
    expect((JSON.parse(out) as unknown[]).length).toBe(3);
  });

  it.each([
    [['scenario', '9']],
    [['scenario', '1', '--policies', 'best']],
    [['scenario', '1', '--epochs', 'x']],
    [['scenario', '1', '--what-if', 'tape=3']],
    [['scenario']],
  ])('refuses %j with exit code 2 and a message', async (args) => {
    const { code, out, messages } = await command(...args);
    expect([code, out]).toEqual([2, '']);
    expect(messages).not.toBe('');
  });

  it('ends with exit code 1 where a file cannot be read', async () => {
    expect((await command('file', path.join(directory, 'none.json'))).code).toBe(1);
  });
});

describe('the progress bar', () => {
  const drawn = async (isTTY: boolean, ms: number): Promise<string> => {
    const terminal = Object.assign(new PassThrough(), { isTTY });
    const clock = new ManualClock();
    const bar = new ProgressBar(terminal, clock, 'simulating');
    await clock.advance(ms);
    bar.update(1, 2);
    bar.stop();
    return textOf(terminal);
  };

  it('is drawn on a terminal after two seconds, and nowhere else', async () => {
    expect(await drawn(true, 2_000)).toContain('50 %');
    expect(await drawn(true, 1_999)).toBe('');
    expect(await drawn(false, 10_000)).toBe('');
  });
});

describe('parseSimulation', () => {
  it('takes policies by name and with options; all if none is named', () => {
    expect(parseSimulation(document).strategies.map(({ name }) => name)).toEqual([
      'naive',
      'nopfs',
      'locality-aware',
    ]);
    const { policies, ...rest } = document;
    expect(policies.length).toBe(3);
    expect(parseSimulation(rest).strategies).toEqual(STRATEGIES);
  });

  const falling = {
    points: [
      [2, 80],
      [1, 90],
    ],
  };
  it.each([
    ['epochs', { ...document, epochs: 0 }],
    ['dataset', { ...document, dataset: { samples: 3 } }],
    ['policies.0', { ...document, policies: [{ policy: 'lru', size: 3 }] }],
    ['system.source', { ...document, system: { ...ault, source: falling } }],
    ['system.workers', { ...document, system: { ...ault, workers: 1.5 } }],
    ['policies', { ...document, policies: ['best'] }],
    ['epoch', { ...document, epoch: 3 }],
    ['simulation', 'nothing'],
  ])('names %s where that cannot be', (field, value) => {
    expect(() => parseSimulation(value)).toThrow(invalid);
    expect(() => parseSimulation(value)).toThrow(field);
  });
});

describe('what if', () => {
  it('changes what it names and nothing else', () => {
    const [variant] = variantsOf(
      ault,
      ['ram=10', 'ssd.read=100', 'compute=50', 'workers=2', 'staging=4'].map(parseChange),
    );
    expect(variant?.system).toEqual({
      ...ault,
      workers: 2,
      computeMBps: 50,
      staging: { ...ault.staging, capacityMB: 4_000 },
      levels: [
        { ...ault.levels[0], capacityMB: 10_000 },
        { ...ault.levels[1], read: { points: [[2, 100]] } },
      ],
    });
  });

  it.each(['ram', 'ram=', 'ram=a', 'ram=0', 'tape=1', 'ram.write=3', 'workers=1.5'])('refuses %s', (text) => {
    expect(() => variantsOf(ault, [parseChange(text)])).toThrow(invalid);
  });
});

describe('strategyNamed', () => {
  it('refuses a name that none has', () => {
    expect(() => strategyNamed('best')).toThrow(invalid);
  });
});
