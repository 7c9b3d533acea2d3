import fs from 'node:fs';
import path from 'node:path';
import type { ObjectStat } from '@tiered/core';
import { onAbort, raceAbort } from '@tiered/core/internal';
import {
  below,
  DENIED,
  descend,
  follow,
  OUTSIDE,
  rootOf,
  type Directory,
  type Entering,
  type Links,
} from './links.js';
import { describe } from '../file-version.js';
import { assertNames, REPLACED } from './names.js';
import { hasErrno } from '../errors.js';
import { isPrivate, leavesRoot } from '../root/keys.js';

/** Objects per page: enough to amortise the hand-over, and few enough to keep the event loop free. */
const PAGE = 1000;
/**
 * Names that are found ahead of their description, and objects that are described ahead of the reader of the
 * pages.
 */
const AHEAD = PAGE;
/** Entries per call. Single entries would each cost a trip through the thread pool. */
const ENTRIES_AT_ONCE = 256;

/** A directory whose entries are being listed. */
interface Entered {
  readonly directory: Directory;
  readonly entries: fs.Dir;
  /** Whether its names were compared with those on the disk. */
  areNamesSure: boolean;
}

/** A file or a link to describe. */
interface Named {
  readonly directory: Directory;
  readonly name: string;
}

/** The directory and the keys of a walk. */
export interface WalkOptions {
  readonly root: string;
  /** The directory that links may not leave. */
  readonly boundary: string;
  readonly links: Links;
  /** Whether this is a source. A tier holds files of its driver: no links, and no odd names. */
  readonly isSource: boolean;
  /** The driver, for errors. */
  readonly driver: string;
  readonly prefix: string;
  /** Concurrent operations of the file system. */
  readonly concurrency: number;
  /**
   * Called for everything on the way: files, links, directories, and the content of the private directory,
   * which is otherwise left out. Costs a stat of each directory.
   */
  readonly measure?: ((stat: fs.BigIntStats) => void) | undefined;
  /** Called for links that are left out, with the reason. */
  readonly leftOut?: ((key: string, why: string) => void) | undefined;
  /** Ends the walk at once. */
  readonly signal: AbortSignal | undefined;
  /** Called when an abort has left hanging calls behind, with a promise for the end of all of them. */
  readonly left: (ended: Promise<void>) => void;
}

/**
 * Lists the regular files below a root, in pages, in any order. Links to files are objects too. Links to
 * directories of a source are entered, unless they lead out of the root or in circles. Anything that is
 * neither a file nor a directory is left out, and so is a file that vanishes meanwhile.
 *
 * Directories are read and files described concurrently, with as many operations as allowed, because a shared
 * file system answers slowly, but many requests at a time. Memory does not grow with a directory: reading
 * pauses while enough names wait to be described, and describing pauses while enough pages wait to be taken.
 */
export async function* walk(options: WalkOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
  const { root, boundary, isSource, prefix, signal, left } = options;
  signal?.throwIfAborted();
  // A missing root is an error, and not an empty listing.
  await raceAbort(assertDirectory(root), signal);
  // Only directories that can hold the prefix are walked.
  const above = prefix.slice(0, Math.max(0, prefix.lastIndexOf('/')));
  const start =
    above === ''
      ? rootOf(root)
      : await raceAbort(descend({ root, boundary, entersLinks: isSource }, above), signal);
  if (start === undefined || (above === '' && prefix.startsWith('/'))) return;
  const walking = new Walk(options, start);
  const stopListening = onAbort(signal, (reason) => walking.fail(reason));
  try {
    for (let page = await walking.next(); page.length > 0; page = await walking.next()) yield page;
  } finally {
    stopListening();
    const stopped = walking.stop();
    if (signal?.aborted === true) left(stopped);
    else await stopped;
  }
}

async function assertDirectory(directory: string): Promise<void> {
  await (await fs.promises.opendir(directory)).close();
}

class Walk {
  readonly #options: WalkOptions;
  /** Directories to enter, the last one first, so that there are never many. */
  readonly #directories: Directory[];
  /** Directories that were entered, and are not being read now. */
  readonly #entered: Entered[] = [];
  /** Files and links to describe. */
  readonly #named: Named[] = [];
  readonly #found: ObjectStat[] = [];
  /** The prefix of keys in the directory where the walk begins. */
  readonly #start: string;
  #underWay = 0;
  #stopped = false;
  #failure: { readonly error: unknown } | undefined;
  /** Tells the waiting walk that an operation has ended. */
  #ended: () => void = () => undefined;

  constructor(options: WalkOptions, start: Directory) {
    this.#options = options;
    this.#directories = [start];
    this.#start = start.prefix;
  }

