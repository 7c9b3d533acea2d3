import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CReader } from '../lib/c-reader.js';
import { RoundProcess, writePaths } from '../lib/round-process.js';
import type { Work } from '../prefetch/loops.js';
import { startNodeLoop, type NodeLoop } from './node-loop.js';

/** What rivals read: files of one size, in an order that was shuffled before. */
export type Files = Pick<Work, 'directory' | 'keys' | 'size'>;

/** One of those that are compared. */
export interface Rival {
  readonly name: string;
  /** The command that installs what it needs, where that is missing. */
  readonly install?: string | undefined;
  /** Starts a process that reads files; whatever it writes goes below `scratch`. */
  readonly start: (files: Files, scratch: string) => Promise<RoundProcess>;
}

export const C_THREADS = [1, 2, 16, 64];
export const OURS = 'prefetcher';
export const OURS_IN_BATCHES = 'prefetcher, batches of 32';

/** Files that the memory of a C program holds, whatever its threads. */
const C_SLOTS = 64;
const NODE_THREADS = [4, 64];
const TORCH_WORKERS = [2, 16];
/** 0 is AUTOTUNE. */
const TF_CALLS = [0, 64];

/** All of them, those that are not installed too. `cacache` is where its code is. */
export function allRivals(cacache: string | undefined): Rival[] {
  const byHand = (loop: NodeLoop['loop']) =>
    NODE_THREADS.map((threads) =>
      nodeLoop(`${loop}, 64 at a time, UV_THREADPOOL_SIZE=${threads}`, { loop, threads, module: cacache }),
    );
  const install = cacache === undefined ? 'npm install --no-save cacache@20' : undefined;
  return [
    ...C_THREADS.map(inC),
    ...byHand('p-limit'),
    ...byHand('tfjs-data'),
    ...byHand('cacache').map((rival) => ({ ...rival, install })),
    ...pythons(),
    nodeLoop(OURS, { loop: 'prefetcher' }),
    nodeLoop(OURS_IN_BATCHES, { loop: 'prefetcher in batches' }),
  ];
}

/** The name of the C program with so many threads. */
export function nameOfC(threads: number): string {
  return `C, ${threads} ${threads === 1 ? 'thread' : 'threads'}`;
}

function inC(threads: number): Rival {
  return {
    name: nameOfC(threads),
    install: CReader.available ? undefined : 'apt-get install gcc libc6-dev',
    start: ({ directory, keys, size }, scratch) =>
      CReader.start({
        directory: scratch,
        paths: keys.map((key) => path.join(directory, key)),
        bytes: size,
        threads,
        slots: C_SLOTS / threads,
      }),
  };
}

function nodeLoop(name: string, loop: NodeLoop): Rival {
  return { name, start: (files, scratch) => startNodeLoop(loop, files, scratch) };
}

function pythons(): Rival[] {
  const torch = installCommand('torch');
  const tensorflow = installCommand('tensorflow', 'tensorflow-cpu');
  const tfData = (calls: number) => (calls === 0 ? 'AUTOTUNE' : `${calls} calls and threads`);
  return [
    ...TORCH_WORKERS.map((workers) => ({
      name: `PyTorch's DataLoader, ${workers} workers`,
      install: torch,
      start: inPython('torch-loader.py', workers),
    })),
    ...TF_CALLS.map((calls) => ({
      name: `tf.data, ${tfData(calls)}`,
      install: tensorflow,
      start: inPython('tf-data.py', calls),
    })),
  ];
}

/** The interpreter, of a virtual environment for instance. */
function python(): string {
  return process.env['TIERED_BENCH_PYTHON'] ?? 'python3';
}

/** How to install a module of Python; `undefined` if it is there. Importing it would take seconds. */
function installCommand(module: string, distribution = module): string | undefined {
  const find = `import importlib.util, sys; sys.exit(importlib.util.find_spec('${module}') is None)`;
  if (spawnSync(python(), ['-c', find]).status === 0) return undefined;
  return `${python()} -m pip install ${distribution}`;
}

/** Starts a script of this directory with a number that says how much it does at the same time. */
function inPython(script: string, atOnce: number): Rival['start'] {
  return async ({ directory, keys, size }, scratch) => {
    const list = await writePaths(
      scratch,
      keys.map((key) => path.join(directory, key)),
    );
    return RoundProcess.start({
      command: python(),
      arguments: [fileURLToPath(new URL(script, import.meta.url)), `${atOnce}`, list],
      // Without a line for every instruction of the processor that it would have liked.
      environment: { TF_CPP_MIN_LOG_LEVEL: '2' },
      bytes: keys.length * size,
    });
  };
}
