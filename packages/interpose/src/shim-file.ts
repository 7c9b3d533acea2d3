import { TieredError } from '@tiered/core';
import { familySync } from 'detect-libc';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { aboutSession } from './daemon/session-directory.js';

/** The environment variable that names the directory of a daemon's session to programs. */
export const SESSION_VARIABLE = 'TIERED_INTERPOSE';
/** The one that tells programs below which path they find the objects. */
const ROOT_VARIABLE = 'TIERED_ROOT';
const FILE = 'tiered-shim.so';
const require = createRequire(import.meta.url);

/**
 * Returns the path of the shim for this platform: the one that the environment variable `TIERED_SHIM` names,
 * else the one of the package for this platform, such as `@tiered/interpose-linux-x64-gnu`, else the one that
 * was built in this directory (`npm run build`).
 * @throws TieredError `TIERED_UNSUPPORTED` if there is none.
 */
export function shimFile(): string {
  const wish = process.env['TIERED_SHIM'];
  if (wish !== undefined && wish !== '') return assertNameable(path.resolve(wish));
  if (process.platform !== 'linux') throw missing(`it is for Linux only, this is ${process.platform}`);
  if (familySync() === 'musl') throw missing('it is for glibc only, and this is musl');
  const platform = `linux-${process.arch}-gnu`;
  const name = `@tiered/interpose-${platform}`;
  const built = path.join(import.meta.dirname, '../build', platform, FILE);
  const file = installed(`${name}/${FILE}`) ?? (fs.existsSync(built) ? built : undefined);
  if (file !== undefined) return assertNameable(file);
  throw missing(
    `${name} is not installed; do not leave out optional dependencies, or run "npm run build" in a clone`,
  );
}

/** The path of a file of a package; undefined if the package is not installed. */
function installed(specifier: string): string | undefined {
  try {
    return require.resolve(specifier);
  } catch {
    return undefined;
  }
}

const missing = (reason: string): TieredError =>
  new TieredError('TIERED_UNSUPPORTED', `The shim of @tiered/interpose is not there: ${reason}.`);

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

/**
 * The environment in which programs run under the shim, and look into the directory of a daemon. It names the
 * path below which they find the objects, too.
 */
export function environmentFor(directory: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { LD_PRELOAD: others } = env;
  // Behind them, because allocators and sanitizers have to be the first.
  const preloaded = others === undefined || others === '' ? shimFile() : `${others}:${shimFile()}`;
  const about = aboutSession(directory);
  const root = about === undefined ? {} : { [ROOT_VARIABLE]: about.root };
  // A sanitizer that gcc links as a library insists on being the first, although it works behind the shim.
  const { ASAN_OPTIONS: options = '' } = env;
  const asan = ['verify_asan_link_order=0', ...(options === '' ? [] : [options])].join(':');
  return { ...env, LD_PRELOAD: preloaded, ASAN_OPTIONS: asan, [SESSION_VARIABLE]: directory, ...root };
}

/** `LD_PRELOAD` is a list, and nothing in it can be quoted. */
function assertNameable(file: string): string {
  if (!/[\s:]/.test(file)) return file;
  throw new TieredError(
    'TIERED_UNSUPPORTED',
    `The shim is at ${JSON.stringify(file)}, which LD_PRELOAD cannot name; install @tiered/interpose in a directory without spaces and colons in its path.`,
  );
}
