/**
 * The functions of `node:fs` that take a path and open nothing, for paths below a root that need not be
 * there. All else is Node's.
 * @module
 */
import type fs from 'node:fs';
import { callbackify } from 'node:util';
import { ANSWERS, assertDirectory, isThere } from './answers.js';
import type { Bucket } from './bucket.js';
import { withCallback, type WithCallback } from './callbacks.js';
import { real, realPromises } from './real-fs.js';
import type { Redirection } from './redirection.js';
import type { Imagined, SessionView } from './session-view.js';
import { isPath } from './wanted.js';

type Name = keyof typeof ANSWERS;
type AnyFunction = (...args: unknown[]) => unknown;

/** What an error calls it. */
const SYSCALLS: Partial<Record<Name, string>> = { readdir: 'scandir', opendir: 'opendir' };

/** What they need. */
export interface BucketParts {
  readonly session: SessionView;
  readonly bucket: Bucket;
  readonly redirection: Redirection;
}

/** Of `node:fs`, and of `node:fs/promises`. */
export function bucketFunctions(parts: BucketParts): {
  readonly fs: Record<string, AnyFunction>;
  readonly promises: Record<string, AnyFunction>;
  /** What `realpath` and `realpathSync` have besides. */
  readonly native: Record<'realpath' | 'realpathSync', AnyFunction>;
} {
  const names = Object.keys(ANSWERS) as Name[];
  const inPlaces = (make: (name: Name) => [string, AnyFunction]) => Object.fromEntries(names.map(make));
  return {
    fs: {
      ...inPlaces((name) => [`${name}Sync`, synchronous(parts, name)]),
      ...inPlaces((name) => [name, calling(parts, name)]),
      ...existing(parts),
      ...copying(parts),
    },
    promises: {
      ...inPlaces((name) => [name, promising(parts, name)]),
      copyFile: copyingAsync(parts),
    },
    native: {
      realpath: calling(parts, 'realpath', real.realpath.native),
      realpathSync: synchronous(parts, 'realpath', real.realpathSync.native as AnyFunction),
    },
  };
}

const imaginedIn = ({ session }: BucketParts, name: unknown): Imagined | undefined =>
  isPath(name) ? session.imagine(name) : undefined;

function synchronous(
  parts: BucketParts,
  name: Name,
  original = real[`${name}Sync`] as AnyFunction,
): AnyFunction {
  return (...args) => {
    const imagined = imaginedIn(parts, args[0]);
    if (imagined === undefined) return original(...args);
    const [, options] = args;
    const syscall = SYSCALLS[name];
    if (syscall !== undefined) {
      assertDirectory(imagined, syscall);
      parts.bucket.completeSync(imagined, isRecursive(options), syscall);
    }
    return ANSWERS[name](imagined, options);
  };
}

async function answer({ bucket }: BucketParts, name: Name, imagined: Imagined, options: unknown) {
  const syscall = SYSCALLS[name];
  if (syscall !== undefined) {
    assertDirectory(imagined, syscall);
    await bucket.complete(imagined, isRecursive(options), syscall);
  }
  return ANSWERS[name](imagined, options);
}

function promising(parts: BucketParts, name: Name): AnyFunction {
  const original = realPromises[name] as AnyFunction;
  return async (...args) => {
    const imagined = imaginedIn(parts, args[0]);
    return imagined === undefined ? original(...args) : answer(parts, name, imagined, args[1]);
  };
}

function calling(parts: BucketParts, name: Name, origin: unknown = real[name]): AnyFunction {
  const original = origin as WithCallback<unknown>;
  return withCallback<unknown>(original, (args, callback) => {
    const imagined = imaginedIn(parts, args[0]);
    if (imagined === undefined) original(...args, callback);
    else callbackify(() => answer(parts, name, imagined, args[1]))(callback);
  });
}

function existing(parts: BucketParts): Record<'exists' | 'existsSync', AnyFunction> {
  const { exists, existsSync } = real as unknown as Record<'exists' | 'existsSync', AnyFunction>;
  return {
    existsSync: (name) => {
      const imagined = imaginedIn(parts, name);
      return imagined === undefined ? existsSync(name) : isThere(imagined);
    },
    exists: (name, callback) => {
      const imagined = imaginedIn(parts, name);
      if (imagined === undefined || typeof callback !== 'function') exists(name, callback);
      else process.nextTick(callback, isThere(imagined));
    },
  };
}

const wantedFrom = (name: unknown) => ({ name, flags: 'r', syscall: 'copyfile' });

/** Of other files, Node copies the source: a copy would have the mode of a copy. */
function copying(parts: BucketParts): Record<'copyFile' | 'copyFileSync', AnyFunction> {
  const original = real.copyFile as unknown as WithCallback<unknown>;
  const copyFileSync = real.copyFileSync as AnyFunction;
  const copyFileAsync = copyingAsync(parts);
  return {
    copyFileSync: (...args) => {
      const [from, ...rest] = args;
      if (imaginedIn(parts, from) === undefined) return copyFileSync(...args);
      return parts.redirection.openSync(wantedFrom(from), (copy) => copyFileSync(copy, ...rest));
    },
    copyFile: withCallback<unknown>(original, (args, callback) => {
      if (imaginedIn(parts, args[0]) === undefined) original(...args, callback);
      else callbackify(() => copyFileAsync(...args) as Promise<unknown>)(callback);
    }),
  };
}

function copyingAsync({ session, redirection }: BucketParts): AnyFunction {
  const copyFile = realPromises.copyFile as AnyFunction;
  return async (...args) => {
    const [from, ...rest] = args as [fs.PathLike];
    if (!isPath(from) || session.imagine(from) === undefined) return copyFile(...args);
    return redirection.open(wantedFrom(from), async (copy) => copyFile(copy, ...rest));
  };
}

const isRecursive = (options: unknown): boolean =>
  (options as { recursive?: unknown } | undefined | null)?.recursive === true;
