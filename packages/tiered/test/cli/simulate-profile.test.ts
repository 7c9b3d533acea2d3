import type { HierarchyConfig } from '@tiered/config';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { simulated } from './run-tiered.js';

let directory: string;
let config: string;
let profile: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-what-if-'));
  config = path.join(directory, 'tiers.json');
  profile = path.join(directory, 'profile.json');
  await mkdir(path.join(directory, 'data'));
  // 20 objects of 1 MB, of which the RAM tier holds 4 and the disk tier 6.
  for (let i = 0; i < 20; i++) await writeFile(path.join(directory, `data/${i}`), Buffer.alloc(1e6));
  const tiers = [
    { driver: 'memory', quota: '4MB' },
    { driver: 'fs', root: 'cache', quota: '6MB' },
  ];
  await writeFile(
    config,
    JSON.stringify({ source: { driver: 'fs', root: 'data' }, tiers, placement: { chunk: '1MB' } }),
  );
  const flat = (rate: number) => ({ points: [[1, rate]] });
  await writeFile(
    profile,
    JSON.stringify({
      version: 1,
      objectBytes: 1e6,
      source: { name: 'fs', read: flat(10) },
      tiers: [
        { name: 'memory', read: flat(10_000) },
        { name: 'fs', read: flat(1000) },
      ],
    }),
  );
});
afterEach(() => rm(directory, { recursive: true }));

const simulate = (...args: string[]) =>
  simulated('simulate', 'profile', profile, '--config', config, '--epochs', '5', ...args);

interface Row {
  readonly setup: string;
  readonly result: {
    readonly seconds: number;
    readonly sources: readonly { readonly from: string; readonly megabytes: number }[];
  };
}

describe('tiered simulate profile', () => {
  it('answers in words what other quotas would bring', async () => {
    const { code, out } = await simulate('--what-if', 'ram=4MB,14MB', 'disk=6MB');
    expect(code).toBe(0);
    const [today, same, more] = out.split('\n');
    expect(today).toMatch(/^today, for 5 epochs: \d+\.\d s, .* from the source$/);
    expect(same).toMatch(/^with ram 4 MB, disk 6 MB: no difference /);
    expect(more).toMatch(/^with ram 14 MB, disk 6 MB: \d\d % less time /);
  });

  it('reads from the source what does not fit, in each epoch after the first', async () => {
    const { out } = await simulate('--what-if', 'ram=15MB', '--json');
    const rows = JSON.parse(out) as Row[];
    const megabytes = rows.map(
      ({ result }) => result.sources.find(({ from }) => from === 'source')?.megabytes ?? 0,
    );
    expect(rows.map(({ setup }) => setup)).toEqual(['today', 'ram 15 MB']);
    // The disk has room for five of six, as its index and its log take some.
    expect(megabytes[0]).toBeCloseTo(20 + 4 * 11, 6);
    expect(megabytes[1]).toBeCloseTo(20, 6);
    // The source gives 10 MB/s, and all else next to nothing.
    expect(rows[0]?.result.seconds).toBeCloseTo(6, 0);
    expect(rows[1]?.result.seconds).toBeCloseTo(2, 0);
  });

  it('answers what a faster source would bring, in MB/s', async () => {
    const { out } = await simulate('--what-if', 'source=20MB');
    expect(out).toMatch(/^with source 20 MB\/s: (49|50) % less time /m);
  });

  it('takes quotas that are shares', async () => {
    const { source, tiers, placement } = JSON.parse(await readFile(config, 'utf8')) as HierarchyConfig;
    const [, disk] = tiers ?? [];
    const half = { driver: 'memory', quota: '50%' };
    await writeFile(config, JSON.stringify({ source, tiers: [half, disk], placement }));
    const [row] = JSON.parse((await simulate('--json')).out) as Row[];
    const fromSource = row?.result.sources.find(({ from }) => from === 'source');
    expect(fromSource?.megabytes, 'the first epoch only').toBeCloseTo(20, 6);
  });

  it('draws a chart', async () => {
    const svg = path.join(directory, 'chart.svg');
    expect((await simulate('--svg', svg)).code).toBe(0);
    expect(await readFile(svg, 'utf8')).toMatch(/^<svg /);
  });

  it('refuses a change without a unit, which scenarios take for GB', async () => {
    const { code, messages } = await simulate('--what-if', 'ram=10,20GB');
    expect(code).toBe(2);
    expect(messages).toContain('--what-if: expected a unit, such as ram=10GB, got "ram=10,20GB"');
  });

  it('refuses what it cannot simulate, with exit code 2', async () => {
    for (const change of ['ram', 'ram=much', 'tape=1GB']) {
      const { code, messages } = await simulate('--what-if', change);
      expect(code, change).toBe(2);
      expect(messages).not.toBe('');
    }
    await writeFile(profile, '{}');
    const { code, messages } = await simulate();
    expect(code).toBe(2);
    expect(messages).toContain('profile.version');
  });
});
