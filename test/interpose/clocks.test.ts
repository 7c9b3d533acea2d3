import { environmentAt, type Interposer } from '@tiered/interpose';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { daemonOf, line, place } from './processes.js';
import { compile } from '../../packages/interpose/src-c/compile.js';
import { bucket, KEYS } from '../../packages/interpose/test/bucket.js';
import { describeShim, makeDataset, opensOf, run, serve } from '../../packages/interpose/test/helpers.js';

const DAEMON = new URL('programs/daemon.ts', import.meta.url);
const OPENER =
  'import os, sys\nfor line in sys.stdin:\n  fd = os.open(line.strip(), os.O_RDONLY)\n  print(os.path.realpath(f"/proc/self/fd/{fd}"), flush=True)\n  os.close(fd)';
const IN_NAMESPACE = ['unshare', '--time', '--map-root-user', '--fork', '--monotonic', '-1000'];

const library = () =>
  compile({ program: 'test/other-clock.c', name: 'library', flags: ['-O2', '-shared', '-fPIC'] });

/** Under a library that is so many seconds ahead; 0 if its clocks stand still. */
const ahead = (seconds: number) => async (command: readonly string[]) => [
  ...['env', `OTHER_CLOCK=${seconds}`, 'sh', '-c', 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"', await library()],
  ...command,
];
const inNamespace = (command: readonly string[]) => Promise.resolve([...IN_NAMESPACE, ...command]);

const CLOCKS: [string, (command: readonly string[]) => Promise<readonly string[]>][] = [
  ['in another time namespace', inNamespace],
  ['with clocks that are ahead', ahead(1_000_000)],
  ['with clocks that are behind', ahead(-1000)],
  ['with clocks that stand still', ahead(0)],
];

async function runUnder(
  interposer: Interposer,
  clock: (typeof CLOCKS)[number][1],
  command: readonly string[],
): Promise<string> {
  const [file = '', ...args] = await clock(command);
  return run(interposer, file, args);
}

describeShim('a program', () => {
  it.each(CLOCKS)('[I2] %s reads copies as any other', async (_, clock) => {
    const dataset = makeDataset(['a']);
    const interposer = await serve(dataset);
    await interposer.hierarchy.place('a');
    const file = path.join(dataset.source, 'a');
    const read = await opensOf(interposer, () => runUnder(interposer, clock, ['cat', file]));
    expect([read.source, read.copies]).toEqual([0, 1]);
    expect(Buffer.from(read.result, 'latin1').equals(fs.readFileSync(file))).toBe(true);
  });

  it.each(CLOCKS)('[I7] %s waits for objects as any other', async (_, clock) => {
    const { interposer, root, bytesOf } = await bucket();
    const [key = ''] = KEYS;
    const read = await runUnder(interposer, clock, ['cat', path.join(root, key)]);
    expect(Buffer.from(read, 'latin1').equals(bytesOf(key))).toBe(true);
  });

  it.each(CLOCKS.filter((_, i) => i % 2 === 0))(
    '[I2] %s reads the source once the daemon was silent for 3 seconds, and if it begins after it was killed',
    async (_, clock) => {
      const { source, tiers } = makeDataset(['a']);
      const at = place();
      const daemon = await line(daemonOf(DAEMON, { source, tier: tiers[0], at }));
      const pid = Number(await daemon.ask('place a'));
      const file = path.join(source, 'a');
      const [command = '', ...args] = await clock(['python3', '-c', OPENER]);
      const opener = () => line({ command, arguments: args, environment: environmentAt(at) });
      const program = await opener();
      const isCopy = async () => (await program.ask(file)) !== file;
      expect(await isCopy()).toBe(true);
      process.kill(pid, 'SIGSTOP');
      while (await isCopy()) continue;
      process.kill(pid, 'SIGCONT');
      while (!(await isCopy())) continue;
      process.kill(pid, 'SIGKILL');
      while (await isCopy()) continue;
      // Nothing says at once that a killed process is gone, but its lock.
      await daemon.close().catch(() => undefined);
      expect(await (await opener()).ask(file)).toBe(file);
    },
  );
});
