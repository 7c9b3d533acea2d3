import { TieredError } from '@tiered/core';
import fs from 'node:fs';
import path from 'node:path';

/** The variable that names the directory of a daemon to programs. */
const VARIABLE = 'TIERED_INTERPOSE';

/**
 * Returns the path of the shim for this platform: the one that the environment variable `TIERED_SHIM` names,
 * else the one of this package.
 * @throws TieredError `TIERED_UNSUPPORTED` if there is none.
 */
export function shimFile(): string {
  const wish = process.env['TIERED_SHIM'];
  if (wish !== undefined && wish !== '') return assertNameable(path.resolve(wish));
  const file = path.join(import.meta.dirname, `../build/linux-${process.arch}/tiered-shim.so`);
  if (process.platform === 'linux' && fs.existsSync(file)) return assertNameable(file);
  const reason =
    process.platform === 'linux'
      ? 'it is not built; run "npm run build"'
      : `it is for Linux only, this is ${process.platform}`;
  throw new TieredError('TIERED_UNSUPPORTED', `The shim of @tiered/interpose is not there: ${reason}.`);
}

/**
 * The environment of programs that are to find the copies of a daemon in another process.
 * @param directory Of its session, as in the option `at`.
 * @param env What they have besides. Default: that of this process.
 * @throws TieredError `TIERED_NOT_FOUND` if there is no daemon; `TIERED_UNSUPPORTED` if there is no shim for
 * this platform.
 */
export function environmentAt(directory: string, env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  if (fs.existsSync(path.join(directory, 'table'))) return environmentFor(path.resolve(directory), env);
  throw new TieredError(
    'TIERED_NOT_FOUND',
    `There is no daemon at ${directory}; start "tiered daemon" there.`,
  );
}

/** The environment in which programs run under the shim, and look into the directory of a daemon. */
export function environmentFor(directory: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { LD_PRELOAD: others } = env;
  // Behind them, because allocators and sanitizers have to be the first.
  const preloaded = others === undefined || others === '' ? shimFile() : `${others}:${shimFile()}`;
  return { ...env, LD_PRELOAD: preloaded, [VARIABLE]: directory };
}

/** `LD_PRELOAD` is a list, and nothing in it can be quoted. */
function assertNameable(file: string): string {
  if (!/[\s:]/.test(file)) return file;
  throw new TieredError(
    'TIERED_UNSUPPORTED',
    `The shim is at ${JSON.stringify(file)}, which LD_PRELOAD cannot name; install @tiered/interpose in a directory without spaces and colons in its path.`,
  );
}
