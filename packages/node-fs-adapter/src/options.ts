import { systemClock, type Clock } from '@tiered/core';
import { assertCounts, assertNoTilde, configError } from '@tiered/core/internal';
import { native } from '@tiered/native';
import { READERS, type ReadableBy } from './write/file-writes.js';
import { LINKS, type Links } from './list/links.js';

/** The most threads of one kind that a driver may have. */
const MOST_THREADS = 256;

/** Options of `FileSystemDriver`. */
export interface FileSystemDriverOptions {
  /**
   * The directory. Keys are paths below it, with `/` between segments on every platform. A path that begins
   * with `~/` is refused, because only shells expand it to the home directory.
   */
  readonly root: string;
  /**
   * Whether the driver may write, as a tier does. The directory is then created if it is missing, and refused
   * if it holds files that the driver did not write. Default: false, because the source is never written.
   */
  readonly writable?: boolean | undefined;
  /**
   * Handling of symbolic links of a source that lead out of the root. `inside` refuses to read them, and
   * leaves them out of listings, which report that (`ListOptions.leftOut`). `refuse` makes a listing that
   * meets one fail with `TIERED_KEY_INVALID`. `follow` reads their targets, for datasets made of links to
   * files elsewhere. A user with write access to the root can then have any file read that this process may
   * read. Links that stay inside the root are always followed. Default: `inside`. A tier accepts no other
   * value.
   */
  readonly links?: Links | undefined;
  /**
   * Names the data of a source, so that copies on tiers, and a manifest, belong to this data wherever it is
   * mounted. Give two mount points one name if they show the same files with the same times and inodes. Use
   * another name for other data. Default: the path, and on Linux the details that tell the file system at
   * that path from another one, as far as known (servers, images, disks). Only for sources.
   */
  readonly identity?: string | undefined;
  /**
   * Whether a write is on the disk itself before it counts as published: the file, then its name, and every
   * directory that was created on the way. The same holds for a delete. Costs a few trips to the disk per
   * object. Default: false, because a tier is a cache: after a power cut, objects that it cannot prove are
   * fetched again.
   */
  readonly fsync?: boolean | undefined;
  /**
   * Readers of the files that the driver writes, whatever the umask: `owner` (files 0600, directories 0700),
   * `group` (0640, 0750) or `everyone` (0644, 0755). Existing directories stay unchanged. Files that the
   * driver keeps beside the objects are readable by the owner only. Default: `owner`, because a source may be
   * readable by few, and its copies must not be readable by more.
   */
  readonly readableBy?: ReadableBy | undefined;
  /**
   * Files kept open between reads, at least 1. A read of a kept file saves its open, check and close. Where
   * blocking reads are native, a file is kept from its second read on. Default: 256, a quarter of the
   * descriptors that a process commonly may have.
   */
  readonly maxOpenFiles?: number | undefined;
  /**
   * Whether reads of up to 256 KiB may be blocking system calls, as long as those are as fast as memory.
   * Writes never block. Default: as `writable`. A tier is a local disk whose files are mostly in the page
   * cache; a source is shared and may be slow at any moment.
   */
  readonly blockingCalls?: boolean | undefined;
  /**
   * The most concurrent reads in native threads, from 1 to 256, where `@tiered/native` is available. 0 uses
   * Node's thread pool, which is also used without the native part. That has four threads for the whole
   * process unless UV_THREADPOOL_SIZE says otherwise. A thread starts when a read finds none idle, and costs
   * some 10 KB. Unless this is 0, four more native threads write objects that are written at once, without
   * `fsync`. Default: 128, more than loaders have in flight.
   */
  readonly nativeThreads?: number | undefined;
  /**
   * Native threads that read batches (`readMany`) into shared memory, as long as their reads are as fast as
   * memory. 0 starts none. They start with the first such batch, and end at `close`. Without effect where
   * there are no native threads. Default: 2, which keep two cores busy. More gain little.
   */
  readonly readerThreads?: number | undefined;
  /**
   * Concurrent operations of the file system in a listing, at least 1. They read directories and describe
   * files. Node's thread pool makes 4 of them at a time, unless UV_THREADPOOL_SIZE, set before Node starts,
   * says otherwise. Default: 32, because a shared file system answers slowly, but many requests at a time.
   */
  readonly listConcurrency?: number | undefined;
  /** Times blocking calls. Default: the clock of the machine. */
  readonly clock?: Clock | undefined;
}

/** The options with their defaults. */
export type CheckedFileOptions = {
  readonly [Field in Exclude<keyof FileSystemDriverOptions, 'identity'>]-?: Exclude<
    FileSystemDriverOptions[Field],
    undefined
  >;
} & Pick<FileSystemDriverOptions, 'identity'>;

/**
 * Checks the options and fills in the defaults. Numbers of threads are 0 for kinds that are not used here.
 */
export function checkedOptions(options: FileSystemDriverOptions): CheckedFileOptions {
  const { root, writable = false, fsync = false, maxOpenFiles = 256, listConcurrency = 32 } = options;
  if (typeof root !== 'string' || root.length === 0 || root.includes('\0')) {
    throw configError('root', 'the path of a directory', root);
  }
  assertNoTilde('root', root);
  const {
    blockingCalls = writable,
    nativeThreads = 128,
    readerThreads = 2,
    readableBy = 'owner',
    links = 'inside',
    identity,
    clock = systemClock,
  } = options;
  if (!LINKS.includes(links)) throw configError('links', LINKS.join(', '), links);
  if (writable && links !== 'inside') throw configError('links', 'inside, as the driver is writable', links);
  if (!READERS.includes(readableBy)) throw configError('readableBy', READERS.join(', '), readableBy);
  if (identity !== undefined && (typeof identity !== 'string' || !/^\S{1,1000}$/.test(identity)))
    throw configError('identity', 'a name without blanks, of at most 1,000 characters', identity);
  if (writable && identity !== undefined)
    throw configError('identity', 'none, as the driver is writable', identity);
  assertCounts({ maxOpenFiles, listConcurrency });
  assertCounts({ nativeThreads, readerThreads }, 0);
  for (const [field, threads] of Object.entries({ nativeThreads, readerThreads }))
    if (threads > MOST_THREADS) throw configError(field, `at most ${MOST_THREADS}`, threads);
  const areNative = native().available && nativeThreads > 0;
  return {
    root,
    writable,
    fsync,
    readableBy,
    links,
    identity,
    maxOpenFiles,
    listConcurrency,
    blockingCalls,
    nativeThreads: areNative ? nativeThreads : 0,
    readerThreads: areNative ? readerThreads : 0,
    clock,
  };
}
