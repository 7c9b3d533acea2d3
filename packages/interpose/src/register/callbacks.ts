import type fs from 'node:fs';
import type { Descriptors } from './descriptors.js';
import { real } from './real-fs.js';
import { hasCopy, type Redirection } from './redirection.js';
import { flagOf } from './synchronous.js';

type Callback<T> = (error: NodeJS.ErrnoException | null, result?: T) => void;
/** A function of `node:fs` whose last argument is a callback. */
type WithCallback<T> = (...args: [...rest: unknown[], callback: Callback<T>]) => void;

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
  const realOpen = real.open as unknown as WithCallback<number>;
  return withCallback<number>(realOpen, (args, callback) => {
    const [name, flags] = args;
    const found = redirection.find(name, flags);
    const fromSource = () => {
      realOpen(...args, (error, fd) => {
        if (fd !== undefined) descriptors.forget(fd);
        if (error === null && found !== undefined) redirection.opened('source', found);
        callback(error, fd);
      });
    };
    if (!hasCopy(found)) fromSource();
    else
      realOpen(found.copy, flags ?? 'r', (error, fd) => {
        if (error === null && fd !== undefined) {
          descriptors.note(fd, found);
          redirection.opened('copy', found);
          callback(null, fd);
        } else {
          // It was evicted just now.
          fromSource();
        }
      });
  });
}

function reading(redirection: Redirection): (...args: unknown[]) => void {
  const realReadFile = real.readFile as unknown as WithCallback<unknown>;
  return withCallback<unknown>(realReadFile, (args, callback) => {
    const [name, options] = args;
    const found = redirection.find(name, flagOf(options));
    const fromSource = () => {
      realReadFile(...args, (error, bytes) => {
        if (error === null && found !== undefined) redirection.opened('source', found);
        callback(error, bytes);
      });
    };
    if (!hasCopy(found)) fromSource();
    else
      realReadFile(found.copy, options, (error, bytes) => {
        if (error === null) redirection.opened('copy', found);
        // Whatever else is wrong, the source has the file, or says what is.
        if (error === null || error.name === 'AbortError') callback(error, bytes);
        else fromSource();
      });
  });
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
function withCallback<T>(
  original: WithCallback<T>,
  work: (args: unknown[], callback: Callback<T>) => void,
): (...args: unknown[]) => void {
  return (...args) => {
    const callback = args.at(-1);
    if (typeof callback === 'function') work(args.slice(0, -1), callback as Callback<T>);
    else original(...(args as [Callback<T>]));
  };
}
