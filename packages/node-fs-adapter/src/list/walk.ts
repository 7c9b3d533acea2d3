import fs from 'node:fs';
import path from 'node:path';
import type { ObjectStat } from '@tiered/core';
import { onAbort } from '@tiered/core/internal';
import { describe, describeLink, isDirectoryWithoutLinks } from './listing.js';
import { hasErrno } from '../errors.js';
import { isPrivate } from '../root/keys.js';

/** Objects per page: enough to amortise the hand-over, and few enough to keep the event loop free. */
const PAGE = 1000;
/**
 * Names that are found ahead of their description, and objects that are described ahead of the reader of the
 * pages.
 */
const AHEAD = PAGE;
/** Entries per call. A call for each would be a trip through the thread pool for each. */
const ENTRIES_AT_ONCE = 256;

/** A directory on the way through it. */
interface Entered {
  /** What its entries' keys begin with. */
  readonly prefix: string;
  readonly entries: fs.Dir;
}

/** What a walk is through, and for which keys. */
export interface WalkOptions {
  readonly root: string;
  readonly prefix: string;
  /** Operations of the file system under way at the same time. */
  readonly concurrency: number;
  /**
   * Called for everything on the way: files, links, directories, and the content of the private directory,
   * which is otherwise left out. Costs a look at each directory.
   */
  readonly measure?: ((stat: fs.BigIntStats) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Lists the regular files below a root, in pages, in any order. Links to files inside the root are objects
 * too. Links to directories are not followed. What is neither a file nor a directory is left out, and so is a
 * file that vanishes meanwhile.
 *
 * Directories are read and files described at the same time, with as many operations as allowed, because a
 * shared file system answers slowly, but many requests at a time. What is held does not grow with a
 * directory: reading pauses while enough names wait to be described, and describing while enough pages wait
 * to be taken.
 */
export async function* walk(options: WalkOptions): AsyncGenerator<readonly ObjectStat[], void, undefined> {
  const { root, prefix, signal } = options;
  signal?.throwIfAborted();
  // A root that is gone is an error, and not an empty listing.
  await (await fs.promises.opendir(root)).close();
  // Only directories that can hold the prefix are walked.
  const start = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  if (start !== '' && !(await isDirectoryWithoutLinks(root, start.slice(0, -1)))) return;
  const walking = new Walk(options, start);
  const stopListening = onAbort(signal, (reason) => walking.fail(reason));
  try {
    for (let page = await walking.next(); page.length > 0; page = await walking.next()) yield page;
  } finally {
    stopListening();
    await walking.stop();
  }
}

class Walk {
  readonly #options: WalkOptions;
  /** Directories to be entered, the last first, so that there are never many. */
  readonly #directories: string[];
  /** Directories that were entered, and are not being read at the moment. */
  readonly #entered: Entered[] = [];
  /** Keys to be described. */
  readonly #keys: string[] = [];
  readonly #found: ObjectStat[] = [];
  #underWay = 0;
  #stopped = false;
  #failure: { readonly error: unknown } | undefined;
  /** Tells whoever waits that an operation has ended. */
  #ended: () => void = () => undefined;

  constructor(options: WalkOptions, start: string) {
    this.#options = options;
    this.#directories = [start];
  }

  /** Resolves to the next page. All pages but the last are full. An empty one is the end. */
  async next(): Promise<readonly ObjectStat[]> {
    this.#startAll();
    while (this.#failure === undefined && this.#found.length < PAGE && this.#underWay > 0)
      await this.#anEnd();
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#found.splice(0, PAGE);
  }

  /** Begins nothing more, and makes `next` throw. Later failures are ignored. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stopped = true;
    this.#ended();
  }

  /** Begins nothing more, waits for what is under way, and closes what is open. */
  async stop(): Promise<void> {
    this.#stopped = true;
    while (this.#underWay > 0) await this.#anEnd();
    await Promise.all(this.#entered.map(({ entries }) => entries.close().catch(() => undefined)));
  }

  #anEnd(): Promise<void> {
    return new Promise((resolve) => (this.#ended = resolve));
  }

  /** Begins as many operations as may be under way. */
  #startAll(): void {
    while (!this.#stopped && this.#underWay < this.#options.concurrency && this.#startOne());
  }

  /** Begins what there is to do; false if there is nothing, or enough for the moment. */
  #startOne(): boolean {
    if (this.#keys.length < AHEAD) {
      const entered = this.#entered.pop();
      if (entered !== undefined) return this.#start(this.#read(entered));
      const directory = this.#directories.pop();
      if (directory !== undefined) return this.#start(this.#enter(directory));
    }
    if (this.#found.length >= PAGE + AHEAD) return false;
    const key = this.#keys.pop();
    if (key === undefined) return false;
    this.#describe(key);
    return true;
  }

  #start(operation: Promise<void>): true {
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

  async #enter(prefix: string): Promise<void> {
    try {
      const directory = path.join(this.#options.root, prefix);
      const { measure } = this.#options;
      measure?.(await fs.promises.lstat(directory, { bigint: true }));
      const entries = await fs.promises.opendir(directory, { bufferSize: ENTRIES_AT_ONCE });
      await this.#read({ prefix, entries });
    } catch (error) {
      if (!hasErrno(error, 'ENOENT', 'ENOTDIR')) throw error;
    }
  }

  /** Reads on in a directory until it ends or enough names are there. */
  async #read(entered: Entered): Promise<void> {
    const { prefix, entries } = entered;
    try {
      while (this.#keys.length < AHEAD && !this.#stopped) {
        const entry = await entries.read();
        if (entry === null) {
          await entries.close();
          return;
        }
        this.#take(prefix + entry.name, entry);
      }
    } catch (error) {
      await entries.close().catch(() => undefined);
      throw error;
    }
    this.#entered.push(entered);
  }

  #take(key: string, entry: fs.Dirent): void {
    const { prefix } = this.#options;
    if (isPrivate(key) && this.#options.measure === undefined) return;
    if (entry.isDirectory()) {
      const below = `${key}/`;
      if (below.startsWith(prefix) || prefix.startsWith(below)) this.#directories.push(below);
    } else if (key.startsWith(prefix) && (entry.isFile() || entry.isSymbolicLink())) {
      this.#keys.push(key);
    } else return;
    this.#startAll();
  }

  /** Uses a callback, which saves a promise for each of millions of files. Hardly any of them is a link. */
  #describe(key: string): void {
    const filePath = path.join(this.#options.root, key);
    this.#underWay += 1;
    fs.lstat(filePath, { bigint: true }, (error, stat) => {
      if (error !== null) this.#end(hasErrno(error, 'ENOENT', 'ENOTDIR') ? undefined : error);
      else {
        this.#options.measure?.(stat);
        if (isKeptBeside(key)) {
          this.#end();
          return;
        }
        if (stat.isFile()) this.#found.push(describe(key, stat));
        else if (stat.isSymbolicLink() && !this.#stopped) this.#start(this.#follow(key, filePath));
        this.#end();
      }
    });
  }

  async #follow(key: string, filePath: string): Promise<void> {
    const found = await describeLink(this.#options.root, key, filePath);
    if (found !== undefined) this.#found.push(found);
  }
}

/** Whether a file is the driver's own, and no object. */
function isKeptBeside(key: string): boolean {
  return isPrivate(key.split('/', 1)[0] ?? '');
}
