import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { describeShim, temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { tiered as here } from '../../packages/tiered/test/cli/run-tiered.js';
import { KEYS, ONE_PROCESS, started, tiered, tieredIn, withConfig, type Running } from './tiered.js';

/** A daemon that says in JSON what it does, and where it is. */
async function daemonWith(config: string): Promise<{ daemon: Running; at: string }> {
  const above = fs.mkdtempSync('/dev/shm/tiered-test-');
  onTestFinished(() => fs.rmSync(above, { recursive: true, force: true }));
  const at = path.join(above, "it's here");
  const daemon = tiered('daemon', '--config', config, '--at', at, '--json');
  await daemon.says('"root"');
  return { daemon, at };
}

const untilCopy = (file: string): string =>
  `until case $(readlink /proc/self/fd/0 <${file}) in *tier0*) true;; *) false;; esac; do :; done`;

describeShim('a daemon', () => {
  it('[I13] has its environment printed, for a shell and for a container', async () => {
    const { dataset, config } = withConfig();
    const { daemon, at } = await daemonWith(config);
    const printed = tiered('env', '--at', at);
    expect(await printed.ended).toBe(0);
    // The shell itself was started before.
    const inner = `${untilCopy(`"$TIERED_ROOT/$1"`)}; echo "$TIERED_INTERPOSE in $TIERED_ROOT, $LD_PRELOAD"`;
    const script = `${printed.out()}\nexec sh -c "$INNER" sh "$KEY"`;
    const env = { PATH: process.env['PATH'], INNER: inner, KEY: KEYS[0] };
    const told = execFileSync('sh', ['-c', script], { encoding: 'utf8', env, timeout: 60_000 });
    expect(told).toMatch(new RegExp(`^${at} in ${dataset.source}, /.*tiered-shim\\.so\n$`));
    const json = tiered('env', '--at', at, '--json');
    expect(await json.ended).toBe(0);
    const { environment, paths } = JSON.parse(json.out()) as {
      environment: Record<string, string>;
      paths: { path: string; isWritten: boolean }[];
    };
    const names = ['ASAN_OPTIONS', 'LD_PRELOAD', 'TIERED_INTERPOSE', 'TIERED_ROOT'];
    expect(Object.keys(environment).sort()).toEqual(names);
    expect(paths).toEqual([
      { path: at, isWritten: true },
      ...[environment['LD_PRELOAD'], dataset.source, ...dataset.tiers].map((one) => ({
        path: one,
        isWritten: false,
      })),
    ]);
    const docker = tiered('env', '--at', at, '--docker');
    expect(await docker.ended).toBe(0);
    const words = execFileSync('sh', ['-c', `printf '%s\\n' ${docker.out().replaceAll('\n', ' ')}`], {
      encoding: 'utf8',
    });
    expect(words).toContain(`--env\nTIERED_INTERPOSE=${at}\n`);
    expect(words).toContain(`--mount\ntype=bind,"src=${at}","dst=${at}"\n`);
    expect(words).toContain(`--mount\ntype=bind,"src=${dataset.source}","dst=${dataset.source}",readonly\n`);
    daemon.process.kill('SIGTERM');
    expect(await daemon.ended).toBe(0);
    const [ready = '', summary = ''] = daemon.out().split('\n');
    expect(JSON.parse(ready)).toEqual({ at, root: dataset.source });
    expect(JSON.parse(summary)).toMatchObject({ root: dataset.source, epochs: [], failed: { count: 0 } });
  });

  it('lists its source again when it is told to, also by a program that it serves', async () => {
    const { dataset, config } = withConfig();
    const { daemon, at } = await daemonWith(config);
    fs.writeFileSync(path.join(dataset.source, 'new'), 'new');
    const again = tiered('rescan', '--at', at);
    expect([await again.ended, again.messages()]).toEqual([0, '']);
    const file = path.join(dataset.source, 'new');
    const running = tiered('run', '--at', at, '--', 'sh', '-c', untilCopy(`'${file}'`));
    expect(await running.ended).toBe(0);
    fs.rmSync(dataset.source, { recursive: true });
    const inside = tieredIn({ TIERED_INTERPOSE: at }, 'rescan');
    expect([await inside.ended, inside.messages()]).toEqual([
      1,
      expect.stringMatching(
        /^The daemon at .*here could not list the source: .*[a-z]\. Programs find what it knew before\.\n$/,
      ),
    ]);
    daemon.process.kill('SIGTERM');
    expect(await daemon.ended).toBe(0);
    vi.stubEnv('TIERED_INTERPOSE', undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const command of ['rescan', 'env']) {
      const gone = { code: 1, messages: expect.stringContaining(`no daemon at ${at}`) as string };
      expect(await here(command, '--at', at)).toMatchObject(gone);
      const unnamed = { code: 2, messages: expect.stringMatching(/^Name the directory .*--at/) as string };
      expect(await here(command)).toMatchObject(unnamed);
    }
  });

  it('has its environment printed also when it was killed, with a warning', async () => {
    const { dataset } = withConfig();
    const at = path.join(temporaryDirectory(), 'session');
    const tier = `${dataset.tiers.join('')}:8MiB`;
    const daemon = started([...ONE_PROCESS, 'daemon', dataset.source, '--tier', tier, '--at', at]);
    await daemon.says('ready');
    const alive = await here('env', '--at', at);
    daemon.process.kill('SIGKILL');
    await daemon.ended;
    const gone = await here('env', '--at', at);
    expect([alive.messages, gone.code, gone.out]).toEqual(['', 0, alive.out]);
    expect(gone.messages).toMatch(/^warning: the daemon at .*session has ended; programs read the source/);
  });

  it('is no part of a program with a summary in JSON', async () => {
    const { dataset, config } = withConfig();
    const script = `cat '${dataset.source}'/Set/* | cksum; echo its message >&2`;
    const running = tiered('run', '--json', '--config', config, '--', 'sh', '-c', script);
    expect(await running.ended).toBe(0);
    const [message, summary = ''] = running.messages().split('\n');
    expect(message).toBe('its message');
    expect(JSON.parse(summary)).toMatchObject({
      opens: 8,
      redirected: 0,
      sourceBytes: 40_028,
      copyBytes: 0,
      most: 0,
    });
  });

  it('is refused for objects that are not known', async () => {
    const { config } = withConfig();
    const given = JSON.parse(fs.readFileSync(config, 'utf8')) as object;
    fs.writeFileSync(config, JSON.stringify({ ...given, scan: false }));
    const running = tiered('run', '--config', config, '--', 'true');
    expect([await running.ended, running.messages()]).toEqual([
      2,
      expect.stringContaining('scan: expected true'),
    ]);
  });
});
