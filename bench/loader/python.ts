import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { RoundProcess } from '../lib/round-process.js';
import type { Case } from './shards.js';

/** A loader in Python, and the package that it comes with. */
export interface Rival {
  readonly kind: 'torch' | 'tf' | 'wds';
  readonly name: string;
  readonly module: string;
  /** Of the shards that it reads. */
  readonly format: string;
}

export const RIVALS: readonly Rival[] = [
  { kind: 'torch', name: "PyTorch's DataLoader", module: 'torch', format: 'raw' },
  { kind: 'tf', name: 'tf.data', module: 'tensorflow', format: 'tfrecord' },
  { kind: 'wds', name: 'webdataset', module: 'webdataset', format: 'tar' },
];

/** What to run Python with: a virtual environment's, if `TIERED_BENCH_PYTHON` names one. */
const PYTHON = process.env['TIERED_BENCH_PYTHON'] ?? 'python3';

export const INSTALL =
  'pip install torch tensorflow-cpu webdataset; TIERED_BENCH_PYTHON=that environment/bin/python3';

/** Whether Python has the package. */
export async function isThere({ module }: Rival): Promise<boolean> {
  const code = `import importlib.util, sys; sys.exit(importlib.util.find_spec("${module}") is None)`;
  return promisify(execFile)(PYTHON, ['-c', code]).then(
    () => true,
    () => false,
  );
}

/** How rivals read. */
export interface RivalOptions extends Case {
  readonly directory: string;
  readonly batch: number;
  /** Samples of a shuffle buffer. */
  readonly buffer: number;
  readonly workers: number;
}

export function startRival(rival: Rival, options: RivalOptions): Promise<RoundProcess> {
  const { directory, bytes, samples, batch, buffer, workers } = options;
  return RoundProcess.start({
    command: PYTHON,
    arguments: [
      path.join(import.meta.dirname, 'rivals.py'),
      rival.kind,
      path.join(directory, rival.format),
      ...[bytes, batch, buffer, workers].map(String),
    ],
    bytes: bytes * samples,
  });
}
