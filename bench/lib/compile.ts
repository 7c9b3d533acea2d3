import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Whether there is a C compiler. */
export function hasCompiler(): boolean {
  return spawnSync('cc', ['--version']).status === 0;
}

/** Compiles a program of one file into a directory. Resolves to its path. */
export async function compileC(
  source: URL,
  directory: string,
  flags: readonly string[] = [],
): Promise<string> {
  const file = fileURLToPath(source);
  const program = path.join(directory, path.basename(file, '.c'));
  await promisify(execFile)('cc', ['-O2', ...flags, '-o', program, file]);
  return program;
}
