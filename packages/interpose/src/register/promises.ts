import type fs from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { Descriptors } from './descriptors.js';
import { realPromises } from './real-fs.js';
import { hasCopy, type Redirection } from './redirection.js';
import { flagOf } from './synchronous.js';

/** The functions with promises that read. */
export function promises(
  redirection: Redirection,
  descriptors: Descriptors,
): Pick<typeof fs.promises, 'open' | 'readFile'> {
  const open: typeof fs.promises.open = async (...args) => {
    const [name, flags] = args;
    const found = redirection.find(name, flags);
    if (hasCopy(found)) {
      const handle = await realPromises.open(found.copy, flags).catch(() => undefined);
      if (handle !== undefined) {
        descriptors.note(handle.fd, found);
        redirection.opened('copy', found);
        return handle;
      }
    }
    const handle = await realPromises.open(...args);
    descriptors.forget(handle.fd);
    if (found !== undefined) redirection.opened('source', found);
    return handle;
  };

  const readFile = async (...args: Parameters<typeof fs.promises.readFile>) => {
    const [name, options] = args;
    const found = redirection.find(name, flagOf(options));
    if (hasCopy(found)) {
      try {
        const bytes = await realPromises.readFile(found.copy, options);
        redirection.opened('copy', found);
        return bytes;
      } catch (error) {
        // Else, whatever is wrong, the source has the file, or says what is.
        if ((error as Error).name === 'AbortError') throw error;
      }
    }
    const bytes = await realPromises.readFile(...args);
    if (found !== undefined) redirection.opened('source', found);
    return bytes;
  };
  return { open, readFile: readFile as typeof fs.promises.readFile };
}

/** `stat` of open files. Every one has the same, which is found at one of them. */
export async function statOfHandles(descriptors: Descriptors): Promise<void> {
  const any = await realPromises.open(process.execPath);
  const prototype = Object.getPrototypeOf(any) as FileHandle;
  await any.close();
  // It is called with its handle.
  // eslint-disable-next-line @typescript-eslint/unbound-method
  const original = prototype.stat as (this: FileHandle, options?: fs.StatOptions) => Promise<fs.Stats>;
  async function stat(this: FileHandle, options?: fs.StatOptions): Promise<fs.Stats> {
    const stats = await original.call(this, options);
    return descriptors.told(this.fd, stats, async (source, isRight) => {
      const asked = await realPromises.stat(source, options ?? {}).catch(() => undefined);
      return asked !== undefined && isRight(asked) ? (asked as fs.Stats) : stats;
    });
  }
  Object.defineProperty(prototype, 'stat', {
    ...Object.getOwnPropertyDescriptor(prototype, 'stat'),
    value: stat,
  });
}
