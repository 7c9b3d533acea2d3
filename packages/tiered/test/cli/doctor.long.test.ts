import { someBytes } from '@tiered/core/testing';
import { S3Server, type S3ServerOptions } from '@tiered/s3-server';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Finding } from '../../src/doctor/finding.js';
import { snapshotOf } from '../doctor/snapshot.js';
import { tiered } from './run-tiered.js';

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'tiered-doctor-test-'));
  file = path.join(directory, 'tiers.json');
  await mkdir(path.join(directory, 'data'));
  for (let i = 0; i < 4; i++) await writeFile(path.join(directory, 'data', `${i}`), someBytes(10_000, i));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

const SOURCE = { driver: 'fs', root: 'data' };
const CACHE = { driver: 'fs', root: 'cache', quota: '10MB' };

const configure = (config: object) => writeFile(file, JSON.stringify(config));

async function findings(...args: string[]): Promise<{ code: number; findings: Finding[] }> {
  const { code, out } = await tiered('doctor', file, '--json', ...args);
  return { code, ...(JSON.parse(out) as { findings: Finding[] }) };
}

const problemsIn = (found: readonly Finding[]) => found.filter(({ level }) => level === 'problem');

describe('tiered doctor', () => {
  it('finds nothing wrong with what works, and changes nothing', async () => {
    await configure({ source: SOURCE, tiers: [{ driver: 'memory', quota: '1MiB' }, CACHE] });
    expect((await tiered('warmup', file)).code).toBe(0);
    const before = await snapshotOf(directory);
    const { code, out, messages } = await tiered('doctor', file);
    expect({ code, messages }).toEqual({ code: 0, messages: '' });
    expect(out).toMatch(
      /^configuration\n {2}ok {7}a source and 2 tiers\nsource\n {2}ok {7}data: the first 4 objects/,
    );
    expect(out).toContain("cache is a tier's, and can be written to");
    expect(out).toContain('a tier in a temporary directory was filled and read');
    expect(out).toContain('the source has 4 objects, 39.1 KiB, and the tiers have room for all of it');
    expect(out).toContain('100 % of the objects have at most 256 KiB');
    expect(out).toContain('"tiered run" ');
    expect(await snapshotOf(directory)).toEqual(before);
  });

  it('makes no directory, and says that it would be made', async () => {
    await configure({ source: SOURCE, tiers: [{ ...CACHE, root: 'new/cache' }] });
    const before = await snapshotOf(directory);
    const { code, findings: found } = await findings();
    expect(code).toBe(0);
    expect(found).toContainEqual({
      level: 'ok',
      about: 'tier 0',
      found: 'new/cache is not there yet, and can be made',
    });
    expect(await snapshotOf(directory)).toEqual(before);
  });

  it('says everything that is wrong with a configuration, with exit code 2', async () => {
    vi.stubEnv('DOCTOR_CACHE', undefined);
    await configure({ source: { driver: 'fs' }, tiers: [{ ...CACHE, root: '${DOCTOR_CACHE}' }] });
    const { code, findings: found } = await findings();
    expect(code).toBe(2);
    expect(problemsIn(found).map((one) => one.found)).toEqual([
      expect.stringContaining('source.root: missing'),
      expect.stringContaining('the environment variable DOCTOR_CACHE is not set'),
    ]);
    expect(problemsIn(found)[1]?.advice).toContain('Set it');
    const { messages } = await tiered('doctor', file);
    expect(messages).toBe('There are 2 problems.\n');
    expect((await tiered('doctor', path.join(directory, 'none.yaml'))).code).toBe(2);
    expect((await tiered('doctor', file, '--timeout', 'long')).code).toBe(2);
  });

  it('says what is wrong with directories, with exit code 1', async () => {
    for (const name of ['file', 'other']) await writeFile(path.join(directory, name), 'x');
    await mkdir(path.join(directory, 'mine'));
    await writeFile(path.join(directory, 'mine/letter'), 'x');
    const tier = (root: string) => ({ ...CACHE, root });
    await configure({
      source: { ...SOURCE, root: 'gone' },
      tiers: [tier('file'), tier('other/below'), tier('mine')],
    });
    const before = await snapshotOf(directory);
    const { code, findings: found } = await findings();
    expect(code).toBe(1);
    expect(problemsIn(found).map(({ about, found: text }) => `${about}: ${text}`)).toEqual([
      'source: gone: there is no such directory; check the path, and that it is mounted',
      'tier 0: file: a file stands where a directory must be',
      'tier 1: other/below: a file stands where a directory must be',
      'tier 2: mine holds files that no tier wrote',
    ]);
    expect(await snapshotOf(directory)).toEqual(before);
  });

  it('warns of quotas that the disk has no room for, and of a tier beside its source', async () => {
    await configure({ source: SOURCE, tiers: [{ ...CACHE, quota: '9PB' }] });
    const { code, findings: found } = await findings();
    expect(code).toBe(0);
    const warnings = found.filter(({ level, about }) => level === 'warning' && about === 'tier 0');
    expect(warnings.map(({ found: text }) => text)).toEqual([
      expect.stringMatching(/^its quota is 8 PiB, and cache has .* free$/),
      'cache is on the same file system as the source',
    ]);
  });

  it.skipIf(!existsSync('/dev/shm'))('counts a tier on tmpfs as memory', async () => {
    const root = await mkdtemp('/dev/shm/tiered-doctor-test-');
    onTestFinished(() => rm(root, { recursive: true }));
    await configure({ source: SOURCE, tiers: [{ ...CACHE, root, quota: '1PB' }] });
    const { code, findings: found } = await findings();
    expect(code).toBe(1);
    expect(found).toContainEqual(
      expect.objectContaining({
        level: 'note',
        about: 'tier 0',
        found: `${root} is memory (tmpfs): its quota counts as RAM`,
      }),
    );
    expect(problemsIn(found)).toEqual([
      expect.objectContaining({
        about: 'machine',
        found: expect.stringContaining('tier 0 909.5 TiB, prefetcher'),
      }),
    ]);
  });
});

