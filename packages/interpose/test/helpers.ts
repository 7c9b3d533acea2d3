import { execFile, execFileSync, spawnSync, type ExecFileOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, it, onTestFinished } from 'vitest';
import { compile, INSTALL } from '../src-c/compile.js';

/** The shim, or why it cannot be there and what to do about it. */
export const shim = await compiled();

async function compiled(): Promise<{ file: string } | { missing: string }> {
  if (process.platform !== 'linux') return { missing: 'the shim is for Linux only' };
  try {
    return { file: await compile() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { missing: `there is no C compiler: ${INSTALL}` };
    throw error;
  }
}

/**
 * Registers tests that need the shim, which is compiled if it has to be. Where it cannot be, there is one
 * skipped test instead that says why; with `CI=true` it fails.
 */
export function describeShim(name: string, register: () => void): void {
  describe(name, () => {
    if (!('missing' in shim)) return register();
    const { missing } = shim;
    if (process.env['CI'] === 'true') it(`needs the shim: ${missing}`, () => Promise.reject(new Error(missing)));
    else it.skip(`needs the shim: ${missing}`);
  });
}

/** A directory of the test's own, as a real path. */
export function temporaryDirectory(): string {
  const directory = path.join(fs.realpathSync(os.tmpdir()), `tiered-interpose-${randomUUID()}`);
  fs.mkdirSync(directory, { mode: 0o700 });
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Compiles a program of src-c/test once. */
export const program = (name: string, flags?: readonly string[]): Promise<string> =>
  compile({ program: `test/${name}.c`, ...(flags && { flags, name: `test-${flags.join('')}` }) });
