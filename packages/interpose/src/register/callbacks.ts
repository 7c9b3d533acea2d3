import type fs from 'node:fs';
import { callbackify, promisify } from 'node:util';
import type { Descriptors } from './descriptors.js';
import { real } from './real-fs.js';
import type { Redirection } from './redirection.js';
import { flagOf } from './synchronous.js';
import type { Opening, Wanted } from './wanted.js';

/** As Node calls back. */
export type Callback<T> = (error: NodeJS.ErrnoException | null, result?: T) => void;
/** A function of `node:fs` whose last argument is a callback. */
export type WithCallback<T> = (...args: [...rest: unknown[], callback: Callback<T>]) => void;

/** The functions with callbacks that read. Streams call `open` too. */
export function callbacks(
  redirection: Redirection,
  descriptors: Descriptors,
): Record<'open' | 'readFile' | 'fstat', (...args: unknown[]) => void> {
  return {
    open: opening(redirection, descriptors),
    readFile: reading(redirection),
    fstat: describing(descriptors),
  };
}

function opening(redirection: Redirection, descriptors: Descriptors): (...args: unknown[]) => void {
  const realOpen = promisify(real.open);
  const original = real.open as unknown as WithCallback<number>;
  return withCallback<number>(original, (args, callback) => {
    const [name, flags, mode] = args;
    const isRedirected = redirect(
      redirection,
      { name, flags, syscall: 'open' },
      callback,
      async (path, copyOf) => {
        const fd = await realOpen(path, flags as fs.OpenMode, mode as fs.Mode);
        descriptors.note(fd, copyOf);
        return fd;
      },
    );
    if (isRedirected) return;
    original(...args, (error, fd) => {
      if (fd !== undefined) descriptors.note(fd, undefined);
      callback(error, fd);
    });
  });
}

function reading(redirection: Redirection): (...args: unknown[]) => void {
  const realReadFile = promisify(real.readFile);
  const original = real.readFile as unknown as WithCallback<unknown>;
  return withCallback<unknown>(original, (args, callback) => {
    const [name, options] = args;
    const wanted = { name, flags: flagOf(options), syscall: 'open' };
    const isRedirected = redirect(redirection, wanted, callback, (path) =>
      realReadFile(path, options as object),
    );
    if (!isRedirected) original(...args, callback);
  });
}

/** What Node does itself it also refuses itself, before it calls back. */
function redirect<T>(
  redirection: Redirection,
  wanted: Wanted,
  callback: Callback<T>,
  open: Opening<Promise<T>>,
): boolean {
  const found = redirection.find(wanted);
  if (found === undefined) return false;
  callbackify(() => redirection.open(wanted, open, found))(callback);
  return true;
}

function describing(descriptors: Descriptors): (...args: unknown[]) => void {
  const realFstat = real.fstat as unknown as WithCallback<fs.Stats>;
  const realStat = real.stat as unknown as WithCallback<fs.Stats>;
  return withCallback<fs.Stats>(realFstat, (args, callback) => {
    const [fd, options] = args;
    realFstat(...args, (error, stats) => {
      if (error !== null || stats === undefined) {
        callback(error, stats);
        return;
      }
      const told = descriptors.told(fd as number, stats, (source, isRight) => {
        realStat(source, options ?? {}, (failed, asked) => {
          callback(null, failed === null && asked !== undefined && isRight(asked) ? asked : stats);
        });
      });
      if (told !== undefined) callback(null, told);
    });
  });
}

/** What is called without a callback is Node's to refuse. */
export function withCallback<T>(
  original: WithCallback<T>,
  work: (args: unknown[], callback: Callback<T>) => void,
): (...args: unknown[]) => void {
  return (...args) => {
    const callback = args.at(-1);
    if (typeof callback === 'function') work(args.slice(0, -1), callback as Callback<T>);
    else original(...(args as [Callback<T>]));
  };
}
