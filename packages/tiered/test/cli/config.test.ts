import { formatBytes } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tiered } from './run-tiered.js';

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-config-'));
  file = path.join(directory, 'tiers.yaml');
  await mkdir(path.join(directory, 'data/train'), { recursive: true });
  for (let i = 0; i < 4; i++) await writeFile(path.join(directory, `data/train/${i}`), someBytes(10_000, i));
  await writeFile(path.join(directory, 'data/other'), someBytes(10_000, 9));
});
afterEach(() => rm(directory, { recursive: true }));

const init = (...args: string[]) =>
  tiered('config', 'init', file, '--source', path.join(directory, 'data'), ...args);
const cache = () => `${path.join(directory, 'cache')}:10MB`;

describe('tiered config', () => {
  it('writes a configuration that check takes', async () => {
    expect(await init('--tier', 'ram:1MiB', '--tier', cache())).toMatchObject({ code: 0, messages: '' });
    const { code, out } = await tiered('config', 'check', file);
    expect(code).toBe(0);
    expect(out.split('\n').slice(1, 4)).toEqual([
      'tier 0: memory, 1 MiB',
      `tier 1: fs:${path.join(directory, 'cache')}, 9.5 MiB`,
      `source: fs:${path.join(directory, 'data')}`,
    ]);
    const { levels } = JSON.parse((await tiered('config', 'check', file, '--json')).out) as {
      levels: unknown[];
    };
    expect(levels[1]).toEqual({
      level: 1,
      driver: `fs:${path.join(directory, 'cache')}`,
      quotaBytes: 10_000_000,
    });
  });

  it('says of a share how many bytes it is', async () => {
    expect((await init('--tier', 'ram:50%', '--tier', `${path.join(directory, 'cache')}:80 %`)).code).toBe(0);
    const { levels } = JSON.parse((await tiered('config', 'check', file, '--json')).out) as {
      levels: { quotaBytes: number; quotaPercent: number }[];
    };
    const { blocks, bsize } = await statfs(directory);
    expect(levels[0]).toMatchObject({ quotaPercent: 50 });
    expect(levels[1]).toMatchObject({
      quotaBytes: Math.floor(blocks * bsize * 0.8),
      quotaPercent: 80,
    });
    const sizes = levels.map(({ quotaBytes }) => formatBytes(quotaBytes));
    expect((await tiered('config', 'check', file)).out.split('\n').slice(1, 3)).toEqual([
      `tier 0: memory, 50% = ${sizes[0]}`,
      `tier 1: fs:${path.join(directory, 'cache')}, 80% = ${sizes[1]}`,
    ]);
    expect((await init('--tier', 'ram:101%')).code).toBe(2);
  });

  it('names directories as they are seen from the file', async () => {
    const inside = path.join(directory, 'conf/tiers.json');
    await mkdir(path.dirname(inside));
    const relative = path.relative('.', path.join(directory, 'data'));
    const tier = `${path.relative('.', path.join(directory, 'cache'))}:10MB`;
    expect(await tiered('config', 'init', inside, '--source', relative, '--tier', tier)).toMatchObject({
      code: 0,
    });
    expect(JSON.parse(await readFile(inside, 'utf8'))).toMatchObject({
      source: { root: '../data' },
      tiers: [{ root: '../cache' }],
    });
    expect((await tiered('stats', inside)).out).toContain('5 objects');
  });

  it('leaves no file that cannot work, and says at once why', async () => {
    const inside = `${path.join(directory, 'data/cache')}:10MB`;
    const { code, out, messages } = await init('--tier', inside);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(messages).toContain('tiers[0]: its storage is inside source');
    expect(messages).toContain(`${file} is not written.`);
    await expect(readFile(file)).rejects.toMatchObject({ code: 'ENOENT' });
    await writeFile(file, 'mine');
    expect((await init('--force', '--tier', `${path.join(directory, 'cache')}:6`)).messages).toContain(
      'tiers[0].quota: expected at least one chunk',
    );
    expect(await readFile(file, 'utf8')).toBe('mine');
  });

  it('replaces a file only if it is told to', async () => {
    await writeFile(file, 'mine');
    const refused = await init();
    expect(refused.code).toBe(2);
    expect(refused.messages).toContain('--force replaces it');
    expect(await readFile(file, 'utf8')).toBe('mine');
    expect((await init('--force')).code).toBe(0);
    expect(await readFile(file, 'utf8')).toContain('driver: fs');
  });

  it('says everything that is wrong, with its line', async () => {
    await writeFile(file, 'source:\n  driver: fs\ntiers:\n  - driver: memory\n    quota: much\n');
    const { code, messages } = await tiered('config', 'check', file);
    expect(code).toBe(2);
    for (const told of ['source.root', 'tiers[0].quota', ':5:']) expect(messages).toContain(told);
  });

  it('prints the JSON Schema', async () => {
    const schema = JSON.parse((await tiered('config', 'schema')).out) as { properties: object };
    expect(Object.keys(schema.properties)).toContain('tiers');
  });
});

describe('tiered warmup and tiered stats', () => {
  it('refuse a configuration that cannot work, and fail where the source is gone', async () => {
    expect((await tiered('stats', path.join(directory, 'none.yaml'))).code).toBe(2);
    await init();
    await rm(path.join(directory, 'data'), { recursive: true });
    for (const command of ['stats', 'warmup']) expect((await tiered(command, file)).code).toBe(1);
  });
});

describe('the program', () => {
  const bin = path.join(import.meta.dirname, '../../bin/tiered.js');

  it('runs as it is installed, and from sources', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [bin, '--help']);
    for (const told of [
      'config',
      'doctor',
      'warmup',
      'stats',
      'calibrate',
      'bench',
      'simulate',
      'Exit codes',
    ])
      expect(stdout).toContain(told);
    const { version } = JSON.parse(await readFile(path.join(bin, '../../package.json'), 'utf8')) as {
      readonly version: string;
    };
    expect((await promisify(execFile)(process.execPath, [bin, '--version'])).stdout).toMatch(
      version === '0.0.0' ? /^not released yet/ : version,
    );
    const failed = promisify(execFile)(process.execPath, [
      bin,
      'config',
      'check',
      path.join(directory, 'no'),
    ]);
    await expect(failed).rejects.toMatchObject({ code: 2 });
  });

  it('ends without an error when nobody reads on', async () => {
    const { stdout, stderr } = await promisify(execFile)('sh', [
      '-c',
      `{ "$0" "$1" config schema; echo "exit code $?" >&2; } | head -c 1`,
      process.execPath,
      bin,
    ]);
    expect(stdout).toBe('{');
    expect(stderr).toBe('exit code 0\n');
  });

  it('says its version, and of what was not released that it was not, and which commit it is', async () => {
    const { code, out } = await tiered('--version');
    expect(code).toBe(0);
    expect(out).toMatch(
      /^([1-9]\d*\.\d+\.\d+|0\.[1-9]\d*\.\d+|not released yet(, commit [\da-f]{7,40})?)\n$/,
    );
  });

  it('explains itself without arguments, and refuses what it does not know', async () => {
    expect((await tiered()).messages).toContain('Usage: tiered');
    const unknown = await tiered('warmpu');
    expect(unknown.code).toBe(2);
    expect(unknown.messages).toContain('warmup');
  });
});