describe('a bucket', () => {
  async function bucket(options: S3ServerOptions = {}): Promise<S3Server> {
    const server = await S3Server.start(options);
    onTestFinished(() => server.close());
    server.createBucket('data');
    server.put('data', 'train/a', someBytes(1000, 1));
    server.createBucket('cache');
    vi.stubEnv('AWS_ACCESS_KEY_ID', server.credentials.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.credentials.secretAccessKey);
    await configure({
      source: { driver: 's3', bucket: 'data', prefix: 'train/', endpoint: server.endpoint, proxy: 'none' },
      tiers: [{ driver: 's3', bucket: 'cache', endpoint: server.endpoint, proxy: 'none', quota: '1GB' }],
    });
    return server;
  }

  it('is listed and read, and nothing is written to it', async () => {
    const server = await bucket();
    const { code, findings: found } = await findings();
    expect(code).toBe(0);
    const texts = found.filter(({ about }) => about === 'source').map((one) => one.found);
    expect(texts).toEqual([
      expect.stringMatching(/^s3 data\/train: the first 1 objects listed .* the first 1000 B of one read/),
      'credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
      "the clock of this machine agrees with the server's",
    ]);
    expect(found).toContainEqual(
      expect.objectContaining({
        about: 'tier 0',
        found: 's3 cache is empty; nothing was written to try that',
      }),
    );
    expect(server.keys('cache')).toEqual([]);
    server.put('cache', 'somebody', someBytes(1, 1));
    expect(problemsIn((await findings()).findings)).toEqual([
      expect.objectContaining({ about: 'tier 0', found: 's3 cache holds objects that no tier wrote' }),
    ]);
    server.put('cache', '.tiered/owner', someBytes(1, 1));
    expect((await findings()).code).toBe(0);
  });

  it('that refuses the credentials: what to do, and no secret', async () => {
    await bucket();
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'another-secret-than-yours');
    const { code, out, messages } = await tiered('doctor', file);
    expect(code).toBe(1);
    expect(messages).toBe('There are 2 problems.\n');
    expect(out).toContain('the signature is refused; check the secret key');
    expect(out).toContain('or the profile');
    expect(out).not.toContain('another-secret');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
    expect((await tiered('doctor', file)).out).toContain(
      'AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not',
    );
  });

  it('whose clock is 20 minutes ahead', async () => {
    await bucket({ clockSkewMs: 20 * 60_000 });
    const { code, findings: found } = await findings();
    expect(code).toBe(1);
    expect(problemsIn(found).map(({ about, found: text }) => `${about}: ${text}`)).toEqual([
      "source: the clock of this machine is 20 minutes behind the server's",
      "tier 0: the clock of this machine is 20 minutes behind the server's",
    ]);
  });

  it('that does not answer is not waited for', async () => {
    await bucket({ faults: [{ fault: { kind: 'latency', medianMs: 3_600_000 } }] });
    const { code, findings: found } = await findings('--timeout', '0.2');
    expect(code).toBe(1);
    expect(problemsIn(found)[0]).toMatchObject({
      about: 'source',
      found: 's3 data/train: it did not answer within 0.2 s',
      advice: expect.stringContaining('--timeout'),
    });
  });
});

