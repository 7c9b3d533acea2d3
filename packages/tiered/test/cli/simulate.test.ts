import { parseSimulation } from '@tiered/simulator/config';
import { ault, SCENARIOS } from '@tiered/simulator/model';
import { STRATEGIES } from '@tiered/simulator/strategies';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { simulated } from './run-tiered.js';

const command = (...args: string[]) => simulated('simulate', ...args);

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-simulate-'));
});
afterEach(() => rm(directory, { recursive: true }));

const document = {
  dataset: { samples: 200, meanMB: 1, sigmaMB: 0.2 },
  system: ault,
  epochs: 2,
  batchSize: 8,
  policies: ['naive', { policy: 'nopfs', filledBy: 'itself' }, { policy: 'locality-aware', keeps: 'all' }],
};

describe('tiered simulate', () => {
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

  it('has the scenarios that its help names', async () => {
    expect(SCENARIOS.map(({ name }) => name)).toEqual(['1', '2', '3', '3-places', '4', '5']);
    expect((await command('scenario', '9')).messages).toContain('There is no scenario "9": 1 (');
  });

  it('ends with exit code 2 where a file cannot be read', async () => {
    expect((await command('file', path.join(directory, 'none.json'))).code).toBe(2);
  });
});
