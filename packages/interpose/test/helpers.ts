import type { ByteSize, Clock } from '@tiered/core';
import { someBytes } from '@tiered/core/testing';
import { Interposer, type SessionOptions } from '@tiered/interpose';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler, type PlacementHandlerOptions } from '@tiered/tiering';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, it, onTestFinished } from 'vitest';
import { compile, INSTALL, platform } from '../src-c/compile.js';

/** Why the shim cannot be there, and what to do about it. */
const shim = await compiled();

async function compiled(): Promise<{ readonly missing?: string }> {
  if (!/^linux-.*-gnu$/.test(platform())) return { missing: 'the shim is for Linux with glibc only' };
  try {
    if ((process.env['TIERED_SHIM'] ?? '') === '') await compile();
    return {};
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return { missing: `there is no C compiler: ${INSTALL}` };
    throw error;
  }
}

/**
 * Registers tests that need the shim, which is compiled if it has to be. Where it cannot be, there is one
 * skipped test instead that says why; with `CI=true` it fails.
 */
export function describeShim(name: string, register: () => void): void {
  describe(name, () => {
    const { missing } = shim;
    if (missing === undefined) register();
    else if (process.env['CI'] === 'true')
      it(`needs the shim: ${missing}`, () => Promise.reject(new Error(missing)));
    else it.skip(`needs the shim: ${missing}`);
  });
}

/** Has something done when the test has finished, or what else it is for. */
export type Finally = (work: () => void | Promise<void>) => void;

/** A directory of the test's own, as a real path. */
export function temporaryDirectory(atEnd: Finally = onTestFinished): string {
  const directory = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'interpose-'));
  atEnd(() => fs.rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/**
 * Compiles a program of src-c/test once. If `TIERED_VALGRIND` names a directory, the program runs under
 * valgrind, which writes there what it finds (src-c/sanitize.js).
 */
export async function program(name: string, flags?: readonly string[]): Promise<string> {
  const file = await compile({ program: `test/${name}.c`, ...(flags && { flags, name: 'sanitized' }) });
  const directory = process.env['TIERED_VALGRIND'] ?? '';
  return directory === '' || flags !== undefined ? file : underValgrind(file, directory);
}

function underValgrind(file: string, directory: string): string {
  const script = path.join(directory, `${path.basename(file)}-${randomUUID()}`);
  const options = `-q --error-exitcode=66 --num-callers=20 --trace-children=yes --log-file='${directory}/log.%p'`;
  fs.writeFileSync(script, `#!/bin/sh\nexec valgrind ${options} '${file}' "$@"\n`, { mode: 0o700 });
  return script;
}

/** A dataset in files, and where its tiers are to be. */
export interface Dataset {
  readonly source: string;
  readonly tiers: readonly string[];
  readonly keys: readonly string[];
  readonly contents: ReadonlyMap<string, Buffer>;
}

/** Makes files below a source, each of other bytes. */
export function makeDataset(keys: readonly string[], { tierCount = 1, bytes = 5000 } = {}): Dataset {
  const above = temporaryDirectory();
  const source = path.join(above, 'source');
  const contents = new Map(keys.map((key, i) => [key, Buffer.from(someBytes(bytes + i, i + 1))]));
  for (const [key, content] of contents) {
    fs.mkdirSync(path.dirname(path.join(source, key)), { recursive: true });
    fs.writeFileSync(path.join(source, key), content);
  }
  const tiers = Array.from({ length: tierCount }, (_, level) => path.join(above, `tier${level}`));
  return { source, tiers, keys, contents };
}

/** Serves a dataset until the test ends. */
export async function serve(
  { source, tiers }: Pick<Dataset, 'source' | 'tiers'>,
  options: Partial<SessionOptions> & {
    readonly quota?: ByteSize;
    readonly placement?: PlacementHandlerOptions;
    readonly clock?: Clock;
  } = {},
  atEnd: Finally = onTestFinished,
): Promise<Interposer> {
  const { quota = '1GiB', placement, clock, ...others } = options;
  const interposer = await Interposer.open({
    hierarchy: {
      source: new FileSystemDriver({ root: source }),
      tiers: tiers.map((directory) => ({
        driver: new FileSystemDriver({ root: directory, writable: true }),
        quota,
      })),
      placement: new PlacementHandler(placement),
      clock,
    },
    ...others,
  });
  atEnd(() => interposer.close());
  return interposer;
}

/** Runs a program under the shim, and resolves to what it wrote. */
export async function run(
  interposer: Interposer,
  file: string,
  args: readonly string[],
  {
    input,
    ...options
  }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Promise<string> {
  const env = interposer.environment({ ...process.env, ...options.env });
  const running = promisify(execFile)(file, args, {
    ...options,
    env,
    maxBuffer: 2 ** 28,
    encoding: 'latin1',
  });
  if (input !== undefined) running.child.stdin?.end(input);
  return (await running).stdout;
}

/** Runs something, and says which opens it made of the source and of copies. */
export async function opensOf<T>(
  interposer: Interposer,
  work: () => Promise<T>,
): Promise<{ result: T; source: number; copies: number }> {
  const before = interposer.stats();
  const result = await work();
  const after = interposer.stats();
  const copies = after.redirected - before.redirected;
  return { result, copies, source: after.opens - before.opens - copies };
}
