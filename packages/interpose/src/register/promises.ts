import type fs from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { Descriptors } from './descriptors.js';
import { realPromises } from './real-fs.js';
import type { Redirection } from './redirection.js';
import { flagOf } from './synchronous.js';

/** The functions with promises that read. */
export function promises(
  redirection: Redirection,
  descriptors: Descriptors,
): Pick<typeof fs.promises, 'open' | 'readFile'> {
  const open: typeof fs.promises.open = (...args) => {
    const [name, flags, mode] = args;
    return redirection.open({ name, flags, syscall: 'open' }, async (path, copyOf) => {
      const handle = await realPromises.open(path, flags, mode);
      descriptors.note(handle.fd, copyOf);
      return handle;
    });
  };

  const readFile = (...args: Parameters<typeof fs.promises.readFile>) => {
    const [name, options] = args;
    const wanted = { name, flags: flagOf(options), syscall: 'open' };
    return redirection.open(wanted, (path) => realPromises.readFile(path, options));
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
