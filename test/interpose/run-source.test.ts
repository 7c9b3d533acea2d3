import { someBytes } from '@tiered/core/testing';
import { S3Server } from '@tiered/s3-server';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { describeShim, makeDataset, temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { KEYS, ONE_PROCESS, started, tiered, tieredIn, withConfig } from './tiered.js';

/** Lets a shell wait until a file is opened below a directory. */
const untilIn = (directory: string): string =>
  `until_copy() { until case $(readlink /proc/self/fd/0 <"$1") in ${directory}*) true;; *) false;; esac; do :; done; }`;

describeShim('tiered run with a source', () => {
  it('[I13] needs no configuration, and keeps tiers in memory as files that end with it', async () => {
    const { source } = makeDataset(KEYS);
    const script = `${untilIn('/dev/shm/tiered-memory-')}
      for file in "$TIERED_ROOT"/Set/*; do until_copy "$file"; done
      readlink /proc/self/fd/0 <"$TIERED_ROOT/${KEYS[0]}"; echo "root $TIERED_ROOT"`;
    const running = tiered('run', source, '--tier', 'ram:8MiB', '--', 'sh', '-c', script);
    expect(await running.ended).toBe(0);
    const [copy = '', root] = running.out().split('\n');
    expect(root).toBe(`root ${source}`);
    const [, memory = ''] = /^(\/dev\/shm\/tiered-memory-\w+)\/0\//.exec(copy) ?? [];
    expect([memory === '', fs.existsSync(memory)]).toEqual([false, false]);
  });

  it('[I13] keeps the tiers in memory of a configuration as files, also for a daemon', async () => {
    const { source } = makeDataset(KEYS);
    const config = path.join(temporaryDirectory(), 'tiers.json');
    const tiers = [{ driver: 'memory', name: 'fast', quota: '8MiB' }];
    fs.writeFileSync(config, JSON.stringify({ source: { driver: 'fs', root: source }, tiers }));
    const above = fs.mkdtempSync('/dev/shm/tiered-test-');
    onTestFinished(() => fs.rmSync(above, { recursive: true, force: true }));
    const at = path.join(above, 'session');
    const daemon = tiered('daemon', '--config', config, '--at', at);
    await daemon.says('ready');
    const script = `${untilIn('/dev/shm/tiered-memory-')}
      until_copy "$TIERED_ROOT/${KEYS[1]}"; echo "root $TIERED_ROOT"`;
    const running = tiered('run', '--at', at, '--', 'sh', '-c', script);
    expect([await running.ended, running.out()]).toEqual([0, `root ${source}\n`]);
    daemon.process.kill('SIGTERM');
    expect(await daemon.ended).toBe(0);
  });

  it('[I13] serves a bucket below a root that it tells', async () => {
    const server = await S3Server.start();
    onTestFinished(() => server.close());
    server.createBucket('data');
    const { accessKeyId, secretAccessKey } = server.credentials;
    const env = {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_ENDPOINT_URL: server.endpoint,
      AWS_REGION: server.region,
      no_proxy: '127.0.0.1',
    };
    for (const [i, key] of KEYS.entries()) server.put('data', `train/${key}`, someBytes(900 + i, i));
    const cache = path.join(temporaryDirectory(), 'cache');
    const script = 'echo "$TIERED_ROOT"; cd "$TIERED_ROOT/Set" && cat * | wc -c';
    const options = ['s3://data/train', '--tier', `${cache}:8MiB`];
    const running = tieredIn(env, 'run', ...options, '--', 'sh', '-c', script);
    expect([await running.ended, running.messages()]).toEqual([
      0,
      expect.stringMatching(
        /^The objects of s3:\S+ are files below \/tiered\/data\/train \(\$TIERED_ROOT\)\.\n/,
      ),
    ]);
    const bytes = KEYS.reduce((sum, _, i) => sum + 900 + i, 0);
    expect(running.out()).toBe(`/tiered/data/train\n${bytes}\n`);
    expect(fs.readdirSync(cache)).not.toEqual([]);
  });

  it('[I13] keeps a list of the objects in a manifest, and starts from it', async () => {
    const { source } = makeDataset(KEYS);
    const manifest = path.join(temporaryDirectory(), 'objects.manifest');
    const args = ['run', source, '--tier', 'ram:8MiB', '--manifest', manifest, '--json', '--'];
    const first = tiered(...args, 'true');
    expect([await first.ended, fs.existsSync(manifest)]).toEqual([0, true]);
    fs.writeFileSync(path.join(source, 'new'), 'not listed');
    const second = tiered(...args, 'true');
    expect(await second.ended).toBe(0);
    expect(JSON.parse(second.messages())).toMatchObject({
      hierarchy: { namespace: { objects: KEYS.length } },
    });
  });

  it.each([
    ['a source without tiers', ['/data', '--', 'true'], 'Name the tiers of /data, such as --tier'],
    ['no program', ['/data', '--tier', 'ram:1MiB'], 'give a source and a program'],
    ['a tier without a quota', ['/data', '--tier', '/cache', '--', 'true'], 'a place and its quota'],
    [
      'tiers beside a configuration',
      ['--config', 'x', '--tier', 'ram:1MiB', '--', 'true'],
      '--config: cannot be combined with a source',
    ],
    [
      'a program in place of a source',
      ['--tier', 'ram:1MiB', '--', 'python3', '-c', 'pass'],
      '(python3 was taken for the source: tiered run SOURCE --tier ... -- PROGRAM)',
    ],
    [
      'a source beside a configuration',
      ['--config', 'x', '/etc', '--', 'true'],
      'tiered run: /etc is no program; with --config and --at, the source is left out',
    ],
    [
      'a summary of a daemon',
      ['--at', 'x', '--json', '--', 'true'],
      '--json: there is no summary beside --at',
    ],
  ])('refuses %s', async (_, args, expected) => {
    const running = tiered('run', ...args);
    expect([await running.ended, running.messages()]).toEqual([2, expect.stringContaining(expected)]);
  });

  it('gives options behind the program to the program, with a source and without --', async () => {
    const { source } = makeDataset(KEYS);
    const running = tiered('run', '--quiet', source, '--tier', 'ram:1MiB', 'echo', '--tier', 'x', '--', 'y');
    expect([await running.ended, running.out()]).toEqual([0, '--tier x -- y\n']);
  });
});

describeShim('tiered run', () => {
  it('[I14] passes files on that it was given by numbers', async () => {
    const { config } = withConfig();
    const given = path.join(temporaryDirectory(), 'given');
    fs.writeFileSync(given, 'given\n');
    const words = [...ONE_PROCESS, 'run', '--config', config, '--', 'sh', '-c', 'cat <&9; echo told >&7'];
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const running = started(['sh', '-c', `{ ${quoted} 9<'${given}' 7>&1 >/dev/null | cat; } 2>/dev/null`]);
    expect(await running.ended).toBe(0);
    // What was written to standard output is nowhere.
    expect(running.out()).toBe('told\n');
    const alone = started(['sh', '-c', `exec ${quoted} 9<'${given}' 7>&2`]);
    expect([await alone.ended, alone.out()]).toEqual([0, 'given\n']);
    expect(alone.messages()).toContain('told\n');
  });

  it('[I14] passes a pipe on whose ends both are given, and that of the jobs of make wherever it is', async () => {
    const { config } = withConfig();
    const words = [...ONE_PROCESS, 'run', '--quiet', '--config', config, '--', 'sh', '-c'];
    const script = `
import os, subprocess, sys
low = os.pipe()
high = [os.dup2(end, 60 + i) for i, end in enumerate(os.pipe())]
for end in [*low, *high]: os.set_inheritable(end, True)
os.write(low[1], b'low\\n')
os.write(high[1], b'high\\n')
env = {**os.environ, 'MAKEFLAGS': ' -j2 --jobserver-auth=60,61'}
read = f'head -n 1 /dev/fd/{low[0]} && head -n 1 /dev/fd/{high[0]}'
sys.exit(subprocess.run([*sys.argv[1:], read], env=env, close_fds=False).returncode)
`;
    const running = started(['python3', '-c', script, ...words]);
    expect([await running.ended, running.out()]).toEqual([0, 'low\nhigh\n']);
  });
});
