import { someBytes } from '@tiered/core/testing';
import { S3Server } from '@tiered/s3-server';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  describeShim,
  makeDataset,
  temporaryDirectory,
  type Dataset,
} from '../../packages/interpose/test/helpers.js';
import { KEYS, ONE_PROCESS, runOf, started, tiered, tieredIn, tieredRun, withConfig } from './tiered.js';

/** Lets a shell read every file, and say after each round which round it was. */
const readAll = 'cat "$SOURCE"/Set/*';

/** Lets a shell say as `is_copy FILE` whether the file is opened on the tier. */
const shellOver = ({ source, tiers: [tier = ''] }: Dataset): string => `SOURCE='${source}'
      is_copy() { case $(readlink /proc/self/fd/0 <"$1") in '${tier}'/*) return 0;; esac; return 1; }`;

/** What `cksum` says of all files of a dataset, one after the other. */
const sumOf = ({ source }: Dataset): string =>
  execFileSync('sh', ['-c', `SOURCE='${source}'; ${readAll} | cksum`], { encoding: 'utf8' });

describeShim('tiered run', () => {
  it('[I6] gives a program its files from tiers, passes its exit code on, and says what it did', async () => {
    const { dataset, config } = withConfig();
    // Round 1, then a look at each file until it is one on the tier, then rounds 2 and 3.
    const script = `${shellOver(dataset)}
      ${readAll} | cksum
      early=0
      for file in "$SOURCE"/Set/*; do until is_copy "$file"; do early=$((early + 1)); done; done
      for i in 2 3; do ${readAll} | cksum; done
      echo early $early
      exit 7`;
    const running = tieredRun(config, ['sh', '-c', script]);
    expect(await running.ended).toBe(7);
    const [, said = ''] = /^early (\d+)$/m.exec(running.out()) ?? [];
    expect(running.out()).toBe(`${sumOf(dataset).repeat(3)}early ${said}\n`);
    // Each file was opened by three rounds and one look on the tier, but for the first round and early looks.
    const opens = 4 * KEYS.length + Number(said);
    const percent = (count: number) => `${Math.round((100 * count) / opens)} %`;
    expect(running.messages()).toContain(
      `${opens.toLocaleString('en')} files were opened, ${percent(3 * KEYS.length)} of them on tiers, with `,
    );
    expect(running.messages()).toContain(
      `; with this room, and each file placed when it was first opened, at most ${percent(opens - KEYS.length)}.\n`,
    );
    expect(running.messages()).toContain('were copied to tiers in 8 requests.');
    expect(running.messages()).toMatch(/^ {2}epoch 1: 0 % on tiers, 3\d.\d KiB from the source, [\d.]+ s$/m);
  });

  /** A bucket that is served, and what `tiered run` is told to run a program over it. */
  async function bucket() {
    const server = await S3Server.start();
    onTestFinished(() => server.close());
    server.createBucket('data');
    const source = {
      driver: 's3',
      bucket: 'data',
      endpoint: server.endpoint,
      region: server.region,
      proxy: 'none',
    };
    const { accessKeyId, secretAccessKey } = server.credentials;
    const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    for (const [i, key] of KEYS.entries()) server.put('data', key, someBytes(9000 + i, i));
    const above = temporaryDirectory();
    const config = path.join(above, 'tiers.json');
    const tiers = [{ driver: 'fs', root: path.join(above, 'tier'), quota: '8MB' }];
    fs.writeFileSync(config, JSON.stringify({ source, tiers }));
    const root = path.join(above, 'data');
    const runUnder = (script: string) =>
      tieredIn(env, 'run', '--config', config, '--root', root, '--', 'sh', '-c', script);
    return { server, root, runUnder };
  }

  it('[I7] says what a program waits for when the server of a bucket is gone', async () => {
    const { server, root, runUnder } = await bucket();
    const running = runUnder(
      `cat '${root}/${KEYS[0]}' >/dev/null; echo read; read line; cat '${root}/${KEYS[1]}'`,
    );
    await running.says('read\n');
    await server.close();
    running.process.stdin?.write('go on\n');
    await running.says(
      `A program waits for ${JSON.stringify(KEYS[1])}, which has not come from s3:data in 3 s.`,
    );
    running.process.kill('SIGTERM');
    await running.ended;
  });

  it('[I7] gives a program the objects of a bucket as files', async () => {
    const { root, runUnder } = await bucket();
    const script = `for i in 1 2 3; do cat '${root}'/Set/* | sha256sum; done; ls -l '${root}'/Set | wc -l`;
    const running = runUnder(script);
    expect(await running.ended).toBe(0);
    const digest = createHash('sha256');
    for (const key of [...KEYS].sort()) digest.update(someBytes(9000 + KEYS.indexOf(key), KEYS.indexOf(key)));
    const sum = `${digest.digest('hex')}  -\n`;
    expect(running.out()).toBe(`${sum.repeat(3)}9\n`);
    expect(running.messages()).toMatch(/^24 files were opened, 67 % of them on tiers, .* at most 67 %\./m);
  });

  it('[I8] records what a program opens, and places ahead by that the next time', async () => {
    const dataset = makeDataset(KEYS, { bytes: 300_000 });
    const above = temporaryDirectory();
    const config = path.join(above, 'tiers.json');
    const tiers = dataset.tiers.map((root) => ({ driver: 'fs', root, quota: '1.5MB' }));
    fs.writeFileSync(config, JSON.stringify({ source: { driver: 'fs', root: dataset.source }, tiers }));
    const trace = path.join(above, 'trace');
    const script = `SOURCE='${dataset.source}'; for i in 1 2 3; do ${readAll} | cksum; done`;
    const first = tieredRun(config, ['sh', '-c', script], ['--record', trace]);
    expect(await first.ended).toBe(0);
    const recorded = fs.readFileSync(trace, 'utf8').trim().split('\n');
    expect(recorded.length).toBe(24);
    const second = tieredRun(config, ['sh', '-c', script], ['--replay', trace]);
    expect([await second.ended, second.out()]).toEqual([0, first.out()]);
    expect(second.messages()).toMatch(/placed ahead and \d+ evicted; 0 opens were not planned\./);
    const merged = tiered('trace', trace, trace, '--skip', '2', '--take', '3');
    expect(await merged.ended).toBe(0);
    const [line = '', next = ''] = recorded.slice(1);
    expect(merged.out()).toBe(`${line}\n${line}\n${next}\n`);
    const planned = tiered('trace', '--config', config, '--seed', '3', '--torch', '--epochs', '2');
    expect(await planned.ended).toBe(0);
    const keys = planned
      .out()
      .trim()
      .split('\n')
      .map((text) => (JSON.parse(text) as [number, string])[1]);
    expect([keys.slice(0, 8).sort(), keys.slice(8).sort()]).toEqual([[...KEYS].sort(), [...KEYS].sort()]);
  });

  it.each([
    ['that is not there', 'no-such-program', 127, 'no-such-program: command not found\n'],
    ['whose path leads nowhere', './no-such-program', 127, './no-such-program: no such file\n'],
    ['without a name', '', 127, '"": command not found\n'],
    ['that cannot be run', '/etc/passwd', 126, '/etc/passwd: cannot be run: permission denied\n'],
    ['below a file', '/etc/passwd/program', 126, '/etc/passwd/program: cannot be run: not a directory\n'],
    ['with too long a name', `/${'x'.repeat(256)}`, 126, 'x: cannot be run: name too long\n'],
  ])('fails as a shell does for a program %s', async (_, program, code, message) => {
    const running = tieredRun(withConfig().config, [program]);
    expect(await running.ended).toBe(code);
    expect(running.messages()).toContain(message);
    expect(running.messages()).not.toContain('was opened for reading');
  });

  it('gives its arguments to the program alone', async () => {
    const running = tieredRun(withConfig().config, ['echo', '--config', '-V', '--help'], ['--quiet']);
    expect([await running.ended, running.out(), running.messages()]).toEqual([0, '--config -V --help\n', '']);
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR1', 'SIGUSR2'] as const)(
    '[I6] passes %s on, and waits',
    async (signal) => {
      const name = signal.slice(3);
      // Held back from the beginning, so that it may come at any time after "ready".
      const script = `
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.${signal}])
print("ready", flush=True)
signal.sigwait([signal.${signal}])
print("got ${name}", flush=True)
sys.exit(9)
`;
      const running = tieredRun(withConfig().config, ['python3', '-c', script]);
      await running.says('ready');
      running.process.kill(signal);
      expect([await running.ended, running.out()]).toEqual([9, `ready\ngot ${name}\n`]);
    },
  );

  it('ends with 128 and the number of the signal that ended the program', async () => {
    const running = tieredRun(withConfig().config, ['sh', '-c', 'kill -KILL $$']);
    expect(await running.ended).toBe(137);
  });

  it('leaves nothing in shared memory', async () => {
    const running = tieredRun(withConfig().config, ['sh', '-c', 'echo "$TIERED_INTERPOSE"']);
    expect(await running.ended).toBe(0);
    const directory = running.out().trim();
    expect([directory.includes('tiered-interpose-'), fs.existsSync(directory)]).toEqual([true, false]);
  });

  it('[I2] may be killed: the program goes on, against the source', async () => {
    const { dataset, config } = withConfig();
    // At `killed` the daemon is dead, and believed to live for a while; at `missed` that is over.
    const script = `${shellOver(dataset)}
      ${readAll} | cksum
      until is_copy "$SOURCE/${KEYS[0] ?? ''}"; do :; done
      echo ready
      read killed
      until ! is_copy "$SOURCE/${KEYS[0] ?? ''}"; do ${readAll} | cksum; done
      ${readAll} | cksum; echo missed
      rm -r "$TIERED_INTERPOSE"; ${readAll} | cksum; echo end`;
    const running = started([...ONE_PROCESS, ...runOf(config, ['sh', '-c', script])]);
    await running.says('ready');
    running.process.kill('SIGKILL');
    await once(running.process, 'exit');
    running.process.stdin?.write('killed\n');
    await running.says('end');
    const said = running.out().split('\n');
    const [sum = ''] = said;
    expect(`${sum}\n`).toBe(sumOf(dataset));
    expect(said.filter((line) => line !== sum)).toEqual(['ready', 'missed', 'end', '']);
  });
});

describeShim('tiered daemon', () => {
  it('serves several programs at once, and ends when it is told to', async () => {
    const { dataset, config } = withConfig();
    const at = path.join(fs.mkdtempSync('/dev/shm/tiered-test-'), 'session');
    onTestFinished(() => fs.rmSync(path.dirname(at), { recursive: true, force: true }));
    const daemon = tiered('daemon', '--config', config, '--at', at);
    await daemon.says('ready');
    const script = `cat '${dataset.source}'/Set/* | cksum`;
    const run = () => tiered('run', '--at', at, '--', 'sh', '-c', script);
    const programs = [run(), run(), run()];
    expect(await Promise.all(programs.map(({ ended }) => ended))).toEqual([0, 0, 0]);
    const sum = execFileSync('sh', ['-c', script], { encoding: 'utf8' });
    for (const { out } of programs) expect(out()).toBe(sum);
    const second = tiered('daemon', '--config', config, '--at', at);
    expect([await second.ended, second.messages()]).toEqual([
      2,
      `A daemon already runs at ${at}. End it first, or name another path by --at.\n`,
    ]);
    daemon.process.kill('SIGTERM');
    expect([await daemon.ended, fs.existsSync(at)]).toEqual([0, false]);
    expect(daemon.messages()).toMatch(/^24 files were opened/);
    const late = run();
    expect([await late.ended, late.out(), late.messages()]).toEqual([
      0,
      sum,
      `There is no daemon at ${at}: the program reads the source.\n`,
    ]);
  });

  it('[I10] makes links for programs without the shim, which outlive it', async () => {
    const { dataset, config } = withConfig();
    const above = fs.mkdtempSync('/dev/shm/tiered-test-');
    onTestFinished(() => fs.rmSync(above, { recursive: true, force: true }));
    const [at, farm] = [path.join(above, 'session'), path.join(temporaryDirectory(), 'farm')];
    const args = ['daemon', '--config', config, '--at', at, '--farm', farm];
    const cksum = (directory: string) => execFileSync('sh', ['-c', `cat '${directory}'/Set/* | cksum`]);
    const daemon = tiered(...args);
    await daemon.says('ready');
    expect(cksum(farm)).toEqual(cksum(dataset.source));
    // In a clone, the command is a child of the process that was started.
    const { pid } = daemon.process;
    const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    process.kill(Number(children), 'SIGKILL');
    await daemon.ended;
    expect(cksum(farm)).toEqual(cksum(dataset.source));
    const next = tiered(...args);
    await next.says('ready');
    next.process.kill('SIGTERM');
    expect(await next.ended).toBe(0);
    expect(next.messages()).toMatch(/^Of 8 links of the farm, \d led to copies\.$/m);
    for (const key of KEYS)
      expect(fs.readlinkSync(path.join(farm, key))).toBe(path.join(dataset.source, key));
  });

  it('is found at a relative path, and missed if it was killed', async () => {
    const { dataset, config } = withConfig();
    const above = fs.mkdtempSync('/dev/shm/tiered-test-');
    onTestFinished(() => fs.rmSync(above, { recursive: true, force: true }));
    const at = path.join(above, 'session');
    const daemon = started([...ONE_PROCESS, 'daemon', '--config', config, '--at', path.relative('', at)]);
    await daemon.says(`ready: tiered run --at ${at} -- PROGRAM`);
    const run = () =>
      tiered('run', '--at', path.relative('', at), '--', 'sh', '-c', `cat '${dataset.source}'/Set/* | cksum`);
    const first = run();
    expect([await first.ended, first.messages()]).toEqual([0, '']);
    daemon.process.kill('SIGKILL');
    await daemon.ended;
    const late = run();
    expect([await late.ended, late.out(), late.messages()]).toEqual([
      0,
      first.out(),
      `There is no daemon at ${path.relative('', at)}: the program reads the source.\n`,
    ]);
  });

  it('serves programs although nobody reads that it is ready', async () => {
    const { config } = withConfig();
    const above = fs.mkdtempSync('/dev/shm/tiered-test-');
    onTestFinished(() => fs.rmSync(above, { recursive: true, force: true }));
    const at = path.join(above, 'session');
    const daemon = started([...ONE_PROCESS, 'daemon', '--config', config, '--at', at]);
    daemon.process.stdout?.destroy();
    await daemon.says('Standard output cannot be written to');
    const program = tiered('run', '--at', at, '--', 'true');
    expect([await program.ended, program.messages()]).toEqual([0, '']);
    daemon.process.kill('SIGTERM');
    expect([await daemon.ended, fs.existsSync(at)]).toEqual([0, false]);
  });

  it.each([
    ['--record', '--record: expected a path at which there is nothing'],
    ['--replay', 'none: no such file'],
    ['--at', '--at: expected a path at which there is nothing'],
  ])('a %s that cannot be is found before the source is listed', async (option, expected) => {
    const { dataset, config } = withConfig();
    // Its listing would fail.
    fs.rmSync(dataset.source, { recursive: true });
    const above = fs.mkdtempSync('/dev/shm/tiered-test-');
    onTestFinished(() => fs.rmSync(above, { recursive: true, force: true }));
    const place = option === '--replay' ? path.join(above, 'none') : above;
    const at = option === '--at' ? [] : ['--at', path.join(above, 'session')];
    const daemon = tiered('daemon', '--config', config, ...at, option, place);
    expect([await daemon.ended, daemon.messages()]).toEqual([2, expect.stringContaining(expected)]);
  });

  it.each([
    ['neither', [], 'or --config FILE, or --at DIRECTORY'],
    ['both', ['--config', 'tiers.yaml', '--at', '/tmp/nowhere'], '--at: cannot be combined with'],
  ])('a program needs a configuration or a daemon: %s', async (_, options, message) => {
    const running = tiered('run', ...options, '--', 'true');
    expect([await running.ended, running.messages()]).toEqual([2, expect.stringContaining(message)]);
  });
});
