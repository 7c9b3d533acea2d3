import { spawn, type ChildProcess } from 'node:child_process';
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

const TIERED = path.resolve('packages/tiered/bin/tiered.js');
const KEYS = Array.from({ length: 8 }, (_, i) => `Set/image ${i}.jpg`);

/** A program that is run by `tiered run`, and what it has written until now. */
interface Running {
  readonly process: ChildProcess;
  readonly out: () => string;
  readonly messages: () => string;
  /** Resolves when the program has written this. */
  readonly says: (text: string) => Promise<void>;
  /** Resolves when everybody who had its output has closed it. */
  readonly ended: Promise<number | null>;
}

function withConfig(quota = '8MB'): { dataset: Dataset; config: string } {
  const dataset = makeDataset(KEYS);
  const config = path.join(temporaryDirectory(), 'tiers.json');
  const tiers = dataset.tiers.map((root) => ({ driver: 'fs', root, quota }));
  fs.writeFileSync(config, JSON.stringify({ source: { driver: 'fs', root: dataset.source }, tiers }));
  return { dataset, config };
}

const tieredRun = (config: string, program: readonly string[], options: readonly string[] = []): Running =>
  tiered('run', '--config', config, ...options, '--', ...program);

function tiered(...args: readonly string[]): Running {
  const child = spawn(process.execPath, [TIERED, ...args]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const [out, messages]: [string[], string[]] = [[], []];
  const waiting = new Set<() => void>();
  child.stdout.on('data', (bytes: Buffer) => {
    out.push(bytes.toString());
    for (const look of waiting) look();
  });
  child.stderr.on('data', (bytes: Buffer) => messages.push(bytes.toString()));
  const says = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!out.join('').includes(text)) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { process: child, out: () => out.join(''), messages: () => messages.join(''), says, ended };
}

/** Lets a shell read every file, and say after each round which round it was. */
const readAll = 'cat "$SOURCE"/Set/*';

describeShim('tiered run', () => {
  it('[I6] gives a program its files from tiers, passes its exit code on, and says what it did', async () => {
    const { dataset, config } = withConfig();
    const script = `SOURCE='${dataset.source}'; for i in 1 2 3; do ${readAll} | cksum; sleep 0.5; done; exit 7`;
    const running = tieredRun(config, ['sh', '-c', script]);
    expect([await running.ended, new Set(running.out().trim().split('\n')).size]).toEqual([7, 1]);
    expect(running.messages()).toMatch(
      /^24 files were opened, \d+ % of them on tiers; with this room it can be 67 %\./m,
    );
    expect(running.messages()).toContain('were copied to tiers in');
  });

  it.each([
    ['that is not there', 'no-such-program', 127],
    ['that cannot be run', '/etc/passwd', 126],
  ])('fails as a shell does for a program %s', async (_, program, code) => {
    const running = tieredRun(withConfig().config, [program]);
    expect(await running.ended).toBe(code);
    expect(running.messages()).toContain(`${program} cannot be run`);
  });

  it('gives its arguments to the program alone', async () => {
    const running = tieredRun(withConfig().config, ['echo', '--config', '-V', '--help'], ['--quiet']);
    expect([await running.ended, running.out(), running.messages()]).toEqual([0, '--config -V --help\n', '']);
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR1', 'SIGUSR2'] as const)(
    '[I6] passes %s on, and waits',
    async (signal) => {
      const name = signal.slice(3);
      const script = `trap 'echo got ${name}; exit 9' ${name}; echo ready; while :; do sleep 0.05; done`;
      const running = tieredRun(withConfig().config, ['sh', '-c', script]);
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
    // The shell's parent is the daemon. It is dead for the last rounds, and believed to live for a while.
    const script = `SOURCE='${dataset.source}'; ${readAll} | cksum; sleep 0.5; ${readAll} | cksum; echo daemon $PPID
      while kill -0 $PPID 2>/dev/null; do sleep 0.05; done
      for i in 1 2 3 4 5 6 7 8; do ${readAll} | cksum; sleep 0.5; done; rm -r "$TIERED_INTERPOSE"; ${readAll} | cksum; echo end`;
    const running = tieredRun(config, ['sh', '-c', script]);
    await running.says('daemon');
    const [, daemon] = /daemon (\d+)/.exec(running.out()) ?? [];
    process.kill(Number(daemon), 'SIGKILL');
    await running.says('end');
    const sums = running
      .out()
      .split('\n')
      .filter((line) => /^\d+ \d+/.test(line));
    expect([sums.length, new Set(sums).size]).toEqual([11, 1]);
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
    expect(new Set(programs.map(({ out }) => out())).size).toBe(1);
    const second = tiered('daemon', '--config', config, '--at', at);
    expect([await second.ended, second.messages()]).toEqual([
      2,
      expect.stringContaining('is a daemon running there?'),
    ]);
    daemon.process.kill('SIGTERM');
    expect([await daemon.ended, fs.existsSync(at)]).toEqual([0, false]);
    expect(daemon.messages()).toMatch(/^24 files were opened/);
    const late = run();
    expect([await late.ended, late.messages()]).toEqual([
      1,
      expect.stringContaining('There is no daemon at'),
    ]);
  });

  it.each([
    ['neither', []],
    ['both', ['--config', 'tiers.yaml', '--at', '/tmp/nowhere']],
  ])('a program needs a configuration or a daemon: %s', async (_, options) => {
    const running = tiered('run', ...options, '--', 'true');
    expect([await running.ended, running.messages()]).toEqual([
      2,
      expect.stringContaining('one of --config and --at'),
    ]);
  });
});
