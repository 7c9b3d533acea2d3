import type fs from 'node:fs';
import type { Descriptors } from './descriptors.js';
import { real } from './real-fs.js';
import type { Redirection } from './redirection.js';

/** The synchronous functions that read. */
export function synchronous(
  redirection: Redirection,
  descriptors: Descriptors,
): Pick<typeof fs, 'openSync' | 'readFileSync' | 'fstatSync'> {
  // In some versions of Node, readFileSync calls the openSync that it finds in `node:fs`.
  let isReading = false;
  const readWhole = (...args: Parameters<typeof fs.readFileSync>) => {
    isReading = true;
    try {
      return real.readFileSync(...args);
    } finally {
      isReading = false;
    }
  };

  const openSync: typeof fs.openSync = (...args) => {
    if (isReading) return real.openSync(...args);
    const [name, flags, mode] = args;
    return redirection.openSync({ name, flags, syscall: 'open' }, (path, copyOf) => {
      const fd = real.openSync(path, flags, mode);
      descriptors.note(fd, copyOf);
      return fd;
    });
  };

  const readFileSync = (...args: Parameters<typeof fs.readFileSync>) => {
    const [name, options] = args;
    const wanted = { name, flags: flagOf(options), syscall: 'open' };
    return redirection.openSync(wanted, (path) => readWhole(path, options));
  };

  const fstatSync = (fd: number, options?: fs.StatSyncOptions) => {
    const stats = real.fstatSync(fd, options);
    return descriptors.told(fd, stats, (source, isRight) => {
      const asked = real.statSync(source, { ...options, throwIfNoEntry: false });
      return asked !== undefined && isRight(asked) ? asked : stats;
    });
  };

  return {
    openSync,
    readFileSync: readFileSync as typeof fs.readFileSync,
    fstatSync: fstatSync as typeof fs.fstatSync,
  };
}

/** The flag that a file is read with. */
export const flagOf = (options: unknown): unknown =>
  typeof options === 'object' && options !== null ? (options as { flag?: unknown }).flag : undefined;
