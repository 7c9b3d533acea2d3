import type fs from 'node:fs';
import type { Descriptors } from './descriptors.js';
import { real } from './real-fs.js';
import { hasCopy, type Redirection } from './redirection.js';

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
    const [name, flags] = args;
    const found = redirection.find(name, flags);
    if (hasCopy(found)) {
      try {
        const fd = real.openSync(found.copy, flags);
        descriptors.note(fd, found);
        redirection.opened('copy', found);
        return fd;
      } catch {
        // It was evicted just now.
      }
    }
    const fd = real.openSync(...args);
    descriptors.forget(fd);
    if (found !== undefined) redirection.opened('source', found);
    return fd;
  };

  const readFileSync = (...args: Parameters<typeof fs.readFileSync>) => {
    const [name, options] = args;
    const found = redirection.find(name, flagOf(options));
    if (hasCopy(found)) {
      try {
        const bytes = readWhole(found.copy, options);
        redirection.opened('copy', found);
        return bytes;
      } catch {
        // Whatever is wrong, the source has the file, or says what is.
      }
    }
    const bytes = readWhole(...args);
    if (found !== undefined) redirection.opened('source', found);
    return bytes;
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