  /** Resolves to the next page. All pages but the last are full. An empty one is the end. */
  async next(): Promise<readonly ObjectStat[]> {
    this.#startAll();
    while (this.#failure === undefined && this.#found.length < PAGE && this.#underWay > 0)
      await this.#anEnd();
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#found.splice(0, PAGE);
  }

  /** Starts nothing more, and makes `next` throw. Later failures are ignored. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stopped = true;
    this.#ended();
  }

  /** Starts nothing more, waits for operations in flight, and closes open directories. */
  async stop(): Promise<void> {
    this.#stopped = true;
    while (this.#underWay > 0) await this.#anEnd();
    await Promise.all(this.#entered.map(({ entries }) => entries.close().catch(() => undefined)));
  }

  #anEnd(): Promise<void> {
    return new Promise((resolve) => (this.#ended = resolve));
  }

  /** Starts as many operations as allowed. */
  #startAll(): void {
    while (!this.#stopped && this.#underWay < this.#options.concurrency && this.#startOne());
  }

  /** Starts the next operation. False if there is none, or if there are enough for now. */
  #startOne(): boolean {
    if (this.#named.length < AHEAD) {
      const entered = this.#entered.pop();
      if (entered !== undefined) return this.#run(this.#read(entered));
      const directory = this.#directories.pop();
      if (directory !== undefined) return this.#run(this.#enter(directory));
    }
    if (this.#found.length >= PAGE + AHEAD) return false;
    const named = this.#named.pop();
    if (named === undefined) return false;
    this.#describe(named);
    return true;
  }

  #run(operation: Promise<void>): true {
    this.#underWay += 1;
    operation.then(
      () => this.#end(),
      (error: unknown) => this.#end(error),
    );
    return true;
  }

  #end(error?: unknown): void {
    this.#underWay -= 1;
    if (error !== undefined) this.fail(error);
    this.#startAll();
    if (this.#underWay === 0 || this.#found.length >= PAGE) this.#ended();
  }

  async #enter(directory: Directory): Promise<void> {
    try {
      const { measure } = this.#options;
      measure?.(await fs.promises.lstat(directory.realPath, { bigint: true }));
      const entries = await fs.promises.opendir(directory.realPath, { bufferSize: ENTRIES_AT_ONCE });
      await this.#read({ directory, entries, areNamesSure: !this.#options.isSource });
    } catch (error) {
      if (!hasErrno(error, 'ENOENT', 'ENOTDIR')) this.#leaveDenied(directory.prefix, error);
    }
  }

  /**
   * Leaves out names that this user may not read in a source, such as `lost+found`. The root is not among
   * them: it was opened before.
   * @throws Any other error.
   */
  #leaveDenied(key: string, error: unknown): void {
    const { isSource, leftOut } = this.#options;
    if (!isSource || key === this.#start || !hasErrno(error, 'EACCES', 'EPERM')) throw error;
    leftOut?.(key, DENIED);
  }

  /** Continues to read a directory until it ends or there are enough names. */
  async #read(entered: Entered): Promise<void> {
    const { directory, entries } = entered;
    try {
      while (this.#named.length < AHEAD && !this.#stopped) {
        const entry = await entries.read();
        if (entry === null) {
          await entries.close();
          return;
        }
        if (!entered.areNamesSure && entry.name.includes(REPLACED)) {
          await assertNames(directory.realPath, directory.prefix, this.#options.driver);
          entered.areNamesSure = true;
        }
        this.#take(directory, entry);
      }
    } catch (error) {
      await entries.close().catch(() => undefined);
      throw error;
    }
    this.#entered.push(entered);
  }

  #take(directory: Directory, entry: fs.Dirent): void {
    const { prefix } = this.#options;
    const key = directory.prefix + entry.name;
    if (isPrivate(key) && this.#options.measure === undefined) return;
    if (entry.isDirectory()) {
      if (this.#mayHold(`${key}/`)) this.#enterOrLeave(key, below(directory, entry.name));
    } else if (entry.isSymbolicLink() ? this.#mayHold(key) : entry.isFile() && key.startsWith(prefix)) {
      this.#named.push({ directory, name: entry.name });
    } else return;
    this.#startAll();
  }

  /** Whether this key, or a key below it, may begin with the prefix. */
  #mayHold(key: string): boolean {
    const { prefix } = this.#options;
    return key.startsWith(prefix) || prefix.startsWith(key);
  }

  /** Uses a callback, which saves a promise for each of millions of files. Hardly any of them is a link. */
  #describe(named: Named): void {
    const key = named.directory.prefix + named.name;
    this.#underWay += 1;
    fs.lstat(path.join(named.directory.realPath, named.name), { bigint: true }, (error, stat) => {
      if (error !== null) this.#endOfMissing(key, error);
      else {
        this.#options.measure?.(stat);
        if (isKeptBeside(key)) {
          this.#end();
          return;
        }
        if (stat.isFile()) this.#found.push(describe(key, stat));
        else if (stat.isSymbolicLink() && !this.#stopped) this.#run(this.#follow(key, named));
        this.#end();
      }
    });
  }

  #endOfMissing(key: string, error: unknown): void {
    try {
      if (!hasErrno(error, 'ENOENT', 'ENOTDIR')) this.#leaveDenied(key, error);
      this.#end();
    } catch (failure) {
      this.#end(failure);
    }
  }

  async #follow(key: string, { directory, name }: Named): Promise<void> {
    const { boundary, isSource, prefix } = this.#options;
    const target = await follow(boundary, directory, name);
    if (target === undefined) return;
    if ('object' in target) {
      if (key.startsWith(prefix)) this.#found.push(target.object);
    } else if (isSource && this.#mayHold(`${key}/`)) this.#enterOrLeave(key, target);
  }

  #enterOrLeave(key: string, entering: Entering): void {
    const { links, driver, leftOut } = this.#options;
    if ('directory' in entering) this.#directories.push(entering.directory);
    else if (entering.leftOut === OUTSIDE && links === 'refuse') throw leavesRoot(driver, key);
    else leftOut?.(key, entering.leftOut);
  }
}

/** Whether a file is the driver's own, and no object. */
function isKeptBeside(key: string): boolean {
  return isPrivate(key.split('/', 1)[0] ?? '');
}
