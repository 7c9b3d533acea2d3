import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { describeShim } from '../../packages/interpose/test/helpers.js';
import { ONE_PROCESS, runOf, started, TIERED, tieredRun, withConfig, type Running } from './tiered.js';

const PROGRAMS = path.resolve('test/interpose/programs');
const SIGNALS = ['python3', path.join(PROGRAMS, 'signals.py')];
const ONCE = 'SIGINT came 1 times, standard input blocks';

/** Runs a program on a terminal, with that or a pipe as standard input. */
const onTerminal = (program: readonly string[], input: 'terminal' | 'pipe' = 'terminal'): Running =>
  started(['python3', path.join(PROGRAMS, 'terminal.py'), input, ...program]);

/** Has something done to the program on a terminal. */
const tell = (running: Running, command: string): void => void running.process.stdin?.write(`${command}\n`);

const signalsRun = (options: readonly string[] = []): string[] => [
  ...ONE_PROCESS,
  ...runOf(withConfig().config, SIGNALS, options),
];

/** SIGINT came once, and SIGTERM ends the program: what was passed on before that is there before. */
async function endsOnce(running: Running, terminate: () => void): Promise<void> {
  await running.says('SIGINT');
  terminate();
  expect(await running.ended).toBe(9);
  expect(running.out()).toContain(ONCE);
}

/** Where the session was of a program that has ended. */
const sessionOf = (running: Running): string => /session (\S+)/.exec(running.out())?.[1] ?? '';

/** Whether a process can be without the right to signal those of other users. */
const canLoseRights =
  process.getuid?.() === 0 &&
  spawnSync('setpriv', ['--bounding-set=-kill', '--reuid=65534', '--clear-groups', 'true']).status === 0;

describeShim('tiered run', () => {
  it.each(['terminal', 'pipe'] as const)(
    '[I6] leaves Ctrl-C to the terminal, with a %s as input',
    async (input) => {
      const running = onTerminal(signalsRun(), input);
      await running.says('ready');
      tell(running, 'key INTR');
      await endsOnce(running, () => tell(running, 'kill SIGTERM'));
    },
  );

  it('[I6] leaves Ctrl-C to the terminal if a wrapper passes it on once more', async () => {
    const running = onTerminal([...TIERED, ...runOf(withConfig().config, SIGNALS)]);
    await running.says('ready');
    tell(running, 'key INTR');
    await endsOnce(running, () => tell(running, 'kill SIGTERM'));
  });

  it('[I6] passes Ctrl-C on to a program that has left the terminal', async () => {
    const running = onTerminal([...ONE_PROCESS, ...runOf(withConfig().config, ['setsid', ...SIGNALS])]);
    await running.says('ready');
    tell(running, 'key INTR');
    await endsOnce(running, () => tell(running, 'kill SIGTERM'));
  });

  it('[I6] passes SIGINT on that comes while it is in the background of a terminal', async () => {
    const job = signalsRun().map((word) => `'${word}'`);
    const running = onTerminal(['bash', '-c', `set -m; ${job.join(' ')} & echo job $!; wait $!; exit $?`]);
    await running.says('ready');
    const pid = Number(/job (\d+)/.exec(running.out())?.[1]);
    process.kill(pid, 'SIGINT');
    await endsOnce(running, () => process.kill(pid, 'SIGTERM'));
  });

  it('[I6] stops with the program by Ctrl-Z, and goes on with it', async () => {
    const job = signalsRun(['--quiet']).map((word) => `'${word}'`);
    const running = onTerminal([
      'bash',
      '-c',
      `set -m; ${job.join(' ')}; echo stopped $?; fg; echo ended $?`,
    ]);
    await running.says('ready');
    tell(running, 'key SUSP');
    await running.says('SIGCONT');
    expect(running.out()).toContain('stopped 148');
    tell(running, 'key INTR');
    await running.says('SIGINT');
    tell(running, 'key QUIT');
    await running.ended;
    expect(running.out()).toContain(ONCE);
    expect(running.out()).toContain('ended 9');
  });

  it('leaves the input of the program as it was when a signal comes', async () => {
    const running = tieredRun(withConfig().config, SIGNALS);
    await running.says('ready');
    running.process.kill('SIGINT');
    await endsOnce(running, () => running.process.kill('SIGTERM'));
  });

  it('[I6] closes when its terminal is closed, with the exit code of the program', async () => {
    const running = onTerminal(signalsRun());
    await running.says('ready');
    tell(running, 'hangup');
    expect(await running.ended).toBe(9);
    expect(sessionOf(running)).not.toBe('');
    expect(fs.existsSync(sessionOf(running))).toBe(false);
  });

  it('[I6] closes if nobody reads its messages, with the exit code of the program', async () => {
    const running = tieredRun(withConfig().config, SIGNALS);
    await running.says('ready');
    running.process.stderr?.destroy();
    running.process.kill('SIGTERM');
    expect([await running.ended, fs.existsSync(sessionOf(running))]).toEqual([9, false]);
  });

  // As one that sudo runs.
  it.skipIf(!canLoseRights)('waits for a program that it may not signal', async () => {
    const other = ['setpriv', '--reuid=65534', '--clear-groups', 'sh', '-c', 'echo ready; read line; exit 9'];
    const weak = ['setpriv', '--bounding-set=-kill', ...ONE_PROCESS];
    const running = started([...weak, ...runOf(withConfig().config, other)]);
    await running.says('ready');
    running.process.kill('SIGTERM');
    await running.says('setpriv gets no signals');
    running.process.stdin?.end('\n');
    expect(await running.ended).toBe(9);
  });
});
