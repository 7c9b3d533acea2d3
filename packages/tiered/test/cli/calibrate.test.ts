import { someBytes } from '@tiered/core/testing';
import { parseProfile } from '@tiered/simulator/calibration';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tiered } from './run-tiered.js';

const command = (...args: string[]) => tiered('calibrate', ...args);

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-calibrate-'));
  await mkdir(path.join(directory, 'dataset'));
  for (let i = 0; i < 4; i++) await writeFile(path.join(directory, 'dataset', `${i}`), someBytes(10_000, i));
});
afterEach(() => rm(directory, { recursive: true }));

const CONFIG = {
  source: { driver: 'fs', root: 'dataset' },
  tiers: [{ driver: 'fs', root: 'cache', quota: '10MB' }],
  placement: {},
};

async function configured(config: object): Promise<string> {
  const file = path.join(directory, 'tiers.json');
  await writeFile(file, JSON.stringify(config));
  return file;
}

describe('tiered calibrate', () => {
  it('measures the levels of a configuration, and leaves the tier as it was', async () => {
    const out = path.join(directory, 'profile.json');
    const file = await configured(CONFIG);
    expect(await command(file, '--seconds', '0.2', '--bytes', '10MB', '--out', out)).toMatchObject({
      code: 0,
      out: `${out} is written; "tiered simulate profile ${out} --config ${file}" says what other quotas would bring\n`,
    });
    const profile = parseProfile(JSON.parse(await readFile(out, 'utf8')));
    expect(profile.tiers).toHaveLength(1);
    expect(profile.objectBytes).toBe(10_000);
    for (const { read } of [profile.source, ...profile.tiers])
      for (const [, rate] of read.points) expect(rate).toBeGreaterThan(0);
    const left = await readdir(path.join(directory, 'cache'), { recursive: true });
    expect(left.filter((name) => name.startsWith('tiered-calibration'))).toEqual([]);
  });

  it('measures nothing for a file that cannot be written, and leaves one that is there as it is', async () => {
    const file = await configured(CONFIG);
    await writeFile(path.join(directory, 'profile.json'), 'of before');
    for (const [out, told] of [
      ['missing/profile.json', 'there is no such directory'],
      ['profile.json/new.json', 'a file stands where a directory must be'],
      ['dataset', 'that is a directory'],
    ] as const) {
      const refused = await command(file, '--seconds', '1000', '--out', path.join(directory, out));
      expect(refused).toMatchObject({ code: 2, out: '' });
      expect(refused.messages).toContain(`--out: ${path.join(directory, out)} cannot be written: ${told}`);
      expect(refused.messages).not.toContain('measuring');
    }
    await rm(path.join(directory, 'dataset'), { recursive: true });
    for (const out of ['profile.json', 'other.json'])
      expect((await command(file, '--out', path.join(directory, out))).code).toBeGreaterThan(0);
    expect(await readFile(path.join(directory, 'profile.json'), 'utf8')).toBe('of before');
    expect((await readdir(directory)).sort()).toEqual(['profile.json', 'tiers.json']);
  });

  it('says what is wrong, with exit code 2 for what cannot be asked', async () => {
    const file = await configured({ ...CONFIG, source: { driver: 'fs' } });
    const refused = await command(file);
    expect(refused.code).toBe(2);
    expect(refused.messages).toContain('root');
    expect((await command(await configured(CONFIG), '--seconds', 'few')).code).toBe(2);
    expect((await command()).code).toBe(2);
  });
});
