/** Makes the driver from a configuration file. @module */
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { filePath, flag, group, oneOf, text, wholeNumber } from '@tiered/config/fields';
import type { DriverFactory } from '@tiered/core/driver';
import { existingAt } from '@tiered/core/internal';
import { FileSystemDriver } from './driver.js';
import { LINKS } from './list/links.js';
import { READERS } from './write/file-writes.js';
import type { FileSystemDriverOptions } from './options.js';

const schema = group('options of the driver', {
  root: filePath('the path of a directory', {
    title: 'Directory',
    description: 'The directory, relative to the file. Keys are paths below it.',
  }),
  fsync: flag({
    title: 'fsync',
    description: 'Whether an object is flushed to the disk before it is used. Default: false.',
  }).optional(),
  readableBy: oneOf(READERS, {
    title: 'Readable by',
    description:
      'Readers of the files that are written, whatever the umask is: owner, group or everyone. Default: ' +
      'owner.',
  }).optional(),
  links: oneOf(LINKS, {
    title: 'Links',
    description:
      'Handling of symbolic links in a source that lead out of the directory: inside leaves them out, ' +
      'refuse makes the listing fail, follow reads their targets. Default: inside.',
  }).optional(),
  identity: text('a name without blanks', {
    title: 'Identity',
    description:
      'Name of the data in a source, for copies and manifests. Use the same name for the same data at ' +
      'another mount point. Default: the directory and its file system.',
  }).optional(),
  maxOpenFiles: wholeNumber(1, {
    title: 'Open files',
    description: 'Maximum number of files kept open between reads. Default: 256.',
  }).optional(),
  blockingCalls: flag({
    title: 'Blocking calls',
    description:
      'Whether small reads may be blocking system calls, as long as these are as fast as memory. Default: ' +
      'true for a tier, false for the source.',
  }).optional(),
  nativeThreads: wholeNumber(0, {
    title: 'Native threads',
    description:
      "Maximum number of concurrent reads in native threads, where these are available; 0 for Node's " +
      'thread pool. Default: 128.',
  }).optional(),
  readerThreads: wholeNumber(0, {
    title: 'Reader threads',
    description:
      'Native threads that read batches into shared memory, as long as their reads are as fast as memory; ' +
      '0 for none. Default: 2.',
  }).optional(),
  listConcurrency: wholeNumber(1, {
    title: 'Listing',
    description: 'Maximum number of concurrent operations of a listing. Default: 32.',
  }).optional(),
});

/** `driver: fs`: a directory. It is written only if it is a tier. */
export const driverFactory: DriverFactory<Omit<FileSystemDriverOptions, 'writable' | 'clock'>> = {
  schema,
  create: (options, { baseDirectory, role, clock }) =>
    new FileSystemDriver({
      ...options,
      root: path.resolve(baseDirectory, options.root),
      writable: role === 'tier',
      clock,
    }),
  capacityBytes: async ({ root }, { baseDirectory }) => {
    const { blocks, bsize } = await statfs(await existingAt(path.resolve(baseDirectory, root)));
    return blocks * bsize;
  },
};
