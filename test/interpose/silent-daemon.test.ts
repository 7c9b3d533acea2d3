import { someBytes } from '@tiered/core/testing';
import { environmentAt } from '@tiered/interpose';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeShim, temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import type { LineProcessOptions } from '../../tools/processes/line-process.js';
import { daemonOf, line, place } from './processes.js';
import type { Served } from './programs/bucket-daemon.js';

const KEYS = ['copied', 'directory/other', 'directory/third'] as const;
const BYTES = 10_000;
const DAEMON = new URL('programs/bucket-daemon.ts', import.meta.url);

/** Answers each line, which is a path, with a digest of the file, or with the name of the error. */
const READ_IN_PYTHON = `
import errno, hashlib, sys
for line in sys.stdin:
  try:
    with open(line.strip(), 'rb') as file: print(hashlib.sha256(file.read()).hexdigest(), flush=True)
  except OSError as error: print(errno.errorcode[error.errno], flush=True)`;
const readingInNode = (read: string) => `
import fs from 'node:fs'; import { createHash } from 'node:crypto'; import readline from 'node:readline';
for await (const name of readline.createInterface(process.stdin))
  try { console.log(createHash('sha256').update(${read}).digest('hex')); } catch ({ code }) { console.log(code); }`;

/** How a program is started that finds a daemon at a place. */
type Start = (at: string) => LineProcessOptions;
const underShim =
  (command: string, ...args: string[]): Start =>
  (at) => ({ command, arguments: args, environment: environmentAt(at) });

const inNode = (read: string) =>
  underShim(process.execPath, '--input-type=module', '-e', readingInNode(read));

/** A daemon, one of whose objects has a copy, and programs that read by it. */
async function serving(start: Start) {
  const at = place();
  const above = temporaryDirectory();
  const root = path.join(above, 'not/there');
  const served: Served = { keys: KEYS, bytes: BYTES, tier: path.join(above, 'tier'), at, root };
  const daemon = await line(daemonOf(DAEMON, served));
  const pid = Number(await daemon.ask(`place ${KEYS[0]}`));
  // One that was stopped would not hear that the test is over.
  onTestFinished(() => kill(pid, 'SIGKILL'));
  const reader = async () => {
    const program = await line(start(at));
    return (key: (typeof KEYS)[number]) => program.ask(path.join(root, key));
  };
  return { daemon, reader, send: (signal: NodeJS.Signals) => kill(pid, signal) };
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const digestOf = (key: (typeof KEYS)[number]) =>
  createHash('sha256')
    .update(someBytes(BYTES, KEYS.indexOf(key)))
    .digest('hex');

function register(start: Start): void {
  it.each(['SIGSTOP', 'SIGKILL'] as const)(
    '[I7] is told EIO of what has no copy after a %s of the daemon, and reads copies',
    async (signal) => {
      const { reader, send } = await serving(start);
      const read = await reader();
      expect(await read('copied')).toBe(digestOf('copied'));
      send(signal);
      expect(await read('directory/other')).toBe('EIO');
      expect(await read('copied')).toBe(digestOf('copied'));
      // Also one that is started now.
      const readLate = await reader();
      expect(await readLate('directory/other')).toBe('EIO');
      expect(await readLate('copied')).toBe(digestOf('copied'));
    },
  );

  it.each(['SIGSTOP', 'SIGKILL'] as const)(
    '[I7] that waits for an object waits no longer after a %s of the daemon',
    async (signal) => {
      const { daemon, reader, send } = await serving(start);
      const reading = (await reader())('directory/other');
      await daemon.ask('held');
      send(signal);
      expect(await reading).toBe('EIO');
    },
  );

  it('[I7] reads on when a daemon that was stopped goes on', async () => {
    const { daemon, reader, send } = await serving(start);
    const read = await reader();
    send('SIGSTOP');
    expect(await read('directory/other')).toBe('EIO');
    send('SIGCONT');
    // Between two answers it has said again that it lives.
    for (let i = 0; i < 2; i++) await daemon.ask('release');
    const reading = read('directory/third');
    await daemon.ask('held');
    await daemon.ask('release');
    expect(await reading).toBe(digestOf('directory/third'));
  });
}

describeShim('a program below a root that is not there,', () => {
  describe.each([
    ['in Python', underShim('python3', '-c', READ_IN_PYTHON)],
    ['in Node, by functions that return at once', inNode('fs.readFileSync(name)')],
    ['in Node, by promises', inNode('await fs.promises.readFile(name)')],
  ])('%s,', (_, start) => register(start));
});
