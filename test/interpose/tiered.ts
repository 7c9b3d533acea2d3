import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { makeDataset, temporaryDirectory, type Dataset } from '../../packages/interpose/test/helpers.js';

/** The command, as users have it in a clone: a process that runs it in another one, and passes signals on. */
export const TIERED = [process.execPath, path.resolve('packages/tiered/bin/tiered.js')];
/** The same in one process, as users have it who installed it. */
export const ONE_PROCESS = [
  process.execPath,
  '--conditions=tiered-source',
  '--import',
  'tsx',
  path.resolve('packages/tiered/bin/from-sources.js'),
];
export const KEYS = Array.from({ length: 8 }, (_, i) => `Set/image ${i}.jpg`);

/** A program, and what it has written until now. */
export interface Running {
  readonly process: ChildProcess;
  readonly out: () => string;
  readonly messages: () => string;
  /** Resolves when the program has written this, there or to standard error. */
  readonly says: (text: string) => Promise<void>;
  /** Resolves when everybody who had its output has closed it. */
  readonly ended: Promise<number | null>;
}

export function withConfig(quota = '8MB'): { dataset: Dataset; config: string } {
  const dataset = makeDataset(KEYS);
  const config = path.join(temporaryDirectory(), 'tiers.json');
  const tiers = dataset.tiers.map((root) => ({ driver: 'fs', root, quota }));
  fs.writeFileSync(config, JSON.stringify({ source: { driver: 'fs', root: dataset.source }, tiers }));
  return { dataset, config };
}

/** What `tiered run` is told to run this program with a configuration. */
export const runOf = (config: string, program: readonly string[], options: readonly string[] = []) => [
  ...['run', '--config', config],
  ...options,
  '--',
  ...program,
];

export const tieredRun = (...args: Parameters<typeof runOf>): Running => tiered(...runOf(...args));

export const tiered = (...args: readonly string[]): Running => tieredIn({}, ...args);

export const tieredIn = (env: NodeJS.ProcessEnv, ...args: readonly string[]): Running =>
  started([...TIERED, ...args], { env: { ...process.env, ...env } });

/** Starts a program, which ends with the test. */
export function started([file = '', ...args]: readonly string[], options: SpawnOptions = {}): Running {
  const child = spawn(file, args, { ...options, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [out, messages]: [string[], string[]] = [[], []];
  const waiting = new Set<() => void>();
  const hear = (heard: string[]) => (bytes: Buffer) => {
    heard.push(bytes.toString());
    for (const look of waiting) look();
  };
  child.stdout.on('data', hear(out));
  child.stderr.on('data', hear(messages));
  const says = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (![out, messages].some((heard) => heard.join('').includes(text))) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { process: child, out: () => out.join(''), messages: () => messages.join(''), says, ended };
}
