import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { promisify } from 'node:util';
import { RoundProcess, writePaths } from '../lib/round-process.js';

/** How a loader in Python reads files. */
interface StartOptions {
  readonly scratch: string;
  readonly files: readonly string[];
  readonly bytes: number;
  readonly environment: NodeJS.ProcessEnv;
}

interface Loader {
  readonly name: string;
  readonly start: (options: StartOptions) => Promise<RoundProcess>;
}

/** A loader in Python, and the same with a cache of its own, if it has one. */
export interface Framework extends Loader {
  readonly cached?: Loader;
}

export const PYTHON_INSTALL =
  'pip install torch tensorflow-cpu; TIERED_BENCH_PYTHON=that environment/bin/python3';

const PYTHON = process.env['TIERED_BENCH_PYTHON'] ?? 'python3';

/** Starts a script of ../rivals, which reads the files once a round. */
const script =
  (file: string, ...args: readonly string[]): Loader['start'] =>
  async ({ scratch, files, bytes, environment }) =>
    RoundProcess.start({
      command: PYTHON,
      arguments: [
        path.join(import.meta.dirname, '../rivals', file),
        args[0] ?? '',
        await writePaths(scratch, files),
        ...args.slice(1),
      ],
      bytes,
      environment,
    });

/** The frameworks that there are. */
export async function frameworks(): Promise<Framework[]> {
  const found: Framework[] = [];
  if (await isThere('torch'))
    for (const workers of ['0', '2'])
      found.push({ name: `DataLoader, ${workers} workers`, start: script('torch-loader.py', workers) });
  if (await isThere('tensorflow'))
    found.push({
      name: 'tf.data',
      start: script('tf-data.py', '8'),
      cached: {
        name: "tf.data's cache",
        start: (options) => {
          const cache = path.join(options.scratch, `cache-${randomUUID()}`);
          return script('tf-data.py', '8', cache)(options);
        },
      },
    });
  return found;
}

function isThere(module: string): Promise<boolean> {
  const code = `import importlib.util, sys; sys.exit(importlib.util.find_spec("${module}") is None)`;
  return promisify(execFile)(PYTHON, ['-c', code]).then(
    () => true,
    () => false,
  );
}