describe('tiered doctor --bundle', () => {
  it('writes a report that only its owner can read, and replaces none', async () => {
    vi.stubEnv('DOCTOR_DATA', 'data');
    await configure({ source: { ...SOURCE, root: '${DOCTOR_DATA}' }, tiers: [CACHE] });
    const plain = path.join(directory, 'report.json');
    const { code, messages } = await tiered('doctor', file, '--bundle', plain);
    expect(code).toBe(0);
    expect(messages).toContain('report.json is written, without secrets');
    expect((await stat(plain)).mode & 0o777).toBe(0o600);
    const bundle = JSON.parse(await readFile(plain, 'utf8')) as object;
    expect(bundle).toMatchObject({
      bundle: 1,
      versions: {
        node: process.versions.node,
        '@tiered/core': expect.any(String),
        '@tiered/loader': expect.any(String),
      },
      machine: { platform: process.platform, cores: expect.any(Number) },
      configuration: { source: { driver: 'fs', root: '${DOCTOR_DATA}' }, tiers: [CACHE] },
      variables: ['DOCTOR_DATA'],
      levels: [{ name: 'source' }, { name: 'tier 0', state: 'missing', quotaBytes: 10_000_000 }],
    });
    const again = await tiered('doctor', file, '--bundle', plain);
    expect(again).toMatchObject({ code: 2, out: '' });
    expect(again.messages).toContain('it is there already');
    const packed = path.join(directory, 'report.json.gz');
    expect((await tiered('doctor', file, '--bundle', packed)).code).toBe(0);
    expect(JSON.parse(gunzipSync(await readFile(packed)).toString())).toHaveProperty('bundle', 1);
    const nowhere = await tiered('doctor', file, '--bundle', path.join(directory, 'no/report.json'));
    expect(nowhere.code).toBe(2);
    expect(nowhere.messages).toContain('there is no such directory');
  });

  it('has no name of the user or the machine, and no home directory', async () => {
    vi.stubEnv('HOME', directory);
    const source = path.join(directory, 'data');
    await configure({
      source: { ...SOURCE, root: source },
      tiers: [{ ...CACHE, root: `/gone/${os.hostname()}/x` }],
    });
    const report = path.join(directory, 'report.json');
    await tiered('doctor', file, '--bundle', report);
    const text = await readFile(report, 'utf8');
    expect(JSON.parse(text)).toMatchObject({
      configuration: { source: { root: '~/data' }, tiers: [{ root: '/gone/<host>/x' }] },
    });
    expect(text).not.toContain(directory);
    expect(text).not.toContain(os.hostname());
  });

  it('has what is known of a configuration that cannot work', async () => {
    await configure({ source: { driver: 'fs', password: 'hunter2 hunter2' } });
    const plain = path.join(directory, 'report.json');
    expect((await tiered('doctor', file, '--bundle', plain)).code).toBe(2);
    expect(JSON.parse(await readFile(plain, 'utf8'))).toMatchObject({
      configuration: { source: { driver: 'fs', password: 'removed' } },
      levels: [],
    });
  });
});
