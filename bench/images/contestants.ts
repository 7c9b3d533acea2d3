import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { RoundProcess, writePaths } from '../lib/round-process.js';
import { SIDE } from '../../examples/image-workers/decode.js';

/** The place that photographs are read from. */
export interface Place {
  readonly name: 'warm' | 'cold';
  readonly source: string;
  /** Those of a round. */
  readonly keys: readonly string[];
  /** A slow source of the same, for our loader to have a tier in front of. */
  readonly behindTier?: string;
}

/** A loader with a decoder, and so many workers. */
export interface Contestant {
  readonly name: string;
  /** Contestants that differ by the number of their workers only. */
  readonly family: string;
  /** The command that installs what it needs, where that is missing. */
  readonly install?: string | undefined;
  /** Starts it in a process of its own, with all of its threads and processes on one core. */
  readonly start: () => Promise<RoundProcess>;
}

export const TF = 'tf.data';
export const TF_ANTIALIAS = 'tf.data, antialias';

export const BATCH = 64;
/** The core of all contestants. The source may have the others. */
const ON_ONE_CORE = ['-c', '0'];
/** Workers and calls that wait for a slow source at the same time. Ours finds its number by itself. */
const WAITING = 16;

export function contestants(place: Place, scratch: string): Contestant[] {
  return [...ours(place, scratch), ...pythons(place, scratch)];
}

function ours(place: Place, scratch: string): Contestant[] {
  const { name: where, source, behindTier, keys } = place;
  const made = (decoder: string, workers: number, hasTier: boolean, words = ''): Contestant => ({
    name: `tiered with ${decoder}${words}, ${workersOf(workers)}`,
    family: decoder === 'sharp' ? 'sharp' : 'tiered',
    start: () =>
      onOneCore(place, process.execPath, [
        ...process.execArgv,
        fileURLToPath(new URL('ours.ts', import.meta.url)),
        decoder,
        ...[workers, BATCH, keys.length / BATCH].map(String),
        behindTier ?? source,
        hasTier ? path.join(scratch, `tier-${where}-${decoder}-${workers}`) : '',
      ]),
  });
  if (where === 'cold')
    return [
      made('libjpeg-turbo', 1, false, ', no tier'),
      made('libjpeg-turbo', 1, true, ', a tier is filled'),
    ];
  const hasTier = behindTier !== undefined;
  return [made('libjpeg-turbo', 0, hasTier), made('libjpeg-turbo', 1, hasTier), made('sharp', 1, hasTier)];
}

function pythons(place: Place, scratch: string): Contestant[] {
  const isCold = place.name === 'cold';
  const torch = { python: pythonWith('torchvision'), packages: 'torch torchvision pillow' };
  const tensorflow = { python: pythonWith('tensorflow'), packages: 'tensorflow-cpu' };
  const made = (
    family: string,
    kind: string,
    { python, packages }: typeof torch,
    workers: number,
    words: string,
  ): Contestant => ({
    name: `${family}, ${words}`,
    family,
    install:
      python === undefined
        ? `pip install ${packages}; TIERED_BENCH_PYTHON=that environment/bin/python3`
        : undefined,
    start: async () => {
      const paths = place.keys.map((key) => path.join(place.source, key));
      const script = fileURLToPath(new URL('rivals.py', import.meta.url));
      const list = await writePaths(scratch, paths);
      return onOneCore(place, python ?? '', [script, kind, `${workers}`, `${BATCH}`, list]);
    },
  });
  const torchWorkers = isCold ? [WAITING] : [0, 1];
  return [
    ...torchWorkers.map((workers) =>
      made('Pillow', 'pillow', torch, workers, `PyTorch, ${workersOf(workers)}`),
    ),
    ...torchWorkers.map((workers) =>
      made('torchvision', 'torchvision', torch, workers, `PyTorch, ${workersOf(workers)}`),
    ),
    made(TF, 'tf', tensorflow, isCold ? WAITING : 0, isCold ? `${WAITING} calls` : 'AUTOTUNE'),
    made(
      TF_ANTIALIAS,
      'tf-antialias',
      tensorflow,
      isCold ? WAITING : 0,
      isCold ? `${WAITING} calls` : 'AUTOTUNE',
    ),
  ];
}

function workersOf(workers: number): string {
  if (workers === 0) return 'no worker';
  return workers === 1 ? '1 worker' : `${workers} workers`;
}

/** The interpreters that may have PyTorch, and TensorFlow. */
const PYTHONS = (process.env['TIERED_BENCH_PYTHON'] ?? 'python3').split(path.delimiter);

/** The first interpreter that has a module. Importing it would take seconds. */
function pythonWith(module: string): string | undefined {
  const find = `import importlib.util, sys; sys.exit(importlib.util.find_spec('${module}') is None)`;
  return PYTHONS.find((python) => spawnSync(python, ['-c', find]).status === 0);
}

function onOneCore({ keys }: Place, command: string, given: readonly string[]): Promise<RoundProcess> {
  return RoundProcess.start({
    command: 'taskset',
    arguments: [...ON_ONE_CORE, command, ...given],
    bytes: keys.length * SIDE * SIDE * 3,
  });
}
