import { someBytes } from '@tiered/core/testing';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { interruptedAt, MEASURED_UNTIL_SIGINT } from './interrupted.js';
import { tiered } from './run-tiered.js';

const OBJECTS = 40;

let directory: string;
let file: string;
const cache = () => path.join(directory, 'cache');
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-interrupt-'));
  file = path.join(directory, 'tiers.json');
  await mkdir(path.join(directory, 'data/train'), { recursive: true });
  // The directory is there, so that it can be watched.
  await mkdir(cache());
  for (let i = 0; i < OBJECTS; i++)
    await writeFile(path.join(directory, `data/train/${i}`), someBytes(10_000, i));
});
afterEach(() => rm(directory, { recursive: true }));

const TIERS = [{ driver: 'fs', root: 'cache', quota: '10MB' }];
const ENDED = { code: 130, out: '', messages: expect.stringMatching(MEASURED_UNTIL_SIGINT) };

describe('Ctrl-C', () => {
  it('ends a calibration, which leaves nothing on the tier', async () => {
    await writeFile(file, JSON.stringify({ source: { driver: 'fs', root: 'data' }, tiers: TIERS }));
    const args = ['calibrate', file, '--seconds', '60', '-o', path.join(directory, 'profile.json')];
    expect(await interruptedAt(cache(), 'tiered-calibration', args)).toEqual(ENDED);
    const left = await readdir(cache(), { recursive: true });
    expect(left.filter((name) => name.includes('calibration'))).toEqual([]);
    expect((await readdir(directory)).sort()).toEqual(['cache', 'data', 'tiers.json']);
  });

  it('ends a warmup, which leaves what it placed, and nobody who claims room', async () => {
    // Fills for 40 seconds, if it is not ended.
    const source = { driver: 'fs', root: 'data', throttle: { bytesPerSecond: '10kB' } };
    await writeFile(file, JSON.stringify({ source, tiers: TIERS }));
    const { code, out, messages } = await interruptedAt(cache(), 'train', ['warmup', file]);
    expect({ code, out }).toEqual({ code: 130, out: '' });
    const [, placed] =
      /^Ended by SIGINT\. (\d+) of 40 objects are on tiers and stay there, .* fetched\. The same command goes on from there\.\n$/.exec(
        messages,
      ) ?? [];
    expect(Number(placed)).toBeLessThan(OBJECTS);
    const { tiers } = JSON.parse((await tiered('stats', file, '--json')).out) as {
      readonly tiers: readonly {
        readonly summary?: {
          readonly members: readonly unknown[];
          readonly datasets: readonly { copies: number }[];
        };
      }[];
    };
    expect(tiers[0]?.summary?.members).toEqual([]);
    // What was on its way when it was counted may be there since.
    expect(tiers[0]?.summary?.datasets[0]?.copies ?? 0).toBeGreaterThanOrEqual(Number(placed));
  });
});
