/**
 * What is said of paths below a root that need not be there: by the table, and by the tree of directories in
 * the directory of the session.
 * @module
 */
import fs, { type Dir, type Dirent } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { isDirectory } from './bucket.js';
import { real } from './real-fs.js';
import type { Imagined } from './session-view.js';
import { describe, setAll } from './stats.js';
import { systemError } from './system-error.js';
import type { TableEntry } from './table-view.js';

const { EACCES, EINVAL, ENOENT, ENOTDIR, EROFS } = os.constants.errno;
const BLOCK = 4096;
/** Of what stat counts. */
const SECTOR = 512;
/** Of a file that is changing just now. */
const UNKNOWN = { inode: 0n, modified: 0n, mode: 0o100400, device: 0, user: 0, group: 0 };

type Options = Record<string, unknown> | undefined;
type Answer = (imagined: Imagined, argument: unknown) => unknown;

/** By the name of the function that asks. */
export const ANSWERS: Record<
  'stat' | 'lstat' | 'access' | 'realpath' | 'readlink' | 'readdir' | 'opendir',
  Answer
> = {
  stat: (imagined, options) => stat(imagined, 'stat', options as Options),
  lstat: (imagined, options) => stat(imagined, 'lstat', options as Options),
  access,
  realpath: (imagined, options) => {
    if (!isThere(imagined)) throw systemError(ENOENT, 'realpath', imagined.name);
    return encoded(imagined.source, options);
  },
  // There are no links.
  readlink: (imagined) => {
    throw systemError(isThere(imagined) ? EINVAL : ENOENT, 'readlink', imagined.name);
  },
  readdir: (imagined, options) => {
    const names = real.readdirSync(imagined.tree, options as { withFileTypes: true });
    return names.map((name) =>
      typeof name === 'object' && 'isFile' in name ? asFile(imagined, name) : name,
    );
  },
  opendir: (imagined, options) =>
    asImagined(imagined, real.opendirSync(imagined.tree, options as fs.OpenDirOptions)),
};

/** Whether it is a file or a directory. */
export const isThere = (imagined: Imagined): boolean => imagined.found !== undefined || isDirectory(imagined);

/** @throws As the kernel refuses to list what is no directory. */
export function assertDirectory(imagined: Imagined, syscall: string): void {
  if (isDirectory(imagined)) return;
  throw systemError(imagined.found === undefined ? ENOENT : ENOTDIR, syscall, imagined.name);
}

function stat(imagined: Imagined, syscall: string, options: Options): unknown {
  const { found, tree, name } = imagined;
  if (found !== undefined) return statOf(path.dirname(tree), found.entry, options);
  if (isDirectory(imagined)) return real.statSync(tree, options);
  if (options?.['throwIfNoEntry'] === false) return undefined;
  throw systemError(ENOENT, syscall, name);
}

/** @param template Something that is there, whose answer has all fields, in the form that is asked for. */
function statOf(template: string, { bytes, file = UNKNOWN }: TableEntry, options: Options): unknown {
  const stats = describe(real.statSync(template, options), file);
  setAll(stats, {
    ...{ size: bytes, rdev: 0 },
    ...{ blksize: BLOCK, blocks: Math.ceil(bytes / SECTOR) },
  });
  return stats;
}

/** Files may be read, and nothing may be written. */
function access(imagined: Imagined, argument: unknown): void {
  const { R_OK, W_OK, X_OK } = fs.constants;
  const mode = typeof argument === 'number' ? argument & (R_OK | W_OK | X_OK) : 0;
  let errno = 0;
  if (!isThere(imagined)) errno = ENOENT;
  else if ((mode & W_OK) !== 0) errno = EROFS;
  else if ((mode & X_OK) !== 0 && imagined.found !== undefined) errno = EACCES;
  if (errno !== 0) throw systemError(errno, 'access', imagined.name);
}

/** An entry of the tree, as one of the root: files are links in the tree. */
function asFile<T extends Dirent | Dirent<Buffer>>({ name, tree }: Imagined, entry: T): T {
  const isFile = entry.isSymbolicLink();
  for (const field of ['parentPath', 'path'] as const) {
    const where = Object.getOwnPropertyDescriptor(entry, field)?.value as unknown;
    if (typeof where === 'string' && where.startsWith(tree))
      setHidden(entry, field, path.join(name, path.relative(tree, where)));
  }
  if (isFile) setHidden(entry, 'isFile', () => true);
  if (isFile) setHidden(entry, 'isSymbolicLink', () => false);
  return entry;
}

/** An open directory of the tree, as one of the root. */
function asImagined(imagined: Imagined, directory: Dir): Dir {
  const convert = (entry: Dirent | null | undefined) => entry && asFile(imagined, entry);
  type Then = (error: unknown, entry?: Dirent | null) => void;
  const read: (then?: Then) => Promise<Dirent | null> = directory.read.bind(directory);
  const readSync = directory.readSync.bind(directory);
  const entries = directory[Symbol.asyncIterator].bind(directory);
  const iterate = async function* () {
    for await (const entry of entries()) yield asFile(imagined, entry);
  };
  setHidden(directory, 'path', imagined.name);
  setHidden(directory, 'readSync', () => convert(readSync()));
  setHidden(directory, 'read', (then?: Then) =>
    then === undefined ? read().then(convert) : read((error, entry) => then(error, convert(entry))),
  );
  setHidden(directory, 'entries', iterate);
  setHidden(directory, Symbol.asyncIterator, iterate);
  return directory;
}

/** Sets what the object keeps as it was when it is listed. */
function setHidden(object: object, name: string | symbol, value: unknown): void {
  const enumerable = Object.getOwnPropertyDescriptor(object, name)?.enumerable === true;
  Object.defineProperty(object, name, { value, enumerable, writable: true, configurable: true });
}

function encoded(text: string, options: unknown): string | Buffer {
  const encoding =
    typeof options === 'string' ? options : (options as { encoding?: BufferEncoding } | undefined)?.encoding;
  if (encoding === 'buffer') return Buffer.from(text);
  return encoding === undefined ? text : Buffer.from(text).toString(encoding as BufferEncoding);
}
